"""Images of a stream that systems decode themselves: waits, allocations, input and output, counters, GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incprof.model import Function, IntArray, Module, PathTree
from incprof.readers.stream.coded_records import NODE_BYTES, decode_nodes
from incprof.readers.stream.collect import MOST_BYTES, collect
from incprof.readers.stream.decoder import path_tree
from incprof.readers.stream.stream_files import Source
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.modules import SymbolLoader

WAITS, ALLOCATIONS, IO, COUNTERS, DEVICE = range(9, 14)


class IntervalImage(NamedTuple):
    """An image of a complete interval.

    Attributes:
        interval: index of its interval among the complete ones, as in the profile before it is binned.
        start_ns: of that interval, nanoseconds since the start of the run.
        end_ns: likewise.
        payload: its bytes, which may be anything.
    """

    interval: int
    start_ns: int
    end_ns: int
    payload: bytes


def interval_images(path: str, kind: int) -> Iterator[IntervalImage]:
    """Yield the images of a kind from 9 on of one process's stream, in file order, those of complete intervals only.

    Images above 64 MiB are left out.

    Raises: NoDataError if it is not a stream, has no metadata or cannot be read.
    """
    with Source(path) as source:
        collected = collect(source, (kind,))
        counters = collected.counters
        for place in collected.places:
            interval, length = int(place["interval"]), int(place["length"])
            if place["kind"] == kind and length <= MOST_BYTES:
                start_ns, end_ns = (int(value) for value in counters[interval, :2])
                yield IntervalImage(interval, start_ns, end_ns, source.bytes_at(int(place["offset"]), length))


# Call paths by the node numbers of a stream, which the images refer to; and other code of the process.


@dataclass(frozen=True)
class RecordedPaths:
    """Call paths as recorded: without functions that tail calls removed, and without inlined ones. p nodes.

    Attributes:
        tree: by node number; its functions are indices of `functions`, or ROOT, ELIDED or BROKEN.
        module: (p,) module ids.
        functions: of the nodes and the other code.
        modules: by id.
        code: (m,) functions of the other code, indices of `functions`.
    """

    tree: PathTree
    module: IntArray
    functions: tuple[Function, ...]
    modules: dict[int, Module]
    code: IntArray

    def path_to(self, node: int) -> list[int]:
        """Return the nodes from the outermost frame to this one; empty for unknown nodes."""
        path: list[int] = []
        while 0 < node < len(self.tree.parent):
            path.append(node)
            node = int(self.tree.parent[node])
        return path[::-1]

    def without_recursion(self, node: int) -> list[int]:
        """Return the nodes of functions from the outermost frame to this one; a recursive call replaces the outer one.

        What ran between the two is left out.
        """
        path = dict[int, int]()
        for at in self.path_to(node):
            function = int(self.tree.function[at])
            if function in path:
                while path.popitem()[0] != function:
                    pass
            if function >= 0:
                path[function] = at
        return [*path.values()]

    def functions_to(self, node: int) -> list[Function]:
        """Return the functions on the path to a node, outermost first."""
        numbers = (int(self.tree.function[at]) for at in self.path_to(node))
        return [self.functions[number] for number in numbers if number >= 0]


def recorded_paths(
    path: str,
    directory: str,
    *,
    exe: str | None = None,
    module: IntArray | None = None,
    address: npt.NDArray[np.uint64] | None = None,
) -> RecordedPaths:
    """Read the call paths of a stream.

    exe: replaces the recorded program's symbols. module: (m,) module ids of other code, which may be of libraries;
    unknown ones have no application frame. address: (m,) its link-time addresses.
    Raises: NoDataError if it is not a stream, has no metadata or cannot be read, or `exe` is another program.
    """
    with Source(path) as source:
        collected = collect(source)
        nodes, _ = decode_nodes(collected.nodes, source.size // NODE_BYTES)
        modules = dict(collected.modules)
    space = FunctionSpace(
        [modules[number] for number in sorted(modules)], SymbolLoader(directory, exe, nameless=True).load
    )
    tree = path_tree(nodes, space)
    code = np.zeros(0, dtype=np.int32)
    if module is not None and address is not None:
        code = space.resolve(module, address)
    numbers = np.unique(np.concatenate([tree.function[tree.function >= 0], code]))
    ordered = space.in_order(numbers.astype(np.int32))
    place = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.int64)
    place[ordered] = np.arange(len(ordered))
    function = np.where(tree.function >= 0, place[np.maximum(tree.function, 0)], tree.function)
    return RecordedPaths(
        PathTree(tree.parent, function, tree.address), nodes.module, space.describe(ordered), modules, place[code]
    )
