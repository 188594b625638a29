"""Convert samples of a stream to the model's, and compute their self time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.model import LIBRARY, OWN, PROFILER, UNKNOWN, BoolArray, IntArray, Samples, distinct, numbered
from incprof.model.calltree import at_or_below
from incprof.readers.profile_builder import LongTable, SelfTime
from incprof.readers.stream.coded_records import BROKEN_MODULE, ELIDED_MODULE, Nodes, RawSamples, decode_samples
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.records import Chunk, Libs, chunks
from incprof.readers.stream.stream_files import SAMPLES
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.function_table import NOWHERE, GeneratedCode

FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
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
        generated: moves samples in generated code.
        waits: samples of waits, with the interval of each, which count beside those of the stream.
    """

    def __init__(
        self, collected: Collected, space: FunctionSpace, libs: Libs, nodes: Nodes, function: NumberArray,
        node_limit: int, suspect: BoolArray | None = None, generated: GeneratedPaths | None = None,
        waits: tuple[RawSamples, IntArray] | None = None,
    ):  # fmt: skip
        self._collected, self._space, self._libs = collected, space, libs
        self._nodes, self._function = nodes, function
        self._node_limit = node_limit if nodes.more_lost else len(nodes.parent)
        self._rate_hz = collected.metadata.rate_hz
        self._start_s, self._end_s = (collected.counters[:, i].astype(np.float64) * 1e-9 for i in (0, 1))
        before_s = collected.before_ns * 1e-9 if collected.before_ns else -np.inf
        self._before_s = np.concatenate([[before_s], self._end_s])
        self._table = LongTable(np.float64, np.int32, np.int32, np.int8, np.int32, np.int32)
        self.exact: BoolArray = np.zeros(collected.n_intervals, dtype=bool)
        self.profiler_ticks: FloatArray = np.zeros(collected.n_intervals)
        self.nodes_used = 0
        self._generated, self._waits = generated, waits
        self._suspect, self.aside = suspect, list[SelfTime]()

    def take(self, chunk: Chunk) -> SelfTime:
        """Decode the samples of a chunk, and return their self time."""
        raw, interval = self._with_waits(chunk, *self._usable(chunk))
        raw = self._generated.moved(raw, interval) if self._generated else raw
        raw = replace(raw, kind=np.where(raw.weight == 0, PROFILER, raw.kind).astype(raw.kind.dtype))
        in_range = raw.node < len(self._function)
        node = np.where(in_range, raw.node, 0)
        self.nodes_used = max(self.nodes_used, int(raw.node.max(initial=0)) + 1)
        inside = raw.kind == PROFILER
        np.add.at(self.profiler_ticks, interval[inside], raw.weight[inside])

        counted = raw.kind == OWN if self._libs == "drop" else ~inside
        self.exact[interval[counted & (~in_range | self._nodes.lost[node])]] = False
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
            aside = counted & in_range & (raw.kind == LIBRARY) & self._suspect[node]
            self.aside.append(self._self_time(interval[aside], node[aside], raw.weight[aside]))
            counted &= ~aside
        return self._self_time(interval[counted], function[counted], raw.weight[counted])

    def samples(self) -> Samples:
        """Return all samples taken so far."""
        return Samples(*self._table.columns())

    def _usable(self, chunk: Chunk) -> tuple[RawSamples, Int64Array]:
        """Return samples of the chunk's intervals that are entirely readable, and the interval of each, shape (s,)."""
        places = chunk.places[chunk.places["kind"] == SAMPLES]
        array_at, owner = self._collected.source.array_at, places["interval"]
        raw, bad = decode_samples([array_at(o, n) for o, n in places[["offset", "length"]].tolist()])
        interval = owner[raw.payload]
        self.exact[owner] = True
        self.exact[owner[bad]] = False
        self.exact[interval[raw.node >= self._node_limit]] = False
        self._collected.bad_images += len(distinct(owner[~self.exact[owner]]))
        keep = self.exact[interval]
        columns = (getattr(raw, name)[keep] for name in RawSamples.__dataclass_fields__)
        return RawSamples(*columns), interval[keep]

    def _with_waits(self, chunk: Chunk, raw: RawSamples, interval: Int64Array) -> tuple[RawSamples, Int64Array]:
        """Add the samples of waits in a chunk's intervals, in order of time."""
        if self._waits is None:
            return raw, interval
        waits, interval_of = self._waits
        use = slice(*np.searchsorted(interval_of, [chunk.first, chunk.end]))
        joined = np.concatenate([interval, interval_of[use]])
        self.exact[joined] = True
        both = [
            np.concatenate([getattr(raw, name), getattr(waits, name)[use]]) for name in RawSamples.__dataclass_fields__
        ]
        order = np.lexsort((both[1], joined))
        raw = RawSamples(*(column[order] for column in both))
        # Sites of damaged images may have any node.
        return replace(raw, node=np.where(raw.node < self._node_limit, raw.node, 0)), joined[order]

    def _columns(self, raw: RawSamples, interval: Int64Array, keep: BoolArray) -> list[npt.NDArray[Any]]:
        """Return the model's columns of samples, with times clamped to their interval, whatever the clock did."""
        interval = interval[keep]
        low = np.maximum(self._start_s[interval], np.nextafter(self._before_s[interval], np.inf))
        time_s = np.clip(self._start_s[interval] + raw.delay_us[keep] * US, low, self._end_s[interval])
        return [time_s, *(column[keep] for column in (raw.thread, raw.node, raw.kind, raw.weight, raw.module))]

    def _self_time(self, interval: Int64Array, function: NumberArray | Int64Array, ticks: Int64Array) -> SelfTime:
        """Add up ticks, one row per (interval, function), and convert them to seconds."""
        width = int(function.max(initial=0)) + 1
        pair, where = numbered(interval.astype(np.int64) * width + function)
        seconds = np.bincount(where, weights=ticks, minlength=len(pair)) / self._rate_hz
        return SelfTime((pair // width).astype(np.int32), (pair % width).astype(np.int32), seconds.astype(np.float64))


# Call paths through code that a program generated at run time, see symbols/function_table.py. p path nodes.
#
# An address holds different functions in the course of a run: each becomes a node of its own. Code without a name is
# not a function: it counts as its caller, like code of a library.


NS_PER_US = 1000


class GeneratedPaths:
    """The nodes of a stream with generated code.

    Attributes:
        nodes: (q,) with new ones at the end; some have no samples any more.
        unnamed: among the samples moved so far, those in code without a name, by weight, and all.
    """

    def __init__(
        self,
        nodes: Nodes,
        tables: Mapping[int, GeneratedCode],
        start_ns: IntArray,
        samples: Iterable[tuple[RawSamples, IntArray]],
    ):
        """Find the nodes. From `samples`, with the interval of each, only the necessary ones are read.

        tables: by module. start_ns: of the intervals, CLOCK_MONOTONIC.
        """
        self.nodes, self.unnamed, self.all = nodes, 0, 0
        self._tables, self._start_ns = tables, start_ns
        self._find_uses()
        self._numbers: dict[tuple[int, int], int] = {}
        self._new: dict[tuple[int, int, int], int] = {}
        if self._uses:
            for raw, interval in samples:
                self._split(raw.node, self._time(raw, interval))
            self._append()
        self._find_unnamed()

    def moved(self, raw: RawSamples, interval: IntArray) -> RawSamples:
        """Return samples of these intervals at the nodes of the functions that were there at the time."""
        in_range = raw.node < len(self._up)
        node = raw.node
        if self._uses:
            node = np.where(in_range, self._split(raw.node, self._time(raw, interval)), node)
            in_range = node < len(self._up)
        up = np.where(in_range, self._up[np.where(in_range, node, 0)], node)
        is_replaced = up != node
        self.all += int(raw.weight.sum())
        self.unnamed += int(raw.weight[is_replaced & (raw.kind == OWN)].sum())
        module = np.where(is_replaced, self.nodes.module[np.where(in_range, node, 0)], raw.module)
        kind = np.where(is_replaced & (raw.kind == OWN), LIBRARY, raw.kind)
        return replace(raw, node=up, kind=kind, module=np.where(kind != raw.kind, module, raw.module))

    @property
    def warnings(self) -> list[str]:
        """Return a warning if more than one in a hundred samples is unnamed for that reason."""
        if 100 * self.unnamed <= self.all:
            return []
        return [
            f"{100 * self.unnamed / self.all:.0f} % of the samples are in code that the program made as it ran, "
            "without a name: it counts as its callers (docs/reference/python-programs.md explains how to get names)"
        ]

    def _find_uses(self) -> None:
        """Find the nodes that were different functions, and those with such a node above them."""
        nodes = self.nodes
        self._uses: dict[int, tuple[IntArray, IntArray]] = {}
        for module, table in self._tables.items():
            at = np.flatnonzero(nodes.module == module)
            at = at[table.is_shared(nodes.address[at])]
            uses_of = {address: table.uses(address) for address in set(nodes.address[at].tolist())}
            for node in at.tolist():
                if uses := uses_of[int(nodes.address[node])]:
                    since, address = np.array(uses, dtype=np.int64).T
                    self._uses[node] = (since, address)
        self._changes = np.unique(np.concatenate([since for since, _ in self._uses.values()] or [nodes.parent[:0]]))
        self._touched: BoolArray = np.zeros(len(nodes.parent), dtype=bool)
        if self._uses:
            self._touched[list(self._uses)] = True
            self._touched = at_or_below(nodes.parent, self._touched)

    def _split(self, node: IntArray, time: IntArray) -> IntArray:
        """Return the nodes that replace these at these times, same shape."""
        touched = np.flatnonzero(node < len(self._touched))
        touched = touched[self._touched[node[touched]]]
        epoch = np.searchsorted(self._changes, time[touched], side="right")
        pairs, where = np.unique(np.stack([node[touched], epoch], axis=1), axis=0, return_inverse=True)
        replacements = np.array([self._node(n, e) for n, e in pairs.tolist()], dtype=np.int64)
        result = node.copy()
        result[touched] = replacements[where.ravel()] if len(replacements) else 0
        return result

    def _node(self, node: int, epoch: int) -> int:
        """Return the node for an old one between two changes."""
        path: list[int] = []
        while self._touched[node] and (node, epoch) not in self._numbers:
            path.append(node)
            node = int(self.nodes.parent[node])
        above = self._numbers[node, epoch] if self._touched[node] else node
        for one in reversed(path):
            key = (above, int(self.nodes.module[one]), self._address(one, epoch))
            above = self._new.setdefault(key, len(self._touched) + len(self._new))
            self._numbers[one, epoch] = above
        return above

    def _address(self, node: int, epoch: int) -> int:
        """Return a node's address in its table during an epoch; before the first known code, that of the first."""
        if node not in self._uses:
            return int(self.nodes.address[node])
        since, address = self._uses[node]
        earlier = np.flatnonzero(np.searchsorted(self._changes, since, side="right") <= epoch)
        return int(address[earlier[-1] if len(earlier) else 0])

    def _append(self) -> None:
        """Append the new nodes."""
        nodes = self.nodes
        new = np.array(list(self._new), dtype=np.int64).reshape(-1, 3)
        old = np.stack([nodes.parent, nodes.module, nodes.address], axis=1)
        lost = np.concatenate([nodes.lost, np.zeros(len(new), dtype=bool)])
        parent, module, address = np.concatenate([old, new]).T
        self.nodes = Nodes(parent, module, address, lost, nodes.more_lost)

    def _find_unnamed(self) -> None:
        """Remove unnamed nodes from their paths."""
        nodes = self.nodes
        unnamed = np.zeros(len(nodes.parent), dtype=bool)
        for module, table in self._tables.items():
            in_module = np.flatnonzero(nodes.module == module)
            unnamed[in_module] = table.find(nodes.address[in_module].view(np.uint64)) == NOWHERE
        outermost = (nodes.parent == 0) | np.isin(nodes.module[nodes.parent], (ELIDED_MODULE, BROKEN_MODULE))
        unnamed &= ~outermost
        up = np.where(unnamed, nodes.parent, np.arange(len(nodes.parent)))
        while not np.array_equal(further := up[up], up):
            up = further
        self._up = up
        self.nodes = replace(nodes, parent=up[nodes.parent])

    def _time(self, raw: RawSamples, interval: IntArray) -> IntArray:
        time: IntArray = self._start_ns[interval] + raw.delay_us * NS_PER_US
        return time


def generated_paths(nodes: Nodes, space: FunctionSpace, collected: Collected) -> GeneratedPaths | None:
    """Return the nodes of a stream, if the program generated code."""
    tables = {module.id: space.table(module.id) for module in collected.modules.values() if module.map}
    generated = {number: table for number, table in tables.items() if isinstance(table, GeneratedCode)}
    if not generated:
        return None
    begin = collected.metadata.raw.get("start_mono_ns")
    start_ns = collected.counters[:, 0].astype(np.int64) + (
        begin if isinstance(begin, int) and 0 <= begin < 2**62 else 0
    )
    return GeneratedPaths(nodes, generated, start_ns, _samples(collected))


def _samples(collected: Collected) -> Iterator[tuple[RawSamples, IntArray]]:
    """Yield all readable samples, with the interval of each."""
    for chunk in chunks(collected):
        places = chunk.places[chunk.places["kind"] == SAMPLES]
        read = collected.source.array_at
        raw, _ = decode_samples([read(o, n) for o, n in places[["offset", "length"]].tolist()])
        yield raw, places["interval"][raw.payload]
