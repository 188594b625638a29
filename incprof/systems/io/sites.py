"""The functions that make sampled calls, by the nodes of their call paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from incprof.model import Function, PathTree
from incprof.readers.stream.coded_records import NODE_BYTES, decode_nodes
from incprof.readers.stream.collect import collect
from incprof.readers.stream.decoder import path_tree
from incprof.readers.stream.stream_files import Source
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.modules import SymbolLoader
from incprof.systems.io.analyse import PhaseCalls
from incprof.systems.io.read import OPERATIONS, Calls

MOST_SITES, MOST_CALLERS = 5, 3


@dataclass(frozen=True)
class Site:
    """A function that makes calls in a phase.

    Attributes:
        function: the innermost of the program's own; None: none was on the path.
        callers: the functions that called it, innermost first, at most MOST_CALLERS.
        operation: what it does most of the time in these calls.
        share: of the time in calls of the phase, by the sampled ones.
    """

    function: Function | None
    callers: tuple[Function, ...]
    operation: str
    share: float


class Paths:
    """Call paths by the node numbers of a stream.

    Raises, on construction: NoDataError if it is not a stream, or `exe` is another program.
    """

    def __init__(self, path: str, directory: str, exe: str | None):
        """Read the paths of the stream at `path`; `exe` replaces the recorded program's symbols."""
        with Source(path) as source:
            found = collect(source)
            nodes, _ = decode_nodes(found.nodes, source.size // NODE_BYTES)
            modules = [found.modules[number] for number in sorted(found.modules)]
        space = FunctionSpace(modules, SymbolLoader(directory, exe, nameless=True).load)
        self._tree: PathTree = path_tree(nodes, space)
        numbers = space.in_order(np.unique(self._tree.function[self._tree.function >= 0]))
        self._functions = dict(zip(numbers.tolist(), space.describe(numbers), strict=True))

    def functions(self, node: int) -> Iterator[Function]:
        """Yield the functions on the path to a node, innermost first."""
        while 0 < node < len(self._tree.parent):
            function = self._functions.get(int(self._tree.function[node]))
            if function is not None:
                yield function
            node = int(self._tree.parent[node])


def sites_of(paths: Paths, calls: Calls, phase: PhaseCalls) -> list[Site]:
    """Return the functions with most of the time of a phase's sampled calls, at most MOST_SITES."""
    weight = calls.weight[phase.sampled] * calls.event_took_s[phase.sampled]
    whole = float(weight.sum())
    if whole <= 0:
        return []
    node, operation = calls.node[phase.sampled], calls.event_operation[phase.sampled]
    pairs, which = np.unique(np.stack([node, operation], axis=1), axis=0, return_inverse=True)
    seconds = np.bincount(which.ravel(), weights=weight, minlength=len(pairs))
    sums = dict[tuple[Function, ...], dict[int, float]]()
    for (at, kind), own in zip(pairs.tolist(), seconds.tolist(), strict=True):
        each = sums.setdefault(tuple(islice(paths.functions(at), MOST_CALLERS + 1)), {})
        each[kind] = each.get(kind, 0.0) + own
    ordered = sorted(sums.items(), key=lambda one: -sum(one[1].values()))
    return [
        Site(
            chain[0] if chain else None,
            chain[1:],
            OPERATIONS[max(each, key=lambda kind: each[kind])],
            sum(each.values()) / whole,
        )
        for chain, each in ordered[:MOST_SITES]
    ]
