"""Speedscope's files, folded stacks, and slices of a track converted to samples of stacks."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign.foreign_files import document, lines_of, series_of, understood
from incprof.readers.foreign.frames import frame_of
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline, place_series, regular_edges

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


def _imported(document: dict[str, Any], path: str, rate_hz: float) -> Imported:
    frames = [_frame(each) for each in document["shared"]["frames"]]
    timeline = Timeline(_program(document), Paths(), EVENT_S)
    notes: list[str] = []
    ticks: list[float] = []
    for thread, profile in enumerate(document["profiles"]):
        unit = UNITS.get(profile["unit"])
        if unit is None and (profile["unit"] != "none" or profile["type"] != "sampled"):
            raise NoDataError(f"{path}: its weights are {str(profile['unit'])[:40]!r}, no times")
        if unit is None:
            unit = 1 / rate_hz
            notes = [f"weights are numbers of samples, of {unit:g} s each (--rate)"]
        ticks += _add(timeline, profile, frames, unit, thread)
    if not len(timeline):
        raise NoDataError(f"{path}: no sample in it")
    begins = [float(profile.get("startValue") or 0) for profile in document["profiles"] if profile["type"] == "sampled"]
    if len(begins) > 1 and not any(begins):
        notes.append(f"the start times of {len(begins)} threads are missing: assuming that they began together")
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


def _program(document: dict[str, Any]) -> str:
    """Return the file's name for the program."""
    name, exporter = document.get("name"), str(document.get("exporter") or "")
    return name if isinstance(name, str) and name and not exporter.startswith("py-spy") else "python"


