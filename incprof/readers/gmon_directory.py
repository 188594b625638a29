"""Read directories with one cumulative gmon.out per interval, ours or glibc's, as an IntervalProfile."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError, UsageError
from incprof.model import Arcs, Counters, IntervalProfile, Metadata, Module, positions
from incprof.readers.profile_builder import CallTable, Parts, SelfTime, build_profile
from incprof.readers.stream.stream_files import HEADER, MAGIC
from incprof.safe.inputs import AnyPath, read_input
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.function_table import NOWHERE, SymbolTable
from incprof.symbols.modules import SymbolLoader
from incprof.symbols.tail_calls import TailCalls

IntArray = npt.NDArray[np.int64]
AddressArray = npt.NDArray[np.uint64]
# Addresses (from, self) shape (m, 2), and counts (m,).
ArcTable = tuple[AddressArray, IntArray]
Progress = Callable[[int, int], object]

COUNTER_MODULUS = 65536


@dataclass(frozen=True)
class Snapshot:
    """One file of the series: its number and path."""

    number: int
    path: str


def read_gmon_files(
    files: Sequence[Snapshot],
    metadata: Metadata,
    directory: str,
    *,
    exe: str | None = None,
    progress: Progress | None = None,
) -> IntervalProfile:
    """Read a series of cumulative files, ordered by number.

    Raises: UsageError without a program; NoDataError if no file can be used.
    """
    program = exe or metadata.exe
    if program is None:
        raise UsageError(f"{directory} holds gmon files that do not name their program: give it with --exe")
    module = next((m for m in metadata.modules if m.id == 0), None) or Module(0, program, None, 0, 0, True)
    symbols = SymbolLoader(directory, exe)
    space = FunctionSpace([module], symbols.load)
    series = _Series(space, TailCalls(space, [module], symbols.machine_code), metadata.rate_hz)
    for done, file in enumerate(files):
        series.add(file)
        if progress:
            progress(done + 1, len(files))
    if not series.numbers:
        raise NoDataError(f"{directory}: no gmon file can be used: {series.warnings[0] if series.warnings else 'none'}")
    return build_profile(series.parts(metadata, symbols.warnings), space)


class _Series:
    """Differences between cumulative files."""

    def __init__(self, space: FunctionSpace, tail_calls: TailCalls, rate_hz: float):
        self._space = space
        self._tail_calls = tail_calls
        self._rate_hz = rate_hz
        self._bins = filled_bins((), rate_hz)
        self._calls: ArcTable = (np.empty((0, 2), dtype=np.uint64), np.empty(0, dtype=np.int64))
        self._self_time: list[SelfTime] = []
        self._call_table = CallTable()
        self._shrunk = 0
        self._dropped = 0
        self.numbers: list[int] = []
        self.warnings: list[str] = []

    def add(self, file: Snapshot) -> None:
        """Add the interval that ends with `file`; a file that cannot be read is dropped with a warning."""
        try:
            records = read_gmon(file.path, within=os.path.dirname(file.path))
        except NoDataError as error:
            self.warnings.append(str(error))
            self._dropped += 1
            return
        interval = len(self.numbers)
        bins = filled_bins(records.histograms, self._rate_hz)
        symbol, seconds = share_out(_bin_steps(bins, self._bins), self._space.table(0))
        where = np.full(len(symbol), interval, dtype=np.int32)
        self._self_time.append(SelfTime(where, self._space.of_symbols(0, symbol), seconds))
        arcs = (np.stack([records.from_pc, records.self_pc], axis=1), records.count)
        self._add_arcs(interval, *_arc_steps(arcs, self._calls))
        self._bins, self._calls = bins, arcs
        self.numbers.append(file.number)

    def _add_arcs(self, interval: int, ends: AddressArray, count: IntArray) -> None:
        """Record calls since the file before: (caller, callee) addresses (m, 2) and counts (m,)."""
        self._shrunk += int(np.count_nonzero(count < 0))
        from_pc, self_pc, count = ends[count > 0, 0], ends[count > 0, 1], count[count > 0]
        module = np.zeros(len(count), dtype=np.int64)
        caller = self._space.resolve(module, from_pc - np.minimum(from_pc, np.uint64(1)))
        caller[from_pc == 0] = -1
        callee = self._space.resolve(module, self_pc)
        caller = self._tail_calls.callers(0, from_pc, caller, callee)
        where = np.full(len(count), interval, dtype=np.int32)
        self._call_table.add(Arcs(where, caller, callee, count))

    def parts(self, metadata: Metadata, warnings: list[str]) -> Parts:
        """Return the profile's parts. Time runs from the start of the first file's interval."""
        number = np.array(self.numbers, dtype=np.int64)
        end_s = (number - number[0] + 1) * metadata.interval_s
        start_s = np.concatenate([[0.0], end_s[:-1]])
        missing = int(number[-1] - number[0] + 1 - len(number))
        if missing:
            self.warnings.append(f"{missing} numbers have no file: their time counts in the interval after them")
        if self._shrunk:
            self.warnings.append(f"{self._shrunk} call counts decrease: are the files of one run, in order?")
        counters = _no_counters(len(number))
        parts = Parts(metadata, start_s, end_s, counters, self._self_time, self._call_table)
        parts.warnings = [*self.warnings, *warnings]
        parts.damaged = self._dropped > 0
        return parts


def _bin_steps(now: Bins, before: Bins) -> Bins:
    """Return ticks since the file before, modulo 65 536: glibc's counters wrap. Repeated records have been added up."""
    low, first, where = np.unique(np.concatenate([now.low, before.low]), return_index=True, return_inverse=True)
    ticks = np.bincount(where, weights=np.concatenate([now.ticks, -before.ticks]), minlength=len(low)).astype(
        np.float64
    )
    ticks[ticks < 0] %= COUNTER_MODULUS
    high, tick_s = np.concatenate([now.high, before.high])[first], np.concatenate([now.tick_s, before.tick_s])[first]
    grown = ticks > 0
    return Bins(low[grown], high[grown], ticks[grown], tick_s[grown])


