"""Read a stream as an IntervalProfile (docs/reference/formats.md)."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from incprof.errors import NoDataError
from incprof.model import LIBRARY, OWN, IntArray, IntervalProfile, PathTree, distinct
from incprof.model.calltree import outermost
from incprof.model.names import region_of, without_marks
from incprof.readers.profile_builder import build_profile
from incprof.readers.stream.collect import collect
from incprof.readers.stream.decoder import StreamDecoder
from incprof.readers.stream.library_functions import moved
from incprof.readers.stream.records import Libs
from incprof.readers.stream.stream_files import Source
from incprof.readers.stream.waits import wait_samples
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.modules import SymbolLoader
from incprof.symbols.tail_calls import TailCalls

HASHED = re.compile(r"\w*_(?=[a-f]*[0-9])[0-9a-f]{32,64}")


def with_unreadable_grouped(profile: IntervalProfile) -> IntervalProfile:
    """Return the profile with such functions merged into their nearest callers of the same module, if they have one."""
    hidden = [HASHED.fullmatch(without_marks(function.mangled)) is not None for function in profile.functions]
    if not any(hidden):
        return profile
    paths, label = profile.paths, [function.module for function in profile.functions]
    parent, function = paths.parent.tolist(), paths.function.tolist()
    for node, own in enumerate(function):
        caller = function[parent[node]]
        # A parent comes before its children: its name has been replaced already.
        if own >= 0 and hidden[own] and caller >= 0 and not hidden[caller] and label[caller] == label[own]:
            function[node] = caller
    grouped = np.array(function, dtype=paths.function.dtype)
    samples = profile.samples
    sample = np.flatnonzero(np.isin(samples.kind, (OWN, LIBRARY)) & (grouped != paths.function)[samples.node])
    self_s = moved(profile, profile.self_s, sample, grouped[samples.node[sample]].astype(np.int64))
    return replace(profile, self_s=self_s, paths=replace(paths, function=grouped))


def read_stream(
    path: str,
    directory: str,
    *,
    libs: Libs = "caller",
    exe: str | None = None,
    arcs: bool = True,
    nameless: bool = False,
    waits: bool = True,
) -> IntervalProfile:
    """Read the stream at `path` of the run in `directory`; `exe` replaces the recorded program's symbols.

    arcs: keep call arcs in the profile. nameless: a program without symbols is one nameless function. waits: add
    what a program that hardly uses a processor waits for.

    Raises: NoDataError if there is no complete interval, no symbols, or `exe` is another program.
    """
    with Source(path) as source:
        collected = collect(source)
        if not collected.n_intervals:
            raise NoDataError(f"{path}: no complete interval: the program ran for less than one, or was killed in it")
        modules = tuple(collected.modules[number] for number in sorted(collected.modules))
        collected.metadata = replace(collected.metadata, modules=modules)
        symbols = SymbolLoader(directory, exe, nameless=nameless)
        space = FunctionSpace(modules, symbols.load)
        tail_calls = TailCalls(space, modules, symbols.machine_code)
        found = wait_samples(collected) if waits else None
        collected.metadata = replace(collected.metadata, has_waits=found is not None)
        parts = StreamDecoder(collected, space, libs, arcs=arcs, tail_calls=tail_calls, waits=found).decode()
    parts.warnings += symbols.warnings
    return with_unreadable_grouped(with_regions_joined(build_profile(parts, space)))


# Place the threads of a parallel region below the function that started it.
#
# The stack of an OpenMP worker begins in the code of the region, which the compiler made a separate function. The
# thread that started the region runs that code too, below its caller: the worker gets this part of the stack from the
# sample nearest in time. A program's own threads (pthreads, std::thread) keep their stacks: the function that started
# them has usually moved on.


# Deepest nesting of regions.
DEEPEST = 8
# Damaged files may request more nodes than can exist.
MOST_NODES = 2_000_000


def with_regions_joined(profile: IntervalProfile) -> IntervalProfile:
    """Return the profile with each worker's samples below the start of its region; self times do not change.

    Workers stay where they are if no sample shows the start of their region.
    """
    region_names = {index: region_of(function.mangled) for index, function in enumerate(profile.functions)}
    starter = {index: name for index, name in region_names.items() if name is not None}
    for _ in range(DEEPEST if starter else 0):
        joined = _Joiner(profile, starter).joined()
        if joined is profile:
            break
        profile = joined
    return profile


class _Joiner:
    """Joins the outermost regions of all workers. starter: the function that starts each region; "" if unknown."""

    def __init__(self, profile: IntervalProfile, starter: dict[int, str]):
        self._profile, self._starter = profile, starter
        self._tree, self._node = profile.paths, profile.samples.node.astype(np.int64)
        first = outermost(self._tree.parent)
        self._begins = self._tree.function[first].astype(np.int64)

    def joined(self) -> IntervalProfile:
        """Return the profile, unchanged if there was nothing to join."""
        begins = self._begins[self._node]
        regions = [region for region in distinct(begins[begins >= 0]).tolist() if region in self._starter]
        if not regions:
            return self._profile
        entries = self._entries(set(regions))
        node, grown = self._node.copy(), _Growing(self._tree)
        for region in regions:
            workers = np.flatnonzero(begins == region)
            above = self._above(region, entries.get(region, {}), workers)
            if above is None:
                continue
            pairs, where = np.unique(np.stack([self._node[workers], above]), axis=1, return_inverse=True)
            moved = [grown.below(parent, path) for path, parent in pairs.T.tolist()]
            node[workers] = np.array(moved, dtype=np.int64)[where.ravel()]
        if np.array_equal(node, self._node):
            return self._profile
        samples = replace(self._profile.samples, node=node.astype(self._profile.samples.node.dtype))
        return replace(self._profile, paths=grown.tree(), samples=samples)

    def _above(self, region: int, entries: dict[int, int], workers: IntArray) -> IntArray | None:
        """Return the new parent of each worker's path: the part of the nearest sample in time above the region."""
        entry = np.zeros(len(self._tree.parent), dtype=np.int64)
        entry[list(entries)] = self._tree.parent[list(entries.values())]
        candidates = np.flatnonzero(entry[self._node] > 0)
        if not len(candidates):
            entry = self._in_starter(self._starter[region])
            candidates = np.flatnonzero(entry[self._node] > 0)
        if not len(candidates):
            return None
        time = self._profile.samples.time_s
        candidates = candidates[np.argsort(time[candidates], kind="stable")]
        after = np.searchsorted(time[candidates], time[workers]).clip(1, max(len(candidates) - 1, 1))
        before = after - 1
        after = np.minimum(after, len(candidates) - 1)
        earlier = time[workers] - time[candidates[before]] <= time[candidates[after]] - time[workers]
        above: IntArray = entry[self._node[candidates[np.where(earlier, before, after)]]]
        return above

    def _entries(self, regions: set[int]) -> dict[int, dict[int, int]]:
        """Return, for each region, sampled nodes of threads that entered it, and its node on their paths."""
        parent, function = self._tree.parent.tolist(), self._tree.function.tolist()
        nearest = [0] * len(parent)  # the innermost region that contains a path, as a node
        for node in range(1, len(parent)):
            nearest[node] = node if function[node] in regions else nearest[parent[node]]
        node_above: dict[int, dict[int, int]] = {region: {} for region in regions}
        for node in distinct(self._node).tolist():
            inside = nearest[node]
            while inside:
                if function[inside] != self._begins[node]:
                    node_above[function[inside]][node] = inside  # ends as the outermost one
                inside = nearest[parent[inside]]
        return node_above

    def _in_starter(self, name: str) -> IntArray:
        """Return the outermost node on each path that is in a function of that name, shape (p,); 0 without."""
        same = [i for i, function in enumerate(self._profile.functions) if name and function.mangled == name]
        own = np.isin(self._tree.function, same) if same else np.zeros(len(self._tree.parent), dtype=bool)
        outermost = np.where(own, np.arange(len(own)), 0).tolist()
        for node, parent in enumerate(self._tree.parent.tolist()):
            outermost[node] = outermost[parent] or outermost[node]
        return np.array(outermost, dtype=np.int64)


