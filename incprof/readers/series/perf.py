"""Series from `perf stat -I MS`, as text or with -x: one event, or the ratio of two."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.series.columns import Series, Wanted, columns_of, series_from

UNAVAILABLE = re.compile(r"<not (counted|supported)>")
COMMAS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
POINTS = re.compile(r"\d{1,3}(\.\d{3}){2,}(,\d+)?|\d{1,3}(\.\d{3})+,\d+")
UNITS = "msec|usec|nsec|ms|us|ns|Joules|[KMGT]iB|[Bb]ytes|MHz|GHz|C|%|Watts"
TEXT = re.compile(
    rf"\s*(?P<time>\d+\.\d{{3,9}})\s+(?P<count><not \w+>|[\d.,]+)\s+(?:(?:{UNITS})\s+)?(?P<event>[A-Za-z]\S*)"
)
SEPARATED = re.compile(r"\s*(?P<time>\d+\.\d{9})(?P<sign>[,;:|\t])(?P<count><not \w+>|[\d.]*)(?P=sign)(?P<rest>.*)")

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


def read_perf(lines: Iterable[str], where: str, wanted: Wanted) -> Series:
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
        if len(event.count) >= wanted.rows:
            break
    names = list(events)
    chosen, _ = columns_of(names, Wanted(column=wanted.column), where)
    for at in chosen:
        _refuse_uncounted(events[names[at]], names[at], where)
    lengths = {len(events[names[at]].count) for at in chosen}
    part = slice(wanted.first, min(min(lengths), wanted.rows))
    columns = [np.array(events[names[at]].count[part]) for at in chosen]
    time_s = None if wanted.time == "none" else np.array(events[names[chosen[0]]].time[part])
    return series_from(columns, time_s, "/".join(names[at] for at in chosen), where, wanted)


def counts_by_event(lines: Iterable[str]) -> tuple[list[str], FloatArray, FloatArray]:
    """Read all events: their names, the times (r,), and the counts, (r, m), NaN where there is none.

    Several lines of one time and event, for processors or sockets, are added up.
    """
    rows: dict[float, dict[str, float]] = {}
    names: dict[str, int] = {}
    for line in lines:
        if (parsed := _parsed(line)) is not None:
            time, text, name = parsed
            names.setdefault(name, len(names))
            row, count = rows.setdefault(time, {}), _number_of(text)
            known = [each for each in (row.get(name, np.nan), count) if each == each]
            row[name] = sum(known) if known else np.nan
    values = np.full((len(rows), len(names)), np.nan)
    for at, row in enumerate(rows.values()):
        for name, count in row.items():
            values[at, names[name]] = count
    return list(names), np.array(list(rows)), values


class PerfRows:
    """The values of an event, or of the ratio of two, as lines of perf arrive.

    The lines of the first interval determine the events; they are kept until it is over.
    """

    def __init__(self, where: str, wanted: Wanted):
        self.where, self.wanted = where, wanted
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
            begun = self.rest()
        if self._events:
            return begun + self._value(*parsed)
        self._first.append(parsed)
        return []

    def rest(self) -> list[float]:
        """Return the value of the first interval, if it was not returned yet: that interval is over."""
        if self._events or not self._first:
            return []
        names = list(dict.fromkeys(name for _, _, name in self._first))
        chosen, _ = columns_of(names, Wanted(column=self.wanted.column), self.where)
        self._events = [names[at] for at in chosen]
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
