"""Convert samples of a stream to the model's, and compute their self time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.model import LIBRARY, OWN, PROFILER, UNKNOWN, Samples, distinct, numbered
from incprof.readers.long_table import LongTable
from incprof.readers.profile_builder import SelfTime
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.images import SAMPLES
from incprof.readers.stream.made_paths import MadePaths
from incprof.readers.stream.path_nodes import Nodes
from incprof.readers.stream.records import Chunk, Libs
from incprof.readers.stream.samples import RawSamples, decode_samples
from incprof.symbols.function_space import FunctionSpace

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
NumberArray = npt.NDArray[np.int32]

US = 1e-6


class SampleDecoder:
    """Decodes the samples of one chunk of intervals after the other.

    Attributes:
        start_s: (n,) seconds.
        end_s: (n,) seconds.
        function: (p,) of the nodes.
        node_limit: the most nodes that the file could hold.
        exact: (n,) intervals whose self time comes from samples; the others' comes from histograms.
        profiler_ticks: (n,) ticks inside the profiler.
        nodes_used: one more than the highest node of a sample.
        suspect: (p,) nodes whose time in libraries may be another function's: `aside` has it, by node instead of
            function.
        made: moves samples in generated code.
    """

    def __init__(
        self, found: Collected, space: FunctionSpace, libs: Libs, nodes: Nodes, function: NumberArray, node_limit: int,
        suspect: BoolArray | None = None, made: MadePaths | None = None,
    ):  # fmt: skip
        self._found, self._space, self._libs = found, space, libs
        self._nodes, self._function = nodes, function
        self._node_limit = node_limit if nodes.more_lost else len(nodes.parent)
        self._rate_hz = found.metadata.rate_hz
        self._start_s, self._end_s = (found.counters[:, i].astype(np.float64) * 1e-9 for i in (0, 1))
        before_s = found.before_ns * 1e-9 if found.before_ns else -np.inf
        self._before_s = np.concatenate([[before_s], self._end_s])
        self._table = LongTable(np.float64, np.int32, np.int32, np.int8, np.int32, np.int32)
        self.exact: BoolArray = np.zeros(found.n_intervals, dtype=bool)
        self.profiler_ticks: FloatArray = np.zeros(found.n_intervals)
        self.nodes_used = 0
        self._made = made
        self._suspect, self.aside = suspect, list[SelfTime]()

    def take(self, chunk: Chunk) -> SelfTime:
        """Decode the samples of a chunk, and return their self time."""
        raw, interval = self._usable(chunk)
        raw = self._made.moved(raw, interval) if self._made else raw
        raw = replace(raw, kind=np.where(raw.weight == 0, PROFILER, raw.kind).astype(raw.kind.dtype))
        known = raw.node < len(self._function)
        node = np.where(known, raw.node, 0)
        self.nodes_used = max(self.nodes_used, int(raw.node.max(initial=0)) + 1)
        inside = raw.kind == PROFILER
        np.add.at(self.profiler_ticks, interval[inside], raw.weight[inside])

        counted = raw.kind == OWN if self._libs == "drop" else ~inside
        self.exact[interval[counted & (~known | self._nodes.lost[node])]] = False
        self._table.append(self._columns(raw, interval, counted | inside))
        # Histograms do not contain time without any application frame.
        of_library = (raw.kind == LIBRARY) & (raw.node == 0)
        counted &= self.exact[interval] | (raw.kind == UNKNOWN) | of_library
        function = np.where(raw.kind == UNKNOWN, self._space.no_frame, self._function[node])
        function[function < 0] = self._space.no_frame
        function[of_library] = self._space.threads_of(raw.module[of_library])
        if self._libs == "separate":
            in_library = (raw.kind == LIBRARY) & ~of_library
            function[in_library] = self._space.library(raw.module[in_library])
        elif self._suspect is not None:
            aside = counted & known & (raw.kind == LIBRARY) & self._suspect[node]
            self.aside.append(self._self_time(interval[aside], node[aside], raw.weight[aside]))
            counted &= ~aside
        return self._self_time(interval[counted], function[counted], raw.weight[counted])

    def samples(self) -> Samples:
        """Return all samples taken so far."""
        return Samples(*self._table.columns())

    def _usable(self, chunk: Chunk) -> tuple[RawSamples, IntArray]:
        """Return samples of the chunk's intervals that are entirely readable, and the interval of each, shape (s,)."""
        places = chunk.places[chunk.places["kind"] == SAMPLES]
        array_at, owner = self._found.source.array_at, places["interval"]
        raw, bad = decode_samples([array_at(o, n) for o, n in places[["offset", "length"]].tolist()])
        interval = owner[raw.payload]
        self.exact[owner] = True
        self.exact[owner[bad]] = False
        self.exact[interval[raw.node >= self._node_limit]] = False
        self._found.bad_images += len(distinct(owner[~self.exact[owner]]))
        keep = self.exact[interval]
        columns = (getattr(raw, name)[keep] for name in RawSamples.__dataclass_fields__)
        return RawSamples(*columns), interval[keep]

    def _columns(self, raw: RawSamples, interval: IntArray, keep: BoolArray) -> list[npt.NDArray[Any]]:
        """Return the model's columns of samples, with times clamped to their interval, whatever the clock did."""
        interval = interval[keep]
        low = np.maximum(self._start_s[interval], np.nextafter(self._before_s[interval], np.inf))
        time_s = np.clip(self._start_s[interval] + raw.delay_us[keep] * US, low, self._end_s[interval])
        return [time_s, *(column[keep] for column in (raw.thread, raw.node, raw.kind, raw.weight, raw.module))]

    def _self_time(self, interval: IntArray, function: NumberArray | IntArray, ticks: IntArray) -> SelfTime:
        """Add up ticks, one row per (interval, function), and convert them to seconds."""
        width = int(function.max(initial=0)) + 1
        pair, where = numbered(interval.astype(np.int64) * width + function)
        seconds = np.bincount(where, weights=ticks, minlength=len(pair)) / self._rate_hz
        return SelfTime((pair // width).astype(np.int32), (pair % width).astype(np.int32), seconds.astype(np.float64))