class _Growing:
    """A trie to which paths are added; existing nodes are reused."""

    def __init__(self, tree: PathTree):
        self._old = tree
        self._parent, self._function, self._address = (
            column.tolist() for column in (tree.parent, tree.function, tree.address)
        )
        self._numbers = {
            key: node for node, key in enumerate(zip(self._parent, self._function, self._address, strict=True)) if node
        }
        self._size = len(self._parent)
        self._copy: dict[tuple[int, int], int] = {}

    def below(self, above: int, path: int) -> int:
        """Return the last node of a path (given as a node of the old trie) once it is appended below another node."""
        missing = []
        node = path
        while node and (above, node) not in self._copy:
            missing.append(node)
            node = self._parent[node]
        if len(self._parent) + len(missing) > self._size + MOST_NODES:
            return path
        last = self._copy[above, node] if node else above
        for node in reversed(missing):
            last = self._child(last, self._function[node], self._address[node])
            self._copy[above, node] = last
        return last

    def _child(self, parent: int, function: int, address: int) -> int:
        node = self._numbers.setdefault((parent, function, address), len(self._parent))
        if node == len(self._parent):
            for column, value in ((self._parent, parent), (self._function, function), (self._address, address)):
                column.append(value)
        return node

    def tree(self) -> PathTree:
        """Return the trie; existing nodes keep their numbers."""
        columns = [
            np.array(column, dtype=old.dtype)
            for column, old in (
                (self._parent, self._old.parent),
                (self._function, self._old.function),
                (self._address, self._old.address),
            )
        ]
        return PathTree(*columns)
