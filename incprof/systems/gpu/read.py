"""Decode the images of kind 13 of a stream (docs/reference/formats.md). m rows, t time slots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.readers.stream.coded_records import MOST, decode_rows, name_at, names_of, number_at, records_of, unzigzag
from incprof.readers.stream.collect import end_of
from incprof.readers.stream.interval_images import DEVICE, IntervalImage, interval_images
from incprof.readers.stream.stream_files import Source

STATE, NAMES, KERNELS, COPIES, BUSY, SYNCHRONISATIONS, STREAMS, OVERLAPS, DEVICES, TRACE_KEYS, TRACE = range(1, 12)
INTERFACE = 16
TABLES = (KERNELS, COPIES, BUSY, SYNCHRONISATIONS, STREAMS, OVERLAPS)
ANY_DEVICE, DEVICE_OR_WAIT = range(2)
RECORDED, NO_CUPTI, OTHER_SUBSCRIBER, OLD_CUPTI, REFUSED, OLD_ROCPROFILER, ROCPROFILER_REFUSED = range(7)
NO_NAME, OTHER_NAMES = range(2)
# The lane of the host's waits, beside those of devices.
HOST = 16
# Number of a stream that stands for all beyond the limit.
OTHER_STREAMS = 2**32 - 1
# Node of a launch whose path was not recorded.
UNSAMPLED = -1
HEADER, COLUMNS, KEY_COLUMNS, TRACE_COLUMNS = 12, 7, 5, 4
NS = 1e-9
# Numbers of names are smaller, and runs have fewer slots.
MOST_NAMES, MOST_SLOTS = 1 << 16, 1 << 31
LEAST_SLOT_NS = 1_000_000

# Kinds of copies, by CUPTI's numbers; 0 is a memset.
COPY_NAMES = {
    0: "memset", 1: "host to device", 2: "device to host", 3: "host to device", 4: "device to host",
    8: "within the device", 9: "within the host", 10: "between devices", 64: "mapped", 65: "unmapped",
}  # fmt: skip
WITHIN_DEVICE = "within the device"
# Memory that host and device share is mapped without a copy, which the interface does not report.
MAPPED = ("mapped", "unmapped")
# Interfaces of one process have numbers of their own. Those of the second have this added, and so on.
INTERFACES, DEVICES_OF_INTERFACE = 16, 32


@dataclass(frozen=True)
class Totals:
    """What the library counted since the start of the run.

    Attributes:
        launches: calls that launch one kernel.
        graph_launches: calls that launch a graph.
        kernels: records of kernels outside of graphs.
        graph_kernels: records of kernels of graphs.
        dropped: records for which CUPTI had no room.
        lost: records and paths for which the library had no room.
        incomplete: kernels that had not ended.
        late_ns: device time that came too late for the union of spans.
    """

    launches: int = 0
    graph_launches: int = 0
    kernels: int = 0
    graph_kernels: int = 0
    dropped: int = 0
    lost: int = 0
    incomplete: int = 0
    late_ns: int = 0


@dataclass(frozen=True)
class GpuRows:
    """Sums of one kind, each (m,).

    Attributes:
        start_s: begin of the time slot, seconds since the start of the run; may be before it.
        device: number; HOST for waits.
        what: number of the kernel's name, kind of a copy, type of a synchronisation, number of a stream, ANY_DEVICE or
            DEVICE_OR_WAIT.
        node: of the launching call path (0: unknown), or UNSAMPLED.
        count: of kernels, copies or waits.
        seconds: sum of their durations; of BUSY, STREAMS and OVERLAPS the union.
        bytes: of copies.
    """

    start_s: FloatArray
    device: IntArray
    what: IntArray
    node: IntArray
    count: FloatArray
    seconds: FloatArray
    bytes: FloatArray


@dataclass(frozen=True)
class GpuTrace(GpuRows):
    """Each kernel, copy and wait by itself, (m,) in the order in which they were recorded; `start_s` is its own.

    Attributes:
        kind: KERNELS, COPIES or SYNCHRONISATIONS.
        stream: number; OTHER_STREAMS for a wait that is for no stream.
        left_out: number of those that had no room in it.
    """

    kind: IntArray
    stream: IntArray
    left_out: int


@dataclass(frozen=True)
class GpuActivity:
    """What a process's GPUs did.

    Attributes:
        state: one of RECORDED and the reasons why nothing was.
        version: of CUPTI or rocprofiler-sdk.
        slot_s: length of a time slot.
        launches_per_path: the largest number of launches for each recorded path.
        totals: since the start of the run.
        names: of kernels, mangled, by number.
        kernels: by launching path.
        copies: by kind and launching path.
        busy: the union of kernels and copies of a device, and of the host's waits.
        synchronisations: waits of the host.
        streams: the union of kernels and copies of a stream.
        overlaps: the unions over all devices, and over devices and waits.
        devices: names by number.
        offset_s: time of slot 0 before the run.
        damaged: number of images and records that could not be decoded.
        trace: None if it was not recorded, or not asked for.
    """

    state: int
    version: int
    slot_s: float
    launches_per_path: int
    totals: Totals
    names: dict[int, str]
    kernels: GpuRows
    copies: GpuRows
    busy: GpuRows
    synchronisations: GpuRows
    streams: GpuRows
    overlaps: GpuRows
    devices: dict[int, str]
    offset_s: float = 0.0
    damaged: int = 0
    trace: GpuTrace | None = None

    @property
    def has_overlaps(self) -> bool:
        """Whether the unions over devices and waits were recorded; earlier versions did not."""
        return len(self.overlaps.seconds) > 0

    @property
    def missing(self) -> int | None:
        """Kernels launched one by one of which there is no record; None if it is unknown, because of graphs."""
        if self.totals.graph_launches and not self.totals.graph_kernels:
            return None
        return max(self.totals.launches - self.totals.kernels, 0)


def read_gpu(path: str, *, traced: bool = False) -> GpuActivity | None:
    """Return what the GPUs of one process's stream did; None if that was not recorded.

    traced: with the trace, which may be large.
    Raises: NoDataError if it is not a stream or cannot be read.
    """
    return activity_of(interval_images(path, DEVICE), traced=traced)


def why_not_recorded(path: str) -> str | None:
    """Return why a stream has nothing of GPUs; None if that is unknown, as where it was not asked for.

    Raises: NoDataError if it cannot be read.
    """
    with Source(path) as source:
        reason = end_of(source).get("gpu_reason")
    return reason if isinstance(reason, str) else None


@dataclass
class _Recorded:
    """What was recorded of one interface (CUDA, OpenCL, HIP). Attributes: as those of GpuActivity."""

    header: IntArray | None = None
    most_per_path: int = 1
    names: dict[int, str] = field(default_factory=dict)
    devices: dict[int, str] = field(default_factory=dict)
    tables: dict[int, list[IntArray]] = field(default_factory=lambda: {kind: [] for kind in TABLES})
    traced: bool = False
    trace: list[IntArray] = field(default_factory=list)
    trace_keys: IntArray | None = None

    def add(self, kind: int, text: bytes) -> None:
        """Decode a record.

        Raises: ValueError if it is damaged.
        """
        if kind == NAMES:
            names = names_of(text)
            if any(number >= MOST_NAMES for number in names):
                raise ValueError("too many names")
            self.names |= {number: _decoded(name) for number, name in names.items()}
        elif kind == DEVICES:
            self.devices |= _devices(text)
        elif kind == STATE:
            self.header = _header(text)
            self.most_per_path = max(self.most_per_path, int(self.header[3]))
        elif kind in self.tables:
            self.tables[kind].append(_table(text))
        elif kind == TRACE_KEYS and self.traced:
            self.trace_keys = _numbers(text)
        elif kind == TRACE and self.traced and self.trace_keys is not None:
            self.trace.append(_trace(self.trace_keys, _numbers(text)))
            self.trace_keys = None

    def renumber(self, place: int) -> None:
        """Distinguish names and devices from those of the interfaces before; waits of the host remain one lane."""
        self.names = {number + place * MOST_NAMES: name for number, name in self.names.items()}
        self.devices = {number + place * DEVICES_OF_INTERFACE: name for number, name in self.devices.items()}
        for kind, tables in self.tables.items():
            for table in tables:
                table[table[:, 1] != HOST, 1] += place * DEVICES_OF_INTERFACE
                if kind == KERNELS:
                    table[:, 2] += place * MOST_NAMES
        for table in self.trace:
            table[table[:, 1] != HOST, 1] += place * DEVICES_OF_INTERFACE
            table[table[:, 0] == KERNELS, 3] += place * MOST_NAMES


def activity_of(images: Iterable[IntervalImage], *, traced: bool = False) -> GpuActivity | None:
    """Decode images, in file order. A damaged record is left out, and counted."""
    interfaces, damaged = dict[int, _Recorded](), 0
    for image in images:
        try:
            recorded = interfaces.setdefault(0, _Recorded(traced=traced))
            for kind, text in records_of(image.payload):
                if kind == INTERFACE:
                    recorded = interfaces.setdefault(_interface(text), _Recorded(traced=traced))
                else:
                    recorded.add(kind, text)
        except ValueError:
            damaged += 1
    found = [each for _, each in sorted(interfaces.items()) if each.header is not None]
    for place, each in enumerate(found):
        each.renumber(place)
    return _combined(found, damaged) if found else None


def _combined(found: list[_Recorded], damaged: int) -> GpuActivity:
    """Return the activity of all interfaces of a process, at least one, each with a header."""
    headers = [each.header for each in found if each.header is not None]
    header = next((each for each in headers if each[0] == RECORDED), headers[0])
    slot_s = float(header[2]) * NS
    # Recordings of earlier versions do not have it.
    offset_s = float(header[HEADER]) * NS if len(header) > HEADER else 0.0
    empty: IntArray = np.zeros((0, COLUMNS), dtype=np.int64)
    tables = ([empty, *(table for each in found for table in each.tables[kind])] for kind in TABLES)
    kernels, copies, busy, waits, streams, overlaps = (
        _rows(np.concatenate(table), slot_s, offset_s) for table in tables
    )
    return GpuActivity(
        state=int(header[0]),
        version=int(headers[0][1]),
        slot_s=slot_s,
        launches_per_path=max(each.most_per_path for each in found),
        totals=Totals(*(sum(int(each[at]) for each in headers) for at in range(4, HEADER))),
        names={number: name for each in found for number, name in each.names.items()},
        kernels=kernels,
        copies=copies,
        busy=busy,
        synchronisations=waits,
        streams=streams,
        overlaps=overlaps,
        devices={number: name for each in found for number, name in each.devices.items()},
        offset_s=offset_s,
        damaged=damaged,
        trace=_whole_trace(found) if any(len(each) > HEADER + 1 for each in headers) and found[0].traced else None,
    )


def _whole_trace(found: list[_Recorded]) -> GpuTrace:
    """Return the trace of all interfaces."""
    empty: IntArray = np.zeros((0, KEY_COLUMNS + TRACE_COLUMNS - 1), dtype=np.int64)
    table = np.concatenate([empty, *(table for each in found for table in each.trace)])
    kind, device, stream, what, node, start_ns, ns, size = table.T
    headers = [each.header for each in found if each.header is not None]
    left_out = sum(int(each[HEADER + 1]) for each in headers if len(each) > HEADER + 1)
    once = np.ones(len(table))
    return GpuTrace(start_ns * NS, device, what, node - 1, once, ns * NS, size * once, kind, stream, left_out)


def _trace(keys: IntArray, numbers: IntArray) -> IntArray:
    """Return a row for each activity: the five numbers of its key, start and length in nanoseconds, bytes.

    Raises: ValueError if a number is out of range.
    """
    if len(keys) % KEY_COLUMNS != 1 or len(numbers) % TRACE_COLUMNS:
        raise ValueError("the last row of the trace is cut off")
    table, rows = keys[1:].reshape(-1, KEY_COLUMNS), numbers.reshape(-1, TRACE_COLUMNS)
    if (rows[:, 0] >= len(table)).any() or (table[:, 1] > HOST).any():
        raise ValueError("a number of the trace is out of range")
    first, steps = (unzigzag(each.astype(np.uint64)) for each in (keys[:1], rows[:, 1]))
    start = first + np.cumsum(steps)
    if (np.abs(start) > MOST).any():
        raise ValueError("a time of the trace is out of range")
    return np.column_stack([table[rows[:, 0]], start, rows[:, 2:]])


def _interface(text: bytes) -> int:
    number, _ = number_at(text, 0)
    if number >= INTERFACES:
        raise ValueError("an unknown interface")
    return number


def _rows(table: IntArray, slot_s: float, offset_s: float) -> GpuRows:
    return GpuRows(
        start_s=table[:, 0].astype(np.float64) * slot_s - offset_s,
        device=table[:, 1],
        what=table[:, 2],
        node=table[:, 3] - 1,
        count=table[:, 4].astype(np.float64),
        seconds=table[:, 5].astype(np.float64) * NS,
        bytes=table[:, 6].astype(np.float64),
    )


def _numbers(text: bytes) -> IntArray:
    values, _, is_valid = decode_rows([np.frombuffer(text, dtype=np.uint8)])
    if not is_valid.all() or (values > MOST).any():
        raise ValueError("a number is cut off, or too large")
    return values.astype(np.int64)


def _header(text: bytes) -> IntArray:
    numbers = _numbers(text)
    if len(numbers) < HEADER or numbers[2] < LEAST_SLOT_NS:
        raise ValueError("the state makes no sense")
    if len(numbers) > HEADER and numbers[HEADER] >= numbers[2]:
        raise ValueError("the run does not begin in slot 0")
    return numbers


def _table(text: bytes) -> IntArray:
    numbers = _numbers(text)
    if len(numbers) % COLUMNS:
        raise ValueError("the last row is cut off")
    table = numbers.reshape(-1, COLUMNS)
    if (table[:, 0] > MOST_SLOTS).any() or (table[:, 1] > HOST).any():
        raise ValueError("a number is out of range")
    return table


def _devices(text: bytes) -> dict[int, str]:
    names, at = dict[int, str](), 0
    while at < len(text):
        number, at = number_at(text, at)
        if number >= HOST:
            raise ValueError("too many devices")
        name, at = name_at(text, at)
        names[number] = _decoded(name)
    return names


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "replace")