def _common_tick(seconds: Sequence[float]) -> float:
    """Return the greatest common divisor of times, if it is long enough for a sample; else their typical value."""
    microseconds = [round(each * 1e6) for each in seconds if each > 0]
    together = math.gcd(*microseconds) * 1e-6 if microseconds else 0.0
    if together >= LEAST_S:
        return min(together, MOST_S)
    usual = sorted(seconds)[len(seconds) // 2] if seconds else 0.0
    return min(max(usual, EVENT_S), MOST_S)


# Folded stacks, a file for each interval: `main;solve;dot 123`, a line for each stack, with its samples.


FOLDED_HZ, DEFAULT_INTERVAL_S = 100.0, 1.0
KERNEL = "_[k]"


def read_folded(inputs: Sequence[str], interval_s: float | None, rate_hz: float | None) -> Imported:
    """Read a series as a timeline: each file is an interval.

    interval_s: length of each interval. rate_hz: samples per second of CPU time.

    Raises: NoDataError if none of the files contains a stack.
    """
    files, length, tick = series_of(inputs), interval_s or DEFAULT_INTERVAL_S, 1 / (rate_hz or FOLDED_HZ)
    timeline = Timeline("app", Paths(), tick, edges_s=regular_edges(len(files), length), ordered=False)
    bad = 0
    for number, path in enumerate(files):
        count: dict[tuple[int, str], float] = {}
        with lines_of(path) as lines:
            for line in lines:
                stack = _stack(line)
                if stack is None:
                    bad += bool(line.strip()) and not line.startswith("#")
                    continue
                place = timeline.paths.add([f for name in stack[0] if (f := frame_of(name)) is not None])
                count[place] = count.get(place, 0.0) + stack[1]
        stacks = [(node, library, samples * tick) for (node, library), samples in sorted(count.items())]
        place_series(timeline, stacks, number * length, (number + 1) * length)
    if not len(timeline):
        raise NoDataError(f"{files[0]}: contains no line of folded stacks, such as main;solve 12")
    notes = [f"a file represents {length:g} s (-i), a sample {tick:g} s (--rate)"]
    if bad:
        notes.append(f"{bad} lines are not stacks and were left out")
    return Imported("folded-intervals", [timeline], notes, bad > 0)


def _stack(line: str) -> tuple[list[str], float] | None:
    """Return the frames of a line, outermost first, and its samples; the frames may be missing, as in py-spy's."""
    stack, gap, count = line.rstrip().rpartition(" ")
    try:
        samples = float(count) if count[:1].isdigit() and len(count) < 20 else -1.0
    except ValueError:
        samples = -1.0
    if not gap or not 0 <= samples < 1e15:
        return None
    names = [name.strip().removesuffix(KERNEL) for name in stack.split(";")]
    return [name for name in names if name and name != "[unknown]"], samples


# Slices of a track, functions with a beginning and an end, converted to samples of the stacks that they form.


# Default tick, seconds: no interval needs a finer one.
EVENT_S = 1e-3
# Time of deeper frames counts for the frame at this depth.
DEEPEST = 1024
# Number of rows converted from columns at a time.
PART = 1 << 16
NO_NAME, ALL = -1, float("nan")


@dataclass
class _Open:
    """An open slice.

    Attributes:
        own_s: its CPU time minus that of slices inside it.
        pieces: times in which no inner slice ran.
    """

    stack: int
    end: float
    own_s: float
    pieces: list[tuple[float, float]] = field(default_factory=list)


class Slices:
    """Slices of a track in columns, in any order; frames are numbers."""

    def __init__(self) -> None:
        self._begin, self._duration, self._used = array("d"), array("d"), array("d")
        self._frame = array("q")
        self._edges: list[tuple[float, bool, int]] = []

    def add(self, begin_s: float, lasts_s: float, used_s: float, frame: int) -> None:
        """Add a slice. used_s: its CPU time, or ALL."""
        self._begin.append(begin_s)
        self._duration.append(max(lasts_s, 0.0))
        self._used.append(used_s)
        self._frame.append(frame)

    def edge(self, time_s: float, begins: bool, frame: int) -> None:
        """Add the beginning or the end of a slice; an end may be UNNAMED."""
        self._edges.append((time_s, begins, frame))

    def place(self, timeline: Timeline, frames: Sequence[Frame], thread: int) -> None:
        """Add the time that each slice spends outside its inner slices, spread over the gaps between these."""
        self._pair()
        stacks, inside = _Stacks(timeline.paths, frames), list[_Open]()
        now = 0.0
        for begin, duration, used, frame in self._in_order():
            end = begin + duration
            now = _leave(inside, begin, now, timeline, stacks, thread)
            while inside and inside[-1].end - begin < duration / 2:  # it comes after that slice, whose end was rounded
                inside[-1].end = begin
                now = _leave(inside, begin, now, timeline, stacks, thread)
            if inside:
                inside[-1].pieces.append((now, begin))
                inside[-1].own_s -= used
                end = min(end, inside[-1].end)
            inside.append(_Open(stacks.pushed(inside[-1].stack if inside else 0, frame), end, used))
            now = max(now, begin)
        _leave(inside, float("inf"), now, timeline, stacks, thread)

    def _pair(self) -> None:
        """Pair the edges into slices: an end closes the innermost slice of its name, and all slices inside it.

        An end without a name closes the innermost slice. A slice without an end lasts to the last edge.
        """
        inside, many = list[int](), Counter[int]()
        time = 0.0
        for time, begins, frame in sorted(self._edges, key=lambda edge: edge[0]):
            if begins:
                inside.append(len(self._begin))
                many[frame] += 1
                self.add(time, 0.0, ALL, frame)
            is_open = bool(inside) and not begins and (frame == NO_NAME or many[frame] > 0)
            while is_open:
                row = inside.pop()
                many[self._frame[row]] -= 1
                self._duration[row] = time - self._begin[row]
                is_open = frame not in (NO_NAME, self._frame[row])
        for row in inside:
            self._duration[row] = time - self._begin[row]
        self._edges.clear()

    def _in_order(self) -> Iterator[tuple[float, float, float, int]]:
        """Yield begin, duration, CPU time and frame, an outer slice before those inside it."""
        begin, duration, used = (
            np.frombuffer(each, dtype=np.float64) for each in (self._begin, self._duration, self._used)
        )
        frame = np.frombuffer(self._frame, dtype=np.int64)
        used = np.where(np.isnan(used), duration, used)
        order = np.lexsort((-duration, begin))
        for at in range(0, len(order), PART):
            rows = order[at : at + PART]
            yield from zip(*(each[rows].tolist() for each in (begin, duration, used, frame)), strict=True)


def _leave(
    inside: list[_Open], until: float, now: float, timeline: Timeline, stacks: _Stacks, thread: int
) -> float:  # fmt: skip
    """Close the slices that end by `until`. now: time up to which time has been assigned; return its new value."""
    while inside and inside[-1].end <= until:
        one = inside.pop()
        one.pieces.append((now, one.end))
        now = max(now, one.end)
        pieces = [(begin, end) for begin, end in one.pieces if end > begin]
        wall = sum(end - begin for begin, end in pieces)
        if one.own_s > 0:
            place = stacks.place(one.stack)
            for begin, end in pieces:
                timeline.add_at(*place, end, one.own_s * (end - begin) / wall, wall_s=end - begin, thread=thread)
    return now


class _Stacks:
    """Stacks as numbers; 0 is the empty one."""

    def __init__(self, paths: Paths, frames: Sequence[Frame]):
        self._paths, self._frames = paths, frames
        self._place_of: dict[tuple[int, int], int] = {}
        self._rows: list[tuple[int, int, int]] = [(0, 0, 0)]
        self._places: dict[int, tuple[int, str]] = {}

    def pushed(self, stack: int, frame: int) -> int:
        """Return the stack with one more frame."""
        depth = self._rows[stack][2] + 1
        if depth > DEEPEST:
            return stack
        number = self._place_of.setdefault((stack, frame), len(self._rows))
        if number == len(self._rows):
            self._rows.append((stack, frame, depth))
        return number

    def place(self, stack: int) -> tuple[int, str]:
        """Return the node of a stack, and its library."""
        if stack not in self._places:
            frames, at = list[Frame](), stack
            while at:
                at, frame, _ = self._rows[at]
                frames.append(self._frames[frame])
            self._places[stack] = self._paths.add(frames[::-1])
        return self._places[stack]