def _arc_steps(now: ArcTable, before: ArcTable) -> ArcTable:
    """Return calls since the file before, one row per arc."""
    ends = np.concatenate([now[0], before[0]])
    distinct, where = np.unique(ends, axis=0, return_inverse=True)
    count = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(count, where.ravel(), np.concatenate([now[1], -before[1]]))
    return distinct, count


def _no_counters(n: int) -> Counters:
    """Return counters for a recording without any, shape (n,) each."""
    none, zero = np.zeros(n), np.zeros(n, dtype=np.int64)
    return Counters(none, none, none, none, none, zero, zero, zero, zero, zero, zero, none, none)


# One gmon.out file: header and records.


# Enough for a program with gigabytes of code.
MOST_BYTES = 1 << 30


def read_gmon(path: str, *, within: AnyPath | None = None) -> Records:
    """Read a gmon.out file. within: the directory of the run that it belongs to.

    Raises: NoDataError if it cannot be read, is not a gmon.out of this byte order and word size, or is damaged.
    """
    try:
        data = np.frombuffer(read_input(path, MOST_BYTES, within=within), dtype=np.uint8)
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error
    if not len(data):
        raise NoDataError(f"{path}: empty file: the program ended too early, or the disk was full")
    head = data[: HEADER.size].tobytes()
    if head[:8] == b"gmon\0\0\0\1":
        raise NoDataError(f"{path}: big-endian gmon.out: read it on the machine that wrote it")
    if head[:8] != MAGIC or len(head) < HEADER.size:
        raise NoDataError(f"{path}: not a gmon.out file (wrong magic): give files that a -pg program wrote")
    try:
        return parse(data[HEADER.size :])
    except RecordError as error:
        raise NoDataError(f"{path}: damaged, or from a 32-bit program: {error}") from error


# The records of gmon.out: histograms and call arcs, in bulk.


HISTOGRAM_TAG: Final = 0
ARC_TAG: Final = 1
BLOCK_TAG: Final = 2

# Number of records examined in one step: bounds the work on a file whose record kinds alternate.
LOOKAHEAD: Final = 1024

