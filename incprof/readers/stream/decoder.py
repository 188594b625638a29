"""The decoded parts of a stream: paths, samples, self time, calls, counters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from incprof.model import BROKEN, ELIDED, LIBRARY, ROOT, BoolArray, Counters, IntArray, PathTree, Samples, distinct
from incprof.readers.profile_builder import CallTable, FloatArray, Parts, SelfTime
from incprof.readers.stream.coded_records import (
    BROKEN_MODULE,
    ELIDED_MODULE,
    NODE_BYTES,
    Nodes,
    RawSamples,
    decode_nodes,
)
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.delays import delays_of_intervals
from incprof.readers.stream.records import Libs, call_arcs, chunks, histogram_time, read_records
from incprof.readers.stream.sample_decoder import GeneratedPaths, SampleDecoder, generated_paths
from incprof.symbols.function_space import FunctionSpace, NumberArray
from incprof.symbols.tail_calls import OUTSIDE, Chain, TailCalls

NS = 1e-9
MAX_COUNT = 2**53
ONLY_ROOT: NumberArray = np.full(1, ROOT, dtype=np.int32)


class StreamDecoder:
    """Decodes a collected stream, a chunk of intervals at a time. Function numbers are those of `space`; n intervals.

    arcs: keep call arcs, and not only the number of calls of each function. tail_calls: finds functions missing on call
    paths and between callers and callees. waits: samples of waits, with their intervals.
    """

    def __init__(
        self, collected: Collected, space: FunctionSpace, libs: Libs, *, arcs: bool = True,
        tail_calls: TailCalls | None = None, waits: tuple[RawSamples, IntArray] | None = None,
    ):  # fmt: skip
        self._collected, self._waits = collected, waits
        self._space = space
        self._libs = libs
        self._arcs = arcs
        self._tail_calls = tail_calls
        self._counters: FloatArray = collected.counters.astype(np.float64)

    def decode(self) -> Parts:
        """Decode everything but the names. Damaged images are left out and counted."""
        collected = self._collected
        nodes, bad = decode_nodes(collected.nodes, collected.source.size // NODE_BYTES)
        collected.nodes.clear()
        collected.bad_images += bad
        generated = generated_paths(nodes, self._space, collected)
        nodes = generated.nodes if generated else nodes
        return self.decode_with(nodes, path_tree(nodes, self._space), generated)

    def decode_with(self, nodes: Nodes, paths: PathTree, generated: GeneratedPaths | None = None) -> Parts:
        """Do the same with nodes that have been decoded and looked up already."""
        collected, rate_hz = self._collected, self._collected.metadata.rate_hz
        node_limit = collected.source.size // NODE_BYTES
        lost = LostFrames(nodes, paths, self._space, self._tail_calls) if self._tail_calls else None
        paths, suspect = (lost.paths, lost.suspect) if lost else (paths, None)
        samples = SampleDecoder(
            collected, self._space, self._libs, nodes, paths.function, node_limit, suspect, generated, self._waits
        )
        self_time: list[SelfTime] = []
        calls = CallTable()
        counted = np.zeros(collected.n_intervals)
        for chunk in chunks(collected):
            self_time.append(samples.take(chunk))
            rows, images = read_records(collected, chunk, ~samples.exact)
            self_time += histogram_time(images, self._space, rate_hz, self._libs)
            arcs = call_arcs(rows, self._space, callers=self._arcs, tail_calls=self._tail_calls)
            calls.add(arcs)
            counted += np.bincount(arcs.interval, weights=arcs.count, minlength=len(counted))
        paths, recorded = extended(paths, samples.nodes_used), samples.samples()
        lost_nodes = len(paths.parent) - int(np.count_nonzero(~nodes.lost))
        if lost:
            below = lost.below(from_libraries(recorded, lost.suspect))
            self_time += [_charged(time, below, paths) for time in samples.aside]
            paths, recorded = lost.inserted(paths, recorded, below)
        warnings, damaged = self._verdict(lost_nodes)
        warnings += generated.warnings if generated else []
        return Parts(
            metadata=collected.metadata,
            start_s=self._counters[:, 0] * NS,
            end_s=self._counters[:, 1] * NS,
            counters=self._counters_of(samples.profiler_ticks, counted),
            self_time=self_time,
            calls=calls,
            keep_arcs=self._arcs,
            paths=paths,
            samples=recorded,
            warnings=warnings,
            damaged=damaged,
        )

    def _counters_of(self, profiler_ticks: FloatArray, calls: FloatArray) -> Counters:
        """Return counters in seconds and counts; time inside the profiler from its samples (n,) if no counter has it.

        Samples cover only a part of the cost of counting a call: the call of the hook is the function's own code. Calls
        (n,) times the cost of one cover all of it. Samples inside events are left out, because the time of events is
        measured: those of the whole run, because an interval has few.
        """
        c, tick = self._counters, 1.0 / self._collected.metadata.rate_hz
        ticks_s = np.maximum(c[:, 8], profiler_ticks) * tick
        inside_s, events_s = float(ticks_s.sum()), float(c[:, 16].sum()) * NS
        if inside_s > 0:
            ticks_s *= max(inside_s - events_s, 0.0) / inside_s
        hooks_s = np.maximum(ticks_s, calls * (self._collected.metadata.call_s or 0.0))
        counts = np.minimum(c[:, [6, 9, 10, 11, 12, 13]], MAX_COUNT).astype(np.int64)
        return Counters(
            cpu_s=c[:, 2] * NS,
            thread_s=c[:, 3] * NS,
            collector_s=c[:, 4] * NS,
            handler_s=c[:, 5] * NS,
            profiler_s=np.minimum(hooks_s, np.maximum(c[:, 2] - c[:, 4] - c[:, 5], 0.0) * NS),
            samples=counts[:, 0],
            lost=counts[:, 1],
            broken=counts[:, 2],
            threads=counts[:, 3],
            skipped=counts[:, 4],
            shortened=counts[:, 5],
            suspended_s=c[:, 15] * NS,
            delayed_s=delays_of_intervals(c).astype(np.float64) * NS,
        )

    def _verdict(self, lost_nodes: int) -> tuple[list[str], bool]:
        """Return warnings, and whether data was dropped."""
        collected, warnings = self._collected, list[str]()
        where = collected.source.path
        damaged = bool(
            collected.damage.holes or collected.damage.torn or collected.bad_images or collected.lost or lost_nodes
        )
        if collected.damage.torn:
            warnings.append(f"{where}: the last interval is cut off and was dropped")
        elif collected.lost:
            warnings.append(f"{where}: {collected.lost} incomplete intervals were dropped")
        if collected.damage.holes:
            warnings.append(f"{where}: {collected.damage.holes} damaged places were skipped")
        if collected.bad_images:
            warnings.append(f"{where}: {collected.bad_images} damaged images were dropped")
        if lost_nodes:
            warnings.append(f"{where}: {lost_nodes} nodes of call paths are lost: their callers are unknown")
        if not collected.ended and not damaged:
            n = collected.n_intervals
            whole = "its one interval is whole" if n == 1 else f"all {n} intervals are whole"
            warnings.append(f"{where}: the run did not end cleanly, or is still going on ({whole})")
        lost = int(np.minimum(self._counters[:, 9], MAX_COUNT).sum())
        if lost:
            warnings.append(f"{where}: {lost} samples were lost in the run: lower the rate")
        dropped = int(np.minimum(self._counters[:, 14], MAX_COUNT).sum())
        if dropped:
            warnings.append(f"{where}: {dropped} intervals were dropped: the file system did not respond for too long")
        suspended_s = float(self._counters[:, 15].sum()) * NS
        if suspended_s:
            stood = f"the program was stopped, or the machine asleep, for {suspended_s:.1f} s"
            warnings.append(f"{where}: {stood}: in no phase")
        return warnings, damaged


def _charged(time: SelfTime, below: Below, paths: PathTree) -> SelfTime:
    """Attribute time in libraries, given by node, to the functions that called them."""
    return SelfTime(time.interval, below.function(time.function, paths.function[time.function]), time.seconds)


# Call paths with functions restored that tail calls removed, see symbols/tail_calls.py. p path nodes.
#
# The missing function may lie between two known ones, or be the one that entered a library, whose time is then its
# own.


class LostFrames:
    """Functions missing on call paths.

    Attributes:
        paths: the same paths, with a linkage stub at the end of a path replaced by the function that jumped to it.
        suspect: (p,) nodes whose instruction calls a function of the program, so that no library can be above it.
    """

    def __init__(self, nodes: Nodes, paths: PathTree, space: FunctionSpace, tail_calls: TailCalls):
        self._module, self._address, self._tail_calls = nodes.module, nodes.address.view(np.uint64), tail_calls
        self._chains: list[Chain] = [()]
        self._above = np.zeros(len(paths.parent), dtype=np.int64)
        own = paths.function >= 0
        stub = own & space.is_stub(space.resolve(self._module, self._address))
        use = np.flatnonzero(own & own[paths.parent])
        functions = np.where(stub, OUTSIDE, paths.function).astype(np.int32)
        self._above[use] = self._lost(paths.parent[use], functions[use])

        function = paths.function.copy()
        moved = np.flatnonzero(stub & (self._above > 0))
        function[moved] = [self._chains[chain][-1].function for chain in self._above[moved].tolist()]
        self.paths = replace(paths, function=function)
        self.suspect: BoolArray = np.zeros(len(function), dtype=np.bool_)
        calls = np.flatnonzero(own & ~stub)
        target, called = tail_calls.called(self._module[calls], self._address[calls])
        self.suspect[calls] = (target > 0) & ~space.is_stub(called)

    def below(self, nodes: IntArray) -> Below:
        """Return the functions missing above nodes with samples in a library; (m,) ascending, all suspect."""
        return Below(nodes, self._lost(nodes, np.full(len(nodes), OUTSIDE, dtype=np.int32)), self._chains)

    def _lost(self, callers: IntArray, functions: NumberArray) -> IntArray:
        """Return indices of the chains above nodes."""
        chains, which = self._tail_calls.lost(self._module[callers], self._address[callers], functions)
        number = {chain: index for index, chain in enumerate(self._chains)}
        place = [number.setdefault(chain, len(number)) for chain in chains]
        self._chains = list(number)
        return np.array(place, dtype=np.int64)[which]

    def inserted(self, paths: PathTree, samples: Samples, below: Below) -> tuple[PathTree, Samples]:
        """Return the paths with missing functions inserted, and their samples at the new nodes."""
        grown = _Grown(paths)
        for node in np.flatnonzero(self._above).tolist():
            grown.above(node, self._chains[self._above[node]])
        for node, chain in zip(below.nodes.tolist(), below.which.tolist(), strict=True):
            grown.below(node, self._chains[chain])
        return grown.tree(), grown.moved(samples)


@dataclass(frozen=True)
class Below:
    """Nodes with samples in libraries, (m,) ascending, and the chains that are missing above each."""

    nodes: IntArray
    which: IntArray
    chains: list[Chain]

    def function(self, nodes: IntArray, function: NumberArray) -> NumberArray:
        """Return the function that called the library from each node. function: of the node itself. Same shape."""
        last = np.array([chain[-1].function if chain else -1 for chain in self.chains], dtype=np.int32)
        caller = last[self.which[np.searchsorted(self.nodes, nodes)]]
        return np.where(caller >= 0, caller, function)


class _Grown:
    """A trie with new nodes, numbered so that parents stay before their children.

    A new node is placed before an old one: the first that will be below it.
    """

    def __init__(self, paths: PathTree):
        self._paths = paths
        # (parent, function, address): a new parent has the number -1 - index.
        self._new: dict[tuple[int, int, int], int] = {}
        self._before: list[int] = []
        self._parent: dict[int, int] = {}
        self._library: dict[int, int] = {}

    def above(self, node: int, chain: Chain) -> None:
        """Insert a chain between a node and its parent."""
        self._parent[node] = self._added(int(self._paths.parent[node]), chain, node)

    def below(self, node: int, chain: Chain) -> None:
        """Append a chain below a node, for its samples in libraries."""
        if chain:
            self._library[node] = self._added(node, chain, node + 1)

    def _added(self, parent: int, chain: Chain, before: int) -> int:
        for function, address in chain:
            index = self._new.setdefault((parent, function, address), len(self._new))
            if index == len(self._before):
                self._before.append(before)
            self._before[index] = min(self._before[index], before)
            parent = -1 - index
        return parent

    def tree(self) -> PathTree:
        """Return the trie."""
        old, new = self._places()
        parent, function, address = (
            np.zeros(len(old) + len(new), dtype=column.dtype)
            for column in (self._paths.parent, self._paths.function, self._paths.address)
        )
        parent[old], function[old], address[old] = old[self._paths.parent], self._paths.function, self._paths.address
        if len(new):
            above, what, where = np.array(list(self._new), dtype=np.int64).T
            parent[new], function[new], address[new] = self._numbers(above), what, where
            children = np.fromiter(self._parent, np.int64, len(self._parent))
            parent[old[children]] = self._numbers(np.fromiter(self._parent.values(), np.int64, len(self._parent)))
        return PathTree(parent, function, address)

    def moved(self, samples: Samples) -> Samples:
        """Return the samples at the same nodes, those in libraries at the chains appended there."""
        old, _ = self._places()
        node, library = old[samples.node], old.copy()
        if self._library:
            nodes = np.fromiter(self._library, np.int64, len(self._library))
            library[nodes] = self._numbers(np.fromiter(self._library.values(), np.int64, len(self._library)))
        node = np.where(samples.kind == LIBRARY, library[samples.node], node)
        return replace(samples, node=node.astype(samples.node.dtype))

    def _numbers(self, nodes: IntArray) -> IntArray:
        """Return the numbers in the new trie of old nodes, and of new ones given as -1 - index."""
        old, new = self._places()
        new = np.append(new, 0)
        numbers: IntArray = np.where(nodes < 0, new[np.where(nodes < 0, -1 - nodes, 0)], old[np.maximum(nodes, 0)])
        return numbers

    def _places(self) -> tuple[IntArray, IntArray]:
        """Return the positions of the old nodes in the new trie, and of the new ones."""
        before = np.array(self._before, dtype=np.int64)
        order = np.argsort(before, kind="stable")
        old = np.arange(len(self._paths.parent), dtype=np.int64)
        new = np.empty(len(before), dtype=np.int64)
        new[order] = before[order] + np.arange(len(before))
        return old + np.searchsorted(before[order], old, side="right"), new


def from_libraries(samples: Samples, suspect: BoolArray) -> IntArray:
    """Return the suspect nodes with samples in libraries, ascending."""
    node = distinct(samples.node[samples.kind == LIBRARY].astype(np.int64))
    node = node[node < len(suspect)]
    suspects: IntArray = node[suspect[node]]
    return suspects


# Convert call paths of a stream to the model's trie.


def path_tree(nodes: Nodes, space: FunctionSpace, known: NumberArray = ONLY_ROOT) -> PathTree:
    """Return the trie with functions for addresses, shape (p,). A linkage stub ending a path counts as its caller.

    known: functions of the first nodes, which are not looked up.
    """
    first, module = len(known), nodes.module[len(known) :]
    function = space.resolve(module, nodes.address[first:].view(np.uint64))
    function[module == ELIDED_MODULE] = ELIDED
    function[module == BROKEN_MODULE] = BROKEN
    stub = first + np.flatnonzero(space.is_stub(function))
    function = np.concatenate([known, function])
    caller = function[nodes.parent[stub]]
    function[stub[caller >= 0]] = caller[caller >= 0]
    return PathTree(nodes.parent, function, nodes.address)


def extended(paths: PathTree, size: int) -> PathTree:
    """Return the same with `size` nodes: those after the last known one are BROKEN."""
    more = size - len(paths.parent)
    if more <= 0:
        return paths
    zeros: npt.NDArray[np.int64] = np.zeros(more, dtype=np.int64)
    function = np.concatenate([paths.function, np.full(more, BROKEN, dtype=np.int32)])
    parent, address = (np.concatenate([column, zeros]) for column in (paths.parent, paths.address))
    return PathTree(parent, function, address)
