"""Speedscope's files, of two kinds: sampled ones, with the time of each sample, and evented ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from incprof.errors import NoDataError
from incprof.readers.foreign.files import document, understood
from incprof.readers.foreign.interpreted import frame_of
from incprof.readers.foreign.slices import EVENT_S, Slices
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline

UNITS = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}
DEFAULT_HZ = 100.0
LEAST_S, MOST_S = 1e-4, 0.1
UNNAMED = Frame("", "[unknown]")


def read_speedscope(path: str, rate_hz: float | None) -> Imported:
    """Read a file as a timeline; each of its profiles is a thread.

    rate_hz: samples per second, for a file that only counts them.

    Raises: NoDataError if it is not such a file, or its weights are not times.
    """
    return understood(path, "speedscope file", lambda: _imported(document(path), path, rate_hz or DEFAULT_HZ))


def _imported(found: dict[str, Any], path: str, rate_hz: float) -> Imported:
    frames = [_frame(each) for each in found["shared"]["frames"]]
    timeline = Timeline(_program(found), Paths(), EVENT_S)
    notes: list[str] = []
    ticks: list[float] = []
    for thread, profile in enumerate(found["profiles"]):
        unit = UNITS.get(profile["unit"])
        if unit is None and (profile["unit"] != "none" or profile["type"] != "sampled"):
            raise NoDataError(f"{path}: its weights are {str(profile['unit'])[:40]!r}, no times")
        if unit is None:
            unit = 1 / rate_hz
            notes = [f"weights are numbers of samples, of {unit:g} s each (--rate)"]
        ticks += _add(timeline, profile, frames, unit, thread)
    if not len(timeline):
        raise NoDataError(f"{path}: no sample in it")
    begins = [float(profile.get("startValue") or 0) for profile in found["profiles"] if profile["type"] == "sampled"]
    if len(begins) > 1 and not any(begins):
        notes.append(f"the start times of {len(begins)} threads are missing: they are taken to have begun together")
    timeline.tick_s = _common_tick(ticks) if ticks else EVENT_S
    return Imported("speedscope", [timeline], notes)


def _add(
    timeline: Timeline, profile: dict[str, Any], frames: list[Frame | None], unit: float, thread: int
) -> list[float]:
    """Add one profile; return the times that its samples stand for."""
    first = float(profile.get("startValue") or 0) * unit
    if profile["type"] == "evented":
        slices = Slices()
        for event in profile["events"]:
            slices.edge(float(event["at"]) * unit, event["type"] == "O", range(len(frames))[event["frame"]])
        slices.place(timeline, [frame or UNNAMED for frame in frames], thread)
        return []
    seconds = [float(weight) * unit for weight in profile["weights"]]
    if any(weight < 0 for weight in seconds):
        raise ValueError("negative weights")
    for stack, weight in zip(profile["samples"], seconds, strict=True):
        first += weight
        timeline.add(
            [frame for number in stack if (frame := frames[number]) is not None],
            first,
            weight,
            wall_s=weight,
            thread=thread,
        )
    return seconds


def _frame(frame: dict[str, Any]) -> Frame | None:
    line = frame.get("line")
    return frame_of(str(frame["name"]), str(frame.get("file") or ""), line if isinstance(line, int) else 0)


def _program(found: dict[str, Any]) -> str:
    """Return the file's name for the program."""
    name, exporter = found.get("name"), str(found.get("exporter") or "")
    return name if isinstance(name, str) and name and not exporter.startswith("py-spy") else "python"


def _common_tick(seconds: Sequence[float]) -> float:
    """Return the greatest common divisor of times, if it is long enough for a sample; else their typical value."""
    whole = [round(each * 1e6) for each in seconds if each > 0]
    together = math.gcd(*whole) * 1e-6 if whole else 0.0
    if together >= LEAST_S:
        return min(together, MOST_S)
    usual = sorted(seconds)[len(seconds) // 2] if seconds else 0.0
    return min(max(usual, EVENT_S), MOST_S)
