"""Series from `perf stat -I MS`, as text or with -x: one event, or the ratio of two."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.series import Series, Wanted, columns_of, series_from

UNAVAILABLE = re.compile(r"<not (counted|supported)>")
COMMAS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
POINTS = re.compile(r"\d{1,3}(\.\d{3}){2,}(,\d+)?|\d{1,3}(\.\d{3})+,\d+")
UNITS = "msec|usec|nsec|ms|us|ns|Joules|[KMGT]iB|[Bb]ytes|MHz|GHz|C|%|Watts"
TEXT = re.compile(
    rf"\s*(?P<time>\d+\.\d{{3,9}})\s+(?P<count><not \w+>|[\d.,]+)\s+(?:(?:{UNITS})\s+)?(?P<event>[A-Za-z]\S*)"
)
SEPARATED = re.compile(r"\s*(?P<time>\d+\.\d{9})(?P<sign>[,;:|\t])(?P<count><not \w+>|[\d.]*)(?P=sign)(?P<rest>.*)")


@dataclass
class Event:
    """What an event has counted: the time of each line, and the number, NaN where there was none."""

    time: list[float] = field(default_factory=list)
    count: list[float] = field(default_factory=list)
    why: set[str] = field(default_factory=set)


def is_perf(line: str) -> bool:
    """Say whether a line is one of perf stat -I, in either form."""
    match = TEXT.match(line)
    return _separated(line) is not None or (match is not None and "," not in line.split()[0])


def read_perf(lines: Iterable[str], where: str, wanted: Wanted) -> Series:
    """Read an event, of which --column gives the name, or the ratio of two.

    Raises: as read_series; NoDataError also where an event was not counted.
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
        event.count.append(np.nan if missing or not count else _count(count))
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


def perf_value(line: str, event: str | None) -> float | None:
    """Return what one event counted in a line; None for other lines, NaN where it was not counted."""
    parsed = _parsed(line)
    if parsed is None or parsed[2] != event:
        return None
    return float("nan") if UNAVAILABLE.match(parsed[1]) or not parsed[1] else _count(parsed[1])


def _refuse_uncounted(event: Event, name: str, where: str) -> None:
    """Name an event that perf could not count, instead of a series of zeros."""
    if event.why and np.isnan(event.count).all():
        why = "not supported on the machine that recorded it" if "supported" in event.why else "never counted"
        raise NoDataError(f"{where}: {name} was {why}: take another event with --column")


def _parsed(line: str) -> tuple[float, str, str] | None:
    """Return time, count and event of a line, None for one that is none."""
    if separated := _separated(line):
        return separated
    match = TEXT.match(line)
    return (float(match["time"]), match["count"], match["event"]) if match else None


def _count(text: str) -> float:
    """Return a number as perf prints it, with commas or points between thousands, or with a decimal comma."""
    if COMMAS.fullmatch(text):
        return float(text.replace(",", ""))
    if POINTS.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return float("nan")


def _separated(line: str) -> tuple[float, str, str] | None:
    match = SEPARATED.match(line)
    if not match:
        return None
    fields = match["rest"].split(match["sign"])
    if len(fields) < 2 or not re.match("[A-Za-z]", fields[1]):
        return None
    return float(match["time"]), match["count"], fields[1]
