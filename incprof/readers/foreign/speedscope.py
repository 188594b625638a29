"""Speedscope's files, of which there are two kinds: sampled ones, with the time of each sample, and evented ones."""

from __future__ import annotations

from typing import Any

from incprof.errors import NoDataError
from incprof.readers.foreign.files import document, understood
from incprof.readers.foreign.interpreted import frame_of
from incprof.readers.foreign.spans import EVENT_S, add_stretches, common_tick, stretches
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline

UNITS = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}
DEFAULT_HZ = 100.0
UNNAMED = Frame("", "[unknown]")


def read_speedscope(path: str, rate_hz: float | None) -> Imported:
    """Make a timeline of a file; each of its profiles is a thread.

    rate_hz: samples a second, of a file that only counts them.

    Raises: NoDataError when it is none, or its weights are no times.
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
        notes.append(f"when each of {len(begins)} threads began is not said: they are taken to have begun together")
    timeline.tick_s = common_tick(ticks) if ticks else EVENT_S
    return Imported("speedscope", [timeline], notes)


def _add(
    timeline: Timeline, profile: dict[str, Any], frames: list[Frame | None], unit: float, thread: int
) -> list[float]:
    """Add one profile; returns what its samples stand for."""
    first = float(profile.get("startValue") or 0) * unit
    if profile["type"] == "evented":
        events = [
            (float(event["at"]) * unit, event["type"] == "O", frames[event["frame"]] or UNNAMED)
            for event in profile["events"]
        ]
        events.sort(key=lambda event: event[0])
        add_stretches(timeline, stretches(events), thread)
        return []
    seconds = [float(weight) * unit for weight in profile["weights"]]
    if any(weight < 0 for weight in seconds):
        raise ValueError("negative weights")
    for stack, weight in zip(profile["samples"], seconds, strict=True):
        first += weight
        known = [frame for number in stack if (frame := frames[number]) is not None]
        timeline.add(known, first, weight, wall_s=weight, thread=thread)
    return seconds


def _frame(frame: dict[str, Any]) -> Frame | None:
    line = frame.get("line")
    return frame_of(str(frame["name"]), str(frame.get("file") or ""), line if isinstance(line, int) else 0)


def _program(found: dict[str, Any]) -> str:
    """What the file calls the program."""
    name, exporter = found.get("name"), str(found.get("exporter") or "")
    return name if isinstance(name, str) and name and not exporter.startswith("py-spy") else "python"
