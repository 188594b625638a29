"""Behaviours too short for a phase, in words."""

from __future__ import annotations

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.phases.clustering import ShortStretch
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import count, duration, percent
from incprof.report.words.phase_names import names_of

NAME_ROOM = 40


def short_lines(result: PhaseResult, most: int) -> list[str]:
    """Describe the behaviours too short for a phase, a line each: that many of the longest, in order of time."""
    longest = sorted(result.short, key=lambda one: -one.intervals)[:most]
    names = names_of(result)
    lines = [_line(result, one, names) for one in result.short if one in longest]
    if len(result.short) > most:
        lines.append(f"and {len(result.short) - most} more")
    return lines


def times_of(result: PhaseResult, short: ShortStretch) -> list[tuple[float, float]]:
    """Return start and end of each occurrence, in seconds."""
    return [
        (float(result.end_s[first - 1]) if first else 0.0, float(result.end_s[end - 1])) for first, end in short.spans
    ]


def name_of(short: ShortStretch, names: Names, room: int = NAME_ROOM) -> str:
    """Return the name of its main function, shortened to `room` columns."""
    return "time outside of the program" if short.function is None else names(short.function, room)


def _line(result: PhaseResult, short: ShortStretch, names: Names) -> str:
    """Return its function, times, and share of the run."""
    times = times_of(result, short)
    begin, end = times[0]
    part = sum(until - since for since, until in times) / max(float(result.end_s[-1]), 1e-9)
    again = f", {count(len(short.spans), 'time')}" if len(short.spans) > 1 else ""
    return (
        f"{name_of(short, names)} ({percent(short.share)} of it) from {duration(begin)} to {duration(end)}{again}, "
        f"{percent(part)} of the run"
    )
