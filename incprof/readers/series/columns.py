"""Select columns of a file, and build the series of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import FloatArray
from incprof.model.counter_names import canonical, canonical_names
from incprof.safe.printable import printable

# Eight bytes each, and the analysis takes a few times that.
MOST_SAMPLES = 20_000_000
TIME_NAMES = ("time", "time_s", "t", "t_s", "timestamp", "seconds", "elapsed", "elapsed_s", "end_s")
SHOWN, LONGEST_NAME = 12, 40
# "Time (s)", "time [seconds]": the unit defaults to seconds.
IN_SECONDS = re.compile(r"\s*[(\[]\s*s(ec(ond)?s?)?\s*[)\]]$")
# Squares of larger numbers overflow when summed.
LARGEST = 1e100


@dataclass(frozen=True)
class Wanted:
    """The requested part of a file.

    Attributes:
        column: a name, a number from 1, or A/B for the ratio of two; None: the only column.
        time: the column with the time; None: one with a usual name, if there is one.
        first: first sample.
        last: the sample after the last one.
    """

    column: str | None = None
    time: str | None = None
    first: int = 0
    last: int | None = None
    most: int = MOST_SAMPLES

    @property
    def rows(self) -> int:
        """Number of rows to read, one above the limit: if that one exists, there are too many."""
        end = self.first + self.most + 1
        return end if self.last is None else min(self.last, end)


@dataclass(frozen=True)
class Series:
    """A series.

    Attributes:
        values: (n,) finite.
        interval_s: time between samples, None if unknown.
        notes: remarks, a line each.
    """

    values: FloatArray
    name: str
    interval_s: float | None = None
    notes: tuple[str, ...] = ()


def columns_of(names: Sequence[str], wanted: Wanted, where: str) -> tuple[list[int], int | None]:
    """Return the positions of the one or two requested columns, and of the time, if there is one.

    Raises:
        UsageError: a column is missing, or there are several and none was named.
    """
    if wanted.time in (None, "none"):
        time = time_among(names) if wanted.time is None else None
    else:
        time = position(names, str(wanted.time), where)
    if wanted.column is None:
        others = [at for at in range(len(names)) if at != time]
        if len(others) == 1:
            return others, time
        if not others and time is not None:
            return [time], None
        raise UsageError(f"{where} has {len(others)} columns: name one with --column ({listed(names, others)})")
    return [position(names, part, where) for part in _ratio(names, wanted.column)], time


def _ratio(names: Sequence[str], column: str) -> tuple[str, ...]:
    """Split A/B into A and B, or return the single column; perf's event names also contain slashes."""
    if column in names or "/" not in column:
        return (column,)
    halves = [(column[:at], column[at + 1 :]) for at, sign in enumerate(column) if sign == "/"]
    return next((pair for pair in halves if pair[0] in names and pair[1] in names), halves[0])


def position(names: Sequence[str], name: str, where: str) -> int:
    """Return the position of a column by its name, its number from 1, or another name of its counter."""
    if name in names:
        return list(names).index(name)
    if re.fullmatch("[0-9]{1,9}", name) and 1 <= int(name) <= len(names):
        return int(name) - 1
    called = canonical_names(names)
    wanted = canonical(name) or name
    if wanted in called:
        return called.index(wanted)
    raise UsageError(f"{where} has no column {name!r}: there are {listed(names, range(len(names)))}")


def time_among(names: Sequence[str]) -> int | None:
    """Return the position of the column with the time, if one has a usual name."""
    usual = [at for at, name in enumerate(names) if plain_time(name) in TIME_NAMES]
    return usual[0] if usual and len(names) > 1 else None


def plain_time(name: str) -> str:
    """Return the normalised name of a time column: `time` for `Time (seconds)`."""
    return IN_SECONDS.sub("", name.strip().lower())


def listed(names: Sequence[str], positions: Sequence[int]) -> str:
    """Format names for a message, at most a line of them."""
    some = [shown(names[at]) for at in list(positions)[:SHOWN]]
    return ", ".join(some + ["..."] * (len(positions) > SHOWN))


def shown(name: str) -> str:
    """Return a name as shown in messages and reports."""
    return printable(name[:LONGEST_NAME]) + "..." * (len(name) > LONGEST_NAME)


def series_from(
    columns: Sequence[FloatArray], time: FloatArray | None, name: str, where: str, wanted: Wanted
) -> Series:
    """Return a series from one column, or the ratio of two, after checking every number of it.

    Raises: as `read_series`.
    """
    name = shown(name)
    values = np.ascontiguousarray(columns[0], dtype=np.float64)
    if len(columns) == 2:
        with np.errstate(all="ignore"):  # values that are not finite are reported below
            values = values / columns[1]
    if len(values) > wanted.most:
        raise UsageError(
            f"{where} holds more than {wanted.most} samples: take a part with --range A:B, or raise --most"
        )
    if not len(values):
        raise NoDataError(f"{where}: no sample" + (" in that range" if wanted.first or wanted.last else ""))
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise NoDataError(
            f"{where}: sample {wanted.first + row + 1} of {name} is {values[row]:g}, and {int((~finite).sum())} in all "
            "are not finite: repair them, or take a part with --range A:B"
        )
    if (large := np.abs(values) > LARGEST).any():
        row = int(np.argmax(large))
        raise NoDataError(f"{where}: sample {wanted.first + row + 1} of {name} is {values[row]:g}: too large a number")
    interval, notes = (None, ()) if time is None else _spacing(time, where, wanted)
    return Series(values, name, interval, notes)


def _spacing(time: FloatArray, where: str, wanted: Wanted) -> tuple[float | None, tuple[str, ...]]:
    """Return the time between samples, and a note if it varies."""
    if not np.isfinite(time).all():
        row = int(np.argmin(np.isfinite(time))) + 1
        raise NoDataError(f"{where}: the time of sample {wanted.first + row} is {time[row - 1]:g}")
    if (large := np.abs(time) > LARGEST).any():
        row = int(np.argmax(large))
        raise NoDataError(f"{where}: the time of sample {wanted.first + row + 1} is {time[row]:g}: too large a number")
    steps = np.diff(time)
    if not len(steps):
        return None, ()
    if (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 1
        raise NoDataError(
            f"{where}: time does not increase: sample {wanted.first + row + 1} is at {time[row]:g} after "
            f"{time[row - 1]:g}: sort the samples, or take --time none"
        )
    interval = float(np.median(steps))
    odd = int((np.abs(steps - interval) > interval / 2).sum())
    note = f"{where}: {odd} of {len(steps)} samples do not follow after {interval:g} s: taken as if they did"
    return interval, (note,) if odd else ()


def cannot_read(path: str, what: str, error: Exception) -> IncprofError:
    """Return the error for a file that is not of the type that its name implies."""
    return NoDataError(
        f"{path}: not {what}: {str(error).splitlines()[0][:120] if str(error) else type(error).__name__}"
    )
