"""The decoded parts of a stream: paths, samples, self time, calls, counters."""

from __future__ import annotations

import numpy as np

from incprof.model import Counters, PathTree
from incprof.readers.call_table import CallTable
from incprof.readers.profile_builder import FloatArray, Parts, SelfTime
from incprof.readers.stream.arc_rows import call_arcs, read_records
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.lost_frames import Below, LostFrames, from_libraries
from incprof.readers.stream.made_paths import MadePaths, made_paths
from incprof.readers.stream.path_nodes import NODE_BYTES, Nodes, decode_nodes
from incprof.readers.stream.paths import extended, path_tree
from incprof.readers.stream.records import Libs, chunks, histogram_time
from incprof.readers.stream.sample_decoder import SampleDecoder
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.tail_calls import TailCalls

NS = 1e-9
MAX_COUNT = 2**53


class StreamDecoder:
    """Decodes a collected stream, a chunk of intervals at a time. Function numbers are those of `space`; n intervals.

    arcs: keep call arcs, and not only the number of calls of each function. tail_calls: finds functions missing on call
    paths and between callers and callees.
    """

    def __init__(
        self, found: Collected, space: FunctionSpace, libs: Libs, *, arcs: bool = True,
        tail_calls: TailCalls | None = None,
    ):  # fmt: skip
        self._found = found
        self._space = space
        self._libs = libs
        self._arcs = arcs
        self._tail_calls = tail_calls
        self._counters: FloatArray = found.counters.astype(np.float64)

    def decode(self) -> Parts:
        """Decode everything but the names. Damaged images are left out and counted."""
        found = self._found
        nodes, bad = decode_nodes(found.nodes, found.source.size // NODE_BYTES)
        found.nodes.clear()
        found.bad_images += bad
        made = made_paths(nodes, self._space, found)
        nodes = made.nodes if made else nodes
        return self.decode_with(nodes, path_tree(nodes, self._space), made)

    def decode_with(self, nodes: Nodes, paths: PathTree, made: MadePaths | None = None) -> Parts:
        """Do the same with nodes that have been decoded and looked up already."""
        found, rate_hz = self._found, self._found.metadata.rate_hz
        node_limit = found.source.size // NODE_BYTES
        lost = LostFrames(nodes, paths, self._space, self._tail_calls) if self._tail_calls else None
        paths, suspect = (lost.paths, lost.suspect) if lost else (paths, None)
        samples = SampleDecoder(found, self._space, self._libs, nodes, paths.function, node_limit, suspect, made)
        self_time: list[SelfTime] = []
        calls = CallTable()
        counted = np.zeros(found.n_intervals)
        for chunk in chunks(found):
            self_time.append(samples.take(chunk))
            rows, images = read_records(found, chunk, ~samples.exact)
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
        warnings += made.warnings if made else []
        return Parts(
            metadata=found.metadata,
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
        (n,) times the cost of one cover all of it.
        """
        c, tick = self._counters, 1.0 / self._found.metadata.rate_hz
        hooks_s = np.maximum(np.maximum(c[:, 8], profiler_ticks) * tick, calls * (self._found.metadata.call_s or 0.0))
        whole = np.minimum(c[:, [6, 9, 10, 11, 12, 13]], MAX_COUNT).astype(np.int64)
        return Counters(
            cpu_s=c[:, 2] * NS,
            thread_s=c[:, 3] * NS,
            collector_s=c[:, 4] * NS,
            handler_s=c[:, 5] * NS,
            profiler_s=np.minimum(hooks_s, np.maximum(c[:, 2] - c[:, 4] - c[:, 5], 0.0) * NS),
            samples=whole[:, 0],
            lost=whole[:, 1],
            broken=whole[:, 2],
            threads=whole[:, 3],
            skipped=whole[:, 4],
            shortened=whole[:, 5],
            suspended_s=c[:, 15] * NS,
        )

    def _verdict(self, lost_nodes: int) -> tuple[list[str], bool]:
        """Return warnings, and whether data was dropped."""
        found, warnings = self._found, list[str]()
        where = found.source.path
        damaged = bool(found.damage.holes or found.damage.torn or found.bad_images or found.lost or lost_nodes)
        if found.damage.torn:
            warnings.append(f"{where}: the last interval is cut off and was dropped")
        elif found.lost:
            warnings.append(f"{where}: {found.lost} incomplete intervals were dropped")
        if found.damage.holes:
            warnings.append(f"{where}: {found.damage.holes} damaged places were skipped")
        if found.bad_images:
            warnings.append(f"{where}: {found.bad_images} damaged images were dropped")
        if lost_nodes:
            warnings.append(f"{where}: {lost_nodes} nodes of call paths are lost: what lies above them is unknown")
        if not found.ended and not damaged:
            n = found.n_intervals
            warnings.append(f"{where}: the run did not end cleanly, or is still going on (all {n} intervals are whole)")
        lost = int(np.minimum(self._counters[:, 9], MAX_COUNT).sum())
        if lost:
            warnings.append(f"{where}: {lost} samples were lost in the run: lower the rate")
        dropped = int(np.minimum(self._counters[:, 14], MAX_COUNT).sum())
        if dropped:
            warnings.append(f"{where}: {dropped} intervals were dropped: the file system stood still for too long")
        suspended_s = float(self._counters[:, 15].sum()) * NS
        if suspended_s:
            stood = f"the program was stopped, or the machine asleep, for {suspended_s:.1f} s"
            warnings.append(f"{where}: {stood}: in no phase")
        return warnings, damaged


def _charged(time: SelfTime, below: Below, paths: PathTree) -> SelfTime:
    """Attribute time in libraries, given by node, to the functions that called them."""
    return SelfTime(time.interval, below.function(time.function, paths.function[time.function]), time.seconds)
