"""Format the values of a column by the column's unit."""

from __future__ import annotations

from collections.abc import Callable

from incprof.analysis.views.tracks import badge
from incprof.report.words.formatting import decimal_size, duration, elapsed, joules, pct, percent, rate, seconds, size
from incprof.safe.printable import printable

NONE = "-"

FORMATS: dict[str, Callable[[float], str]] = {
    "": rate,
    "number": rate,
    "count": lambda value: str(int(value)),
    "phase": lambda value: badge(int(value)),
    # 1.23 ms; the same up to a minute, then 2 min 5 s; 3.2 s, 2 min 5 s.
    "s": seconds,
    "elapsed": elapsed,
    "duration": duration,
    # A share of 1: "61 %", and "61.3" where the heading has the percent sign.
    "%": percent,
    "percent": pct,
    # Powers of 1024, and of 1000.
    "B": lambda value: size(int(value)),
    "kB": decimal_size,
    "kB/s": lambda value: f"{decimal_size(value)}/s",
    "J": joules,
}


def written(value: object, unit: str) -> str:
    """Return a value formatted for people, without control characters."""
    if value is None:
        return "" if unit == "phase" else NONE
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and unit == "":
        return str(value)
    if isinstance(value, int | float):
        return FORMATS[unit](value) if unit in FORMATS else f"{rate(value)} {unit}"
    if isinstance(value, tuple | list):
        return ", ".join(written(one, unit) for one in value)
    raise TypeError(f"a cell of a table holds {type(value).__name__}")
