"""The decoded parts of a stream: paths, samples, self time, calls, counters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incprof.model import BROKEN, ELIDED, LIBRARY, OWN, PROFILER, ROOT, UNKNOWN, Counters, PathTree, Samples
from incprof.readers.collect import Collected
from incprof.readers.functionspace import FunctionSpace
from incprof.readers.nodes import BROKEN_MODULE, ELIDED_MODULE, Nodes, decode_nodes
from incprof.readers.profilebuilder import Parts, SelfTime
from incprof.readers.samples import RawSamples, decode_samples
from incprof.readers.streamrecords import Libs, call_arcs, histogram_time, parse_images

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
NS, US = 1e-9, 1e-6
MAX_COUNT = 2**53


class StreamDecoder:
    """Decodes a collected stream. Function numbers are those of `space`; n intervals, s samples, p nodes."""

    def __init__(self, found: Collected, space: FunctionSpace, libs: Libs):
        self._found = found
        self._space = space
        self._libs = libs
        counters = np.array([interval.counters for interval in found.intervals], dtype=np.float64)
        self._counters = counters
        self._start_s, self._end_s = counters[:, 0] * NS, counters[:, 1] * NS

    def decode(self) -> Parts:
        """Everything but the names. Damaged images are left out and counted."""
        nodes, good_nodes = decode_nodes(self._found.nodes)
        paths = self._paths(nodes)
        raw, sampled = self._raw_samples(good_nodes, len(nodes.parent))
        samples = self._samples(raw)
        parts = Parts(
            metadata=self._found.metadata,
            start_s=self._start_s,
            end_s=self._end_s,
            counters=self._counters_of(raw),
            paths=paths,
            samples=samples,
        )
        images = parse_images(self._found)
        rest = histogram_time(images, ~sampled, self._space, self._found.metadata.rate_hz, self._libs)
        parts.self_time = [self._self_time(raw, paths), *rest]
        parts.arcs = call_arcs(images, self._space)
        parts.warnings, parts.damaged = self._verdict()
        return parts

    def _paths(self, nodes: Nodes) -> PathTree:
        """The trie with functions for addresses; a linkage stub at the end of a path counts as its caller."""
        function = self._space.resolve(nodes.module, nodes.address.view(np.uint64))
        function[nodes.module == ELIDED_MODULE] = ELIDED
        function[nodes.module == BROKEN_MODULE] = BROKEN
        function[0] = ROOT
        stub = np.flatnonzero(self._space.is_stub(function))
        caller = function[nodes.parent[stub]]
        function[stub[caller >= 0]] = caller[caller >= 0]
        return PathTree(nodes.parent, function, nodes.address)

    def _raw_samples(self, good_nodes: int, n_nodes: int) -> tuple[RawSamples, npt.NDArray[np.bool_]]:
        """Samples whose `payload` is the interval, and which intervals (n,) have all of theirs."""
        intervals = self._found.intervals
        owner = [i for i, interval in enumerate(intervals) for _ in interval.samples]
        raw, bad = decode_samples([payload for interval in intervals for payload in interval.samples])
        index = np.array(owner, dtype=np.int64)
        usable = np.array([i.nodes_seen <= good_nodes and bool(i.samples) for i in intervals], dtype=bool)
        usable[index[bad]] = False
        interval = index[raw.payload]
        usable[interval[raw.node >= n_nodes]] = False
        self._found.bad_images += len({*owner} - {*np.flatnonzero(usable).tolist()})
        columns = {name: getattr(raw, name)[usable[interval]] for name in RawSamples.__dataclass_fields__}
        columns["payload"] = interval[usable[interval]]
        return RawSamples(**columns), usable

    def _counted(self, raw: RawSamples) -> npt.NDArray[np.bool_]:
        """Which samples are the program's own time under the `libs` chosen, shape (s,)."""
        wanted: npt.NDArray[np.bool_] = raw.kind == OWN if self._libs == "drop" else raw.kind != PROFILER
        return wanted

    def _samples(self, raw: RawSamples) -> Samples:
        """Samples with times that lie inside of their interval, whatever the clock did."""
        keep = self._counted(raw) | (raw.kind == PROFILER)
        interval = raw.payload[keep]
        before = np.concatenate([[-np.inf], self._end_s])[interval]
        low = np.maximum(self._start_s[interval], np.nextafter(before, np.inf))
        time_s = np.clip(self._start_s[interval] + raw.delay_us[keep] * US, low, self._end_s[interval])
        library = raw.module[keep]
        return Samples(time_s, raw.thread[keep], raw.node[keep], raw.kind[keep], raw.weight[keep], library)

    def _self_time(self, raw: RawSamples, paths: PathTree) -> SelfTime:
        """Seconds from samples: the leaf's, or the calling function's where the leaf lies in a library."""
        function = paths.function[raw.node]
        function = np.where((function < 0) | (raw.kind == UNKNOWN), self._space.no_frame, function)
        if self._libs == "separate":
            in_library = raw.kind == LIBRARY
            function[in_library] = self._space.library(raw.module[in_library])
        keep = self._counted(raw)
        seconds = raw.weight[keep] / self._found.metadata.rate_hz
        return SelfTime(raw.payload[keep], function[keep], seconds)

    def _counters_of(self, raw: RawSamples) -> Counters:
        """Counters in seconds and counts; time inside the profiler from its samples where the counter lacks it."""
        c, tick = self._counters, 1.0 / self._found.metadata.rate_hz
        inside = raw.kind == PROFILER
        sampled = np.bincount(raw.payload[inside], weights=raw.weight[inside], minlength=len(c))
        whole = np.minimum(c[:, [6, 9, 10, 11]], MAX_COUNT).astype(np.int64)
        return Counters(
            cpu_s=c[:, 2] * NS,
            thread_s=c[:, 3] * NS,
            collector_s=c[:, 4] * NS,
            handler_s=c[:, 5] * NS,
            profiler_s=np.maximum(c[:, 8], sampled) * tick,
            samples=whole[:, 0],
            lost=whole[:, 1],
            broken=whole[:, 2],
            threads=whole[:, 3],
        )

    def _verdict(self) -> tuple[list[str], bool]:
        """Warnings, and whether data was dropped."""
        found, warnings = self._found, []
        damaged = bool(found.damage.holes or found.damage.torn or found.bad_images or found.lost)
        if found.damage.torn:
            warnings.append(f"{found.where}: the last interval is cut off and was dropped")
        elif found.lost:
            warnings.append(f"{found.where}: {found.lost} incomplete intervals were dropped")
        if found.damage.holes:
            warnings.append(f"{found.where}: {found.damage.holes} damaged places were skipped")
        if found.bad_images:
            warnings.append(f"{found.where}: {found.bad_images} damaged images were dropped")
        if not found.ended and not damaged:
            n = len(found.intervals)
            warnings.append(f"{found.where}: the run did not end cleanly (all {n} intervals are whole)")
        lost = sum(int(min(interval.counters[9], MAX_COUNT)) for interval in found.intervals)
        if lost:
            warnings.append(f"{found.where}: {lost} samples were lost in the run: lower the rate")
        return warnings, damaged
