"""Durations, counts and shares for people."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf


def duration(seconds: float) -> str:
    """Return a duration as people say it: 3.2 s, 2 min 5 s, 1 h 2 min."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: int, noun: str) -> str:
    """Return "1 phase", "2 phases"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def plural(noun: str, names: Sequence[str]) -> str:
    """Return "phase 1", "phases 1 and 2", "phases 1, 2 and 4"."""
    *most, last = names
    return f"{noun}s {', '.join(most)} and {last}" if most else f"{noun} {last}"


def percent(part: float) -> str:
    """Return "61 %" for 0.613; what is nearly all or nearly nothing is not rounded to it."""
    digits = 0 if 0.005 <= part < 0.995 or part in (0.0, 1.0) else 2 if part > 0.5 else 1
    return f"{100 * part:.{digits}f} %"


def overhead(pct: float | None) -> str:
    """Return what recording cost: "0.24 %" of the program's CPU time, or why there is no such number.

    None: it was not measured. Infinite: nothing of the CPU time was left to the program.
    """
    if pct is None:
        return "not known"
    if isinf(pct):
        return "more than the program"
    return f"{pct:.2g} %" if pct < 99 else f"{pct:.0f} %"
