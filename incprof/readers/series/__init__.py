"""Series of numbers at equal distances in time, from columns of a file (docs/use/periods.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import FloatArray
from incprof.model.series import canonical, canonical_names
from incprof.safe.inputs import open_input
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
class SeriesRequest:
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


def columns_of(names: Sequence[str], request: SeriesRequest, where: str) -> tuple[list[int], int | None]:
    """Return the positions of the one or two requested columns, and of the time, if there is one.

    Raises:
        UsageError: a column is missing, or there are several and none was named.
    """
    if request.time in (None, "none"):
        time = time_among(names) if request.time is None else None
    else:
        time = position(names, str(request.time), where)
    if request.column is None:
        others = [at for at in range(len(names)) if at != time]
        if len(others) == 1:
            return others, time
        if not others and time is not None:
            return [time], None
        raise UsageError(f"{where} has {len(others)} columns: name one with --column ({listed(names, others)})")
    return [position(names, part, where) for part in _ratio(names, request.column)], time


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
    canonical_name = canonical(name) or name
    if canonical_name in called:
        return called.index(canonical_name)
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
    columns: Sequence[FloatArray], time: FloatArray | None, name: str, where: str, request: SeriesRequest
) -> Series:
    """Return a series from one column, or the ratio of two, after checking every number of it.

    Raises: as `read_series`.
    """
    name = shown(name)
    values = np.ascontiguousarray(columns[0], dtype=np.float64)
    if len(columns) == 2:
        with np.errstate(all="ignore"):  # values that are not finite are reported below
            values = values / columns[1]
    if len(values) > request.most:
        raise UsageError(
            f"{where} holds more than {request.most} samples: take a part with --range A:B, or raise --most"
        )
    if not len(values):
        raise NoDataError(f"{where}: no sample" + (" in that range" if request.first or request.last else ""))
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise NoDataError(
            f"{where}: sample {request.first + row + 1} of {name} is {values[row]:g}, and "
            f"{int((~finite).sum())} in all "
            "are not finite: repair them, or take a part with --range A:B"
        )
    if (large := np.abs(values) > LARGEST).any():
        row = int(np.argmax(large))
        raise NoDataError(f"{where}: sample {request.first + row + 1} of {name} is {values[row]:g}: too large a number")
    interval, notes = (None, ()) if time is None else _spacing(time, where, request)
    return Series(values, name, interval, notes)


def _spacing(time: FloatArray, where: str, request: SeriesRequest) -> tuple[float | None, tuple[str, ...]]:
    """Return the time between samples, and a note if it varies."""
    if not np.isfinite(time).all():
        row = int(np.argmin(np.isfinite(time))) + 1
        raise NoDataError(f"{where}: the time of sample {request.first + row} is {time[row - 1]:g}")
    if (large := np.abs(time) > LARGEST).any():
        row = int(np.argmax(large))
        raise NoDataError(f"{where}: the time of sample {request.first + row + 1} is {time[row]:g}: too large a number")
    steps = np.diff(time)
    if not len(steps):
        return None, ()
    if (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 1
        raise NoDataError(
            f"{where}: time does not increase: sample {request.first + row + 1} is at {time[row]:g} after "
            f"{time[row - 1]:g}: sort the samples, or take --time none"
        )
    interval = float(np.median(steps))
    irregular = int((np.abs(steps - interval) > interval / 2).sum())
    count = f"{irregular} of {len(steps)} samples"
    note = f"{where}: {count} are not {interval:g} s after the one before: treated as if they were"
    return interval, (note,) if irregular else ()


def cannot_read(path: str, what: str, error: Exception) -> IncprofError:
    """Return the error for a file that is not of the type that its name implies."""
    return NoDataError(
        f"{path}: not {what}: {printable(str(error).splitlines()[0])[:120] if str(error) else type(error).__name__}"
    )


@contextmanager
def parquet_file(path: str) -> Iterator[Any]:
    """Yield an open Parquet file.

    Raises:
        NoDataError: it is no Parquet file, or what is read of it is damaged or too large.
        IncprofError: pyarrow is not installed.
        OSError: it cannot be read.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise IncprofError(f"{path} needs pyarrow: pip install 'incprof[parquet]'") from None
    try:
        with open_input(path) as raw, parquet.ParquetFile(raw) as file:
            yield file
    except (ValueError, MemoryError, OverflowError, pyarrow.ArrowException) as error:
        raise cannot_read(path, "a Parquet file", error) from None


# Series from `perf stat -I MS`, as text or with -x: one event, or the ratio of two.


UNAVAILABLE = re.compile(r"<not (counted|supported)>")
COMMAS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
POINTS = re.compile(r"\d{1,3}(\.\d{3}){2,}(,\d+)?|\d{1,3}(\.\d{3})+,\d+")
UNITS = "msec|usec|nsec|ms|us|ns|Joules|[KMGT]iB|[Bb]ytes|MHz|GHz|C|%|Watts"
TEXT = re.compile(
    rf"\s*(?P<time>\d+\.\d{{3,9}})\s+(?P<count><not \w+>|[\d.,]+)\s+(?:(?:{UNITS})\s+)?(?P<event>[A-Za-z]\S*)"
)
SEPARATED = re.compile(r"\s*(?P<time>\d+\.\d{9})(?P<sign>[,;:|\t])(?P<count><not \w+>|[\d.]*)(?P=sign)(?P<rest>.*)")

# perf prints memory controllers' counts of cache lines in MiB.
IN_MIB, LINES_IN_MIB = re.compile(r"\d[,;:|\t ]+MiB[,;:|\t ]"), 2**20 // 64

# Most lines of one interval.
MOST_EVENTS = 4096