HISTOGRAM_HEAD = struct.Struct("<BQQII15sc")
ARC = np.dtype([("tag", "u1"), ("from_pc", "<u8"), ("self_pc", "<u8"), ("count", "<u4")])
BLOCK = np.dtype([("address", "<u8"), ("count", "<u4")])

ByteArray = npt.NDArray[np.uint8]


class RecordError(ValueError):
    """The bytes are not a sequence of gmon records; the message gives the reason."""


@dataclass(frozen=True)
class Histogram:
    """Same-shaped histogram records: `low`, `high` are (h,), `counts` (h, bins); a bin is (high-low)/bins wide."""

    low: AddressArray
    high: AddressArray
    counts: npt.NDArray[np.uint16]
    rate: int
    dimension: bytes


@dataclass(frozen=True)
class Records:
    """Contents of a gmon file or image. arcs: the records as stored, dtype ARC; all arc arrays have shape (a,)."""

    histograms: tuple[Histogram, ...]
    arcs: npt.NDArray[np.void]

    @property
    def from_pc(self) -> AddressArray:
        """Return, for each arc, the address of the call in the caller."""
        return self.arcs["from_pc"].astype(np.uint64)

    @property
    def self_pc(self) -> AddressArray:
        """Return, for each arc, the address in the called function."""
        return self.arcs["self_pc"].astype(np.uint64)

    @property
    def count(self) -> IntArray:
        """Return the number of calls of each arc."""
        return self.arcs["count"].astype(np.int64)


def parse(data: ByteArray) -> Records:
    """Parse records from bytes, shape (b,). Histograms are not copied (nor, usually, arcs); sizes are checked first.

    Raises: RecordError if the bytes are not a sequence of whole, known records.
    """
    histograms: list[Histogram] = []
    arcs: list[npt.NDArray[np.void]] = []
    position = 0
    while position < len(data):
        tag = int(data[position])
        if tag == HISTOGRAM_TAG:
            histogram, position = _histogram_run(data, position)
            histograms.append(histogram)
        elif tag == ARC_TAG:
            run, position = _arc_run(data, position)
            arcs.append(run)
        elif tag == BLOCK_TAG:
            position = _skip_blocks(data, position)
        else:
            raise RecordError(f"unknown record tag {tag}")
    return Records(tuple(histograms), join_arcs(arcs))


