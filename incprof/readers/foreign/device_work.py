"""Device work of imported profiles, written as a recording has it: images of kind 13 (docs/reference/formats.md).

m activities, s spans, r rows of an image.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from incprof.model import FloatArray, IntArray, positions
from incprof.readers.stream.coded_records import LONGEST_NAME, varints

NS = 1e9
# Types of records, as the recorder numbers them, and the limits of its tables.
STATE, NAMES, KERNELS, COPIES, BUSY, WAITS, STREAMS, OVERLAPS, DEVICES = range(1, 10)
MOST_DEVICES, HOST, MOST_STREAMS, OTHER_STREAMS = 16, 16, 64, 2**32 - 1
NO_NAME, OTHER_NAMES, FIRST_NAME, MOST_NAMES = 0, 1, 2, 1 << 16
ANY_DEVICE, DEVICE_OR_WAIT = range(2)
SLOT_S, LEAST_SLOT_S, MOST_SLOTS = 0.2, 1e-3, 100_000
# Kinds of copies by CUPTI's numbers, and one that it does not have.
MEMSET, TO_DEVICE, FROM_DEVICE, WITHIN_DEVICE, WITHIN_HOST, BETWEEN_DEVICES, OTHER_COPY = 0, 1, 2, 8, 9, 10, 255
# A synchronisation in which one stream waits for another: the host continues.
STREAM_WAITS = 2
MOST_BYTES = 2**53
WAITING = re.compile(r"(?:cuda|cu|hip)\w*Synchronize(?:_\w+)?")


class Call(NamedTuple):
    """What a function of CUDA or HIP does; at most one is true."""

    launches: bool
    launches_graph: bool
    waits: bool


def call_of(name: str) -> Call:
    """Return what a function of CUDA's or HIP's does, by its name."""
    is_graph = "GraphLaunch" in name
    is_launch = "Launch" in name and "Graph" not in name and "HostFunc" not in name
    return Call(is_launch, is_graph, WAITING.fullmatch(name) is not None)


class DeviceWork:
    """Kernels, copies and waits of a process, in any order.

    Attributes:
        launches: calls that launch a kernel, if they were counted; else each kernel counts as launched.
        graph_launches: calls that launch a graph.
        devices: names by number.
    """

    def __init__(self) -> None:
        self.launches: int | None = None
        self.graph_launches = 0
        self.devices: dict[int, str] = {}
        self._names: dict[str, int] = {}
        self._graph_kernels = 0
        self._start, self._length = array("d"), array("d")
        self._columns = tuple(array("q") for _ in range(6))

    def __len__(self) -> int:
        """Number of activities."""
        return len(self._start)

    @property
    def nodes(self) -> IntArray:
        """The launching path of each activity, (m,); -1: unknown."""
        return np.frombuffer(self._columns[4], dtype=np.int64)

    def kernel(
        self, name: str, device: int, stream: int, start_s: float, length_s: float, node: int = -1, *,
        of_graph: bool = False,
    ) -> None:  # fmt: skip
        """Add a kernel, launched by a path of the timeline."""
        number = self._names.setdefault(name[:LONGEST_NAME], len(self._names) + FIRST_NAME) if name else NO_NAME
        self._graph_kernels += of_graph
        self._add(KERNELS, device, number if number < MOST_NAMES else OTHER_NAMES, stream, node, 0, start_s, length_s)

    def copy(
        self, kind: int, device: int, stream: int, start_s: float, length_s: float, amount_b: int, node: int = -1
    ) -> None:
        """Add a copy or memset."""
        self._add(COPIES, device, kind, stream, node, min(max(amount_b, 0), MOST_BYTES), start_s, length_s)

    def wait(self, start_s: float, length_s: float, kind: int = 0) -> None:
        """Add a wait of the host."""
        self._add(WAITS, HOST, kind, 0, -1, 0, start_s, length_s)

    def _add(
        self, kind: int, device: int, what: int, stream: int, node: int, amount_b: int, start_s: float, length_s: float
    ) -> None:
        lane = device if kind == WAITS or 0 <= device < MOST_DEVICES else MOST_DEVICES - 1
        stream = stream if 0 <= stream < OTHER_STREAMS else OTHER_STREAMS
        self._start.append(start_s)
        self._length.append(length_s)
        for column, value in zip(self._columns, (kind, lane, what, stream, node, amount_b), strict=True):
            column.append(value)

    def payloads(self, begins_s: float, end_s: FloatArray, number: IntArray) -> Iterator[bytes]:
        """Yield the payload of each interval's image.

        begins_s: start of the run on the clock of the activities. end_s: ends of the intervals, seconds since the start
        of the run. number: of a path of the timeline in the stream.
        """
        start = np.maximum(np.frombuffer(self._start, dtype=np.float64) - begins_s, 0.0)
        length = np.maximum(np.frombuffer(self._length, dtype=np.float64), 0.0)
        slot_ns = _slot_ns(end_s)
        rows = [*self._sums(start, length, slot_ns, number), *self._unions(start, length, slot_ns)]
        every = [np.searchsorted(end_s, (table[:, 0] + 0.5) * slot_ns / NS) for _, table in rows]
        interval = [np.minimum(each, len(end_s) - 1) for each in every]
        for at in range(len(end_s)):
            tables = [(kind, table[place == at]) for (kind, table), place in zip(rows, interval, strict=True)]
            head = self._head() if at == 0 else b""
            yield (
                self._state(slot_ns)
                + head
                + b"".join(
                    _record(kind, varints(table.astype(np.uint64).ravel())) for kind, table in tables if len(table)
                )
            )

    def _state(self, slot_ns: int) -> bytes:
        kernels = self._columns[0].count(KERNELS) - self._graph_kernels
        launches = kernels if self.launches is None else self.launches
        totals = [launches, self.graph_launches, kernels, self._graph_kernels, 0, 0, 0, 0]
        return _record(STATE, varints(np.array([0, 0, slot_ns, 1, *totals, 0], dtype=np.uint64)))

    def _head(self) -> bytes:
        """Return the names of kernels and devices."""
        out = b""
        if self._names:
            texts = [name.encode("utf-8", "replace") for name in self._names][: MOST_NAMES - FIRST_NAME]
            out = _record(NAMES, _number(FIRST_NAME) + b"".join(map(_text, texts)))
        if names := {number: name for number, name in self.devices.items() if 0 <= number < MOST_DEVICES}:
            texts = [_number(number) + _text(name.encode("utf-8", "replace")) for number, name in names.items()]
            out += _record(DEVICES, b"".join(texts))
        return out

    def _sums(
        self, start: FloatArray, length: FloatArray, slot_ns: int, number: IntArray
    ) -> Iterator[tuple[int, IntArray]]:
        """Yield the tables of kernels, copies and waits: rows of an image, (r, 7)."""
        kind, device, what, _, node, amount = (np.frombuffer(each, dtype=np.int64) for each in self._columns)
        written = np.where(node >= 0, 1 + number[np.maximum(node, 0)], 0)
        slot = (start * NS / slot_ns).astype(np.int64)
        ns = np.rint(length * NS).astype(np.int64)
        for one in (KERNELS, COPIES, WAITS):
            use = kind == one
            keys = np.stack([slot[use], device[use], what[use], written[use]], axis=1)
            yield one, _grouped(keys, np.ones(int(use.sum()), dtype=np.int64), ns[use], amount[use])

    def _unions(self, start: FloatArray, length: FloatArray, slot_ns: int) -> Iterator[tuple[int, IntArray]]:
        """Yield the tables of busy time: of devices and waits, of streams, of all together."""
        kind, device, what, stream, *_ = (np.frombuffer(each, dtype=np.int64) for each in self._columns)
        is_wait = (kind == WAITS) & (what != STREAM_WAITS)
        is_work = kind != WAITS
        begin, end = np.rint(start * NS).astype(np.int64), np.rint((start + length) * NS).astype(np.int64)
        lanes = list[tuple[int, int, int, np.ndarray]]()
        lanes += [(BUSY, int(one), 0, is_work & (device == one)) for one in np.unique(device[is_work])]
        lanes += [(BUSY, HOST, 0, is_wait), (OVERLAPS, HOST, ANY_DEVICE, is_work)]
        lanes += [(OVERLAPS, HOST, DEVICE_OR_WAIT, is_work | is_wait)]
        pairs, index = np.unique(np.stack([device, stream]), axis=1, return_inverse=True)
        own = [at for at in range(pairs.shape[1]) if pairs[0, at] != HOST]
        for at in own[: MOST_STREAMS - 1]:
            lanes.append((STREAMS, int(pairs[0, at]), int(pairs[1, at]), is_work & (index.ravel() == at)))
        if rest := own[MOST_STREAMS - 1 :]:
            lanes.append((STREAMS, int(pairs[0, rest[0]]), OTHER_STREAMS, is_work & np.isin(index.ravel(), rest)))
        for record, on, number, use in lanes:
            slot, ns = _by_slot(*_union(begin[use], end[use]), slot_ns)
            constant = [np.full(len(slot), value) for value in (on, number, 0, 1)]
            yield record, np.stack([slot, *constant, ns, np.zeros(len(slot), dtype=np.int64)], axis=1)


def _slot_ns(end_s: FloatArray) -> int:
    """Return the length of a slot, which divides the intervals, if they are not too many."""
    interval_s = float(end_s[0])
    least_s = max(LEAST_SLOT_S, float(end_s[-1]) / MOST_SLOTS)
    return int(np.ceil(max(interval_s / max(np.ceil(interval_s / SLOT_S - 1e-9), 1), least_s) * NS - 1e-3))


def _grouped(keys: IntArray, *values: IntArray) -> IntArray:
    """Return a row for each distinct key, (r, 7), with the sums of its values."""
    rows, index = np.unique(keys, axis=0, return_inverse=True)
    sums = np.zeros((len(rows), len(values)), dtype=np.int64)
    for column, each in enumerate(values):
        np.add.at(sums[:, column], index.ravel(), each)
    return np.concatenate([rows, sums], axis=1)


def _union(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return spans that do not overlap, (s,), in order."""
    order = np.argsort(begin, kind="stable")
    begin, reached = begin[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate([[True], begin[1:] > reached[:-1]])) if len(begin) else np.zeros(0, np.int64)
    last = np.append(first[1:], len(begin)) - 1
    return begin[first], reached[last] if len(begin) else begin


def _by_slot(begin: IntArray, end: IntArray, slot_ns: int) -> tuple[IntArray, IntArray]:
    """Return the slots that the spans lie in, and the nanoseconds of each."""
    first, last = begin // slot_ns, np.maximum(end - 1, begin) // slot_ns
    times = last - first + 1
    slot = np.repeat(first, times) + positions(times)
    low, high = np.repeat(begin, times), np.repeat(end, times)
    ns = np.minimum(high, (slot + 1) * slot_ns) - np.maximum(low, slot * slot_ns)
    used, index = np.unique(slot, return_inverse=True)
    sums = np.zeros(len(used), dtype=np.int64)
    np.add.at(sums, index, ns)
    return used, sums


def _number(value: int) -> bytes:
    return varints(np.array([value], dtype=np.uint64))


def _text(text: bytes) -> bytes:
    return _number(len(text)) + text


def _record(kind: int, content: bytes) -> bytes:
    return _number(kind) + _number(len(content)) + content
