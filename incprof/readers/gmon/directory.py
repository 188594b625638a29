"""Read directories with one cumulative gmon.out per interval, ours or glibc's, as an IntervalProfile."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError, UsageError
from incprof.model import Arcs, Counters, IntervalProfile, Metadata, Module
from incprof.readers.call_table import CallTable
from incprof.readers.gmon.credit import Bins, filled_bins, share_out
from incprof.readers.gmon.file import read_gmon
from incprof.readers.profile_builder import Parts, SelfTime, build_profile
from incprof.symbols.function_space import FunctionSpace
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
    series = _Series(space, TailCalls(space, [module], symbols.code), metadata.rate_hz)
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
            self.warnings.append(f"{missing} numbers have no file: their time is in the interval after them")
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
    return Counters(none, none, none, none, none, zero, zero, zero, zero, zero, zero, none)