def join_arcs(tables: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Concatenate tables of arc records, dtype ARC. As bytes: numpy copies records field by field."""
    if len(tables) == 1:
        return tables[0]
    return np.concatenate([np.empty(0, np.uint8), *(table.view(np.uint8) for table in tables)]).view(ARC)


def _leading(same: npt.NDArray[np.bool_]) -> int:
    """Return the length of the run of True at the start."""
    return len(same) if same.all() else int(same.argmin())


def _histogram_run(data: ByteArray, position: int) -> tuple[Histogram, int]:
    """Return consecutive records of the same shape, and the position after them."""
    available = len(data) - position
    if available < HISTOGRAM_HEAD.size:
        raise RecordError("a histogram record is cut off")
    head = data[position : position + HISTOGRAM_HEAD.size].tobytes()
    _, low, high, bins, rate, dimension, _ = HISTOGRAM_HEAD.unpack(head)
    size = HISTOGRAM_HEAD.size + 2 * bins
    if size > available:
        raise RecordError(f"a histogram of {bins} bins does not fit into {available} bytes")
    if bins and high <= low:
        raise RecordError("a histogram covers no addresses")
    window = min(available // size, LOOKAHEAD) * size
    table = np.frombuffer(data[position : position + window], dtype=_histogram_dtype(bins))
    same_shape = (table["tag"] == HISTOGRAM_TAG) & (table["bins"] == bins) & (table["high"] > table["low"])
    same_shape &= (table["rate"] == rate) & (table["dimension"] == table["dimension"][0])
    n = max(_leading(same_shape), 1)
    table = table[:n]
    name = dimension.split(b"\0")[0]
    return Histogram(table["low"], table["high"], table["counts"], rate, name), position + n * size


@lru_cache(maxsize=64)
def _histogram_dtype(bins: int) -> np.dtype[np.void]:
    """Return the layout of a histogram record with `bins` bins."""
    head = [("tag", "u1"), ("low", "<u8"), ("high", "<u8"), ("bins", "<u4"), ("rate", "<u4"), ("dimension", "S16")]
    return np.dtype([*head, ("counts", "<u2", (bins,))])


def _arc_run(data: ByteArray, position: int) -> tuple[npt.NDArray[np.void], int]:
    """Return consecutive arc records, and the position after them."""
    available = len(data) - position
    if available < ARC.itemsize:
        raise RecordError("an arc record is cut off")
    window = min(available // ARC.itemsize, LOOKAHEAD) * ARC.itemsize
    table = np.frombuffer(data[position : position + window], dtype=ARC)
    n = _leading(table["tag"] == ARC_TAG)
    return table[:n], position + n * ARC.itemsize


def _skip_blocks(data: ByteArray, position: int) -> int:
    """Return the position after a basic-block record, whose contents are not used."""
    if len(data) - position < 5:
        raise RecordError("a basic-block record is cut off")
    count = int.from_bytes(data[position + 1 : position + 5].tobytes(), "little")
    end = position + 5 + count * BLOCK.itemsize
    if end > len(data):
        raise RecordError(f"{count} basic-block counts do not fit into the file")
    return end


# Assign histogram bins to functions: a bin that overlaps several is divided by overlap, as gprof does.


FloatArray = npt.NDArray[np.float64]

# Functions are aligned to 64 bytes at most.
MAX_PADDING = 63


@dataclass(frozen=True)
class Bins:
    """Non-empty bins, all shape (b,): link-time addresses low and high, ticks, seconds per tick."""

    low: FloatArray
    high: FloatArray
    ticks: FloatArray
    tick_s: FloatArray


def filled_bins(histograms: Sequence[Histogram], rate_hz: float) -> Bins:
    """Return the non-empty bins of histograms. Records without a rate of their own use `rate_hz`."""
    columns: list[tuple[FloatArray, ...]] = [(np.empty(0),) * 4]
    for histogram in histograms:
        record, index = np.nonzero(histogram.counts)
        low = histogram.low[record].astype(np.float64)
        width = (histogram.high[record].astype(np.float64) - low) / max(histogram.counts.shape[1], 1)
        tick = np.full(len(record), 1.0 / (histogram.rate or rate_hz))
        ticks = histogram.counts[record, index].astype(np.float64)
        columns.append((low + index * width, low + (index + 1) * width, ticks, tick))
    return Bins(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))


def share_out(bins: Bins, table: SymbolTable) -> tuple[IntArray, FloatArray]:
    """Return symbols and the seconds of each, shape (x,); symbols repeat. NOWHERE gets bins without a function."""
    start, end = table.start.astype(np.float64), _with_padding(table)
    first = np.searchsorted(end, bins.low, side="right")
    last = np.searchsorted(start, bins.high, side="left")
    met = np.maximum(last - first, 0)
    bin_index = np.repeat(np.arange(len(met)), met)
    position = positions(met)
    piece = first[bin_index] + position
    overlap = np.minimum(end[piece], bins.high[bin_index]) - np.maximum(start[piece], bins.low[bin_index])
    total = np.bincount(bin_index, weights=overlap, minlength=len(met))
    seconds = bins.ticks * bins.tick_s
    shared_seconds = seconds[bin_index] * overlap / total[bin_index]
    lost = met == 0
    symbols = np.concatenate([table.owner[piece], np.full(np.count_nonzero(lost), NOWHERE, dtype=np.int64)])
    return symbols, np.concatenate([shared_seconds, seconds[lost]])


def _with_padding(table: SymbolTable) -> FloatArray:
    """Return where each range ends, with the padding up to the next one, shape (r,): no other code can run there."""
    end = table.end.astype(np.float64)
    following = np.append(table.start[1:].astype(np.float64), np.inf)
    return np.where(following - end <= MAX_PADDING, following, end)