@dataclass
class Event:
    """Counts of an event: the time of each line, and the number, NaN where it was not counted."""

    time: list[float] = field(default_factory=list)
    count: list[float] = field(default_factory=list)
    why: set[str] = field(default_factory=set)


def is_perf(line: str) -> bool:
    """Return whether a line is output of perf stat -I, in either format."""
    match = TEXT.match(line)
    return _separated(line) is not None or (match is not None and "," not in line.split()[0])


def read_perf(lines: Iterable[str], where: str, request: SeriesRequest) -> Series:
    """Read the event that --column names, or the ratio of two.

    Raises: as read_series; NoDataError also if an event was not counted.
    """
    events: dict[str, Event] = {}
    for line in lines:
        parsed = _parsed(line)
        if parsed is None:
            continue
        time, count, name = parsed
        event = events.setdefault(name, Event())
        event.time.append(time)
        if missing := UNAVAILABLE.match(count):
            event.why.add(missing[1])
        event.count.append(_number_of(count))
        if len(event.count) >= request.rows:
            break
    names = list(events)
    selected, _ = columns_of(names, SeriesRequest(column=request.column), where)
    for at in selected:
        _refuse_uncounted(events[names[at]], names[at], where)
    lengths = {len(events[names[at]].count) for at in selected}
    part = slice(request.first, min(min(lengths), request.rows))
    columns = [np.array(events[names[at]].count[part]) for at in selected]
    time_s = None if request.time == "none" else np.array(events[names[selected[0]]].time[part])
    return series_from(columns, time_s, "/".join(names[at] for at in selected), where, request)


def counts_by_event(lines: Iterable[str]) -> tuple[list[str], FloatArray, FloatArray]:
    """Read all events: their names, the times (r,), and the counts, (r, m), NaN where there is none.

    Several lines of one time and event, for processors or sockets, are added up. MiB become cache lines.
    """
    rows: dict[float, dict[str, float]] = {}
    names: dict[str, int] = {}
    for line in lines:
        if (parsed := _parsed(line)) is not None:
            time, text, name = parsed
            names.setdefault(name, len(names))
            row, count = rows.setdefault(time, {}), _number_of(text) * (LINES_IN_MIB if IN_MIB.search(line) else 1)
            measured = [each for each in (row.get(name, np.nan), count) if each == each]
            row[name] = sum(measured) if measured else np.nan
    values = np.full((len(rows), len(names)), np.nan)
    for at, row in enumerate(rows.values()):
        for name, count in row.items():
            values[at, names[name]] = count
    return list(names), np.array(list(rows)), values


class PerfRows:
    """The values of an event, or of the ratio of two, as lines of perf arrive.

    The lines of the first interval determine the events; they are kept until it is over.
    """

    def __init__(self, where: str, request: SeriesRequest):
        self.where, self.request = where, request
        self.name = ""
        self._first: list[tuple[float, str, str]] = []
        self._events: list[str] = []
        self._time = 0.0
        self._counted: dict[str, float] = {}

    def values(self, line: str) -> list[float]:
        """Return the values that a line completes, NaN where an event was not counted.

        Raises: as read_series.
        """
        parsed = _parsed(line)
        if parsed is None:
            return []
        if self._events:
            return self._value(*parsed)
        begun = []
        if len(self._first) >= MOST_EVENTS or (self._first and parsed[0] != self._first[0][0]):
            begun = self.remaining()
        if self._events:
            return begun + self._value(*parsed)
        self._first.append(parsed)
        return []

    def remaining(self) -> list[float]:
        """Return the value of the first interval, if it was not returned yet: that interval is over."""
        if self._events or not self._first:
            return []
        names = list(dict.fromkeys(name for _, _, name in self._first))
        selected, _ = columns_of(names, SeriesRequest(column=self.request.column), self.where)
        self._events = [names[at] for at in selected]
        self.name = "/".join(self._events)
        return [value for parsed in self._first for value in self._value(*parsed)]

    def _value(self, time: float, count: str, name: str) -> list[float]:
        """Return the value of an interval with its last event."""
        if name not in self._events:
            return []
        if time != self._time:
            self._time, self._counted = time, {}
        self._counted[name] = _number_of(count)
        if len(self._counted) < len(set(self._events)):
            return []
        first, last = self._counted[self._events[0]], self._counted[self._events[-1]]
        if len(self._events) == 1:
            return [first]
        return [first / last if last else float("nan")]


def _refuse_uncounted(event: Event, name: str, where: str) -> None:
    """Raise an error for an event that perf could not count, instead of returning a series of zeros."""
    if event.why and np.isnan(event.count).all():
        why = "not supported on the machine that recorded it" if "supported" in event.why else "never counted"
        raise NoDataError(f"{where}: {name} was {why}: take another event with --column")


def _parsed(line: str) -> tuple[float, str, str] | None:
    """Return time, count and event of a line, None if it is not a line of counts."""
    if separated := _separated(line):
        return separated
    match = TEXT.match(line)
    return (float(match["time"]), match["count"], match["event"]) if match else None


def _number_of(text: str) -> float:
    """Parse a number as perf prints it: commas or points between thousands, or a decimal comma; NaN: not counted."""
    if COMMAS.fullmatch(text):
        return float(text.replace(",", ""))
    if POINTS.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    try:
        return float(text.replace(",", "."))
    except ValueError:  # <not counted>
        return float("nan")


def _separated(line: str) -> tuple[float, str, str] | None:
    match = SEPARATED.match(line)
    if not match:
        return None
    fields = match["rest"].split(match["sign"])
    if len(fields) < 2 or not re.match("[A-Za-z]", fields[1]):
        return None
    return float(match["time"]), match["count"], fields[1]
