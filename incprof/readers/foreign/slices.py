"""Slices of a track, functions with a beginning and an end, converted to samples of the stacks that they form."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from incprof.readers.foreign.timeline import Frame, Paths, Timeline

# Default tick, seconds: no interval needs a finer one.
EVENT_S = 1e-3
# Time of deeper frames counts for the frame at this depth.
DEEPEST = 1024
# Number of rows converted from columns at a time.
PART = 1 << 16
UNNAMED, ALL = -1, float("nan")


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
        self._begin, self._lasts, self._used = array("d"), array("d"), array("d")
        self._frame = array("q")
        self._edges: list[tuple[float, bool, int]] = []

    def add(self, begin_s: float, lasts_s: float, used_s: float, frame: int) -> None:
        """Add a slice. used_s: its CPU time, or ALL."""
        self._begin.append(begin_s)
        self._lasts.append(max(lasts_s, 0.0))
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
        for begin, lasts, used, frame in self._in_order():
            end = begin + lasts
            now = _leave(inside, begin, now, timeline, stacks, thread)
            while inside and inside[-1].end - begin < lasts / 2:  # it comes after that slice, whose end was rounded
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
            left = bool(inside) and not begins and (frame == UNNAMED or many[frame] > 0)
            while left:
                row = inside.pop()
                many[self._frame[row]] -= 1
                self._lasts[row] = time - self._begin[row]
                left = frame not in (UNNAMED, self._frame[row])
        for row in inside:
            self._lasts[row] = time - self._begin[row]
        self._edges.clear()

    def _in_order(self) -> Iterator[tuple[float, float, float, int]]:
        """Yield begin, duration, CPU time and frame, an outer slice before those inside it."""
        begin, lasts, used = (np.frombuffer(each, dtype=np.float64) for each in (self._begin, self._lasts, self._used))
        frame = np.frombuffer(self._frame, dtype=np.int64)
        used = np.where(np.isnan(used), lasts, used)
        order = np.lexsort((-lasts, begin))
        for at in range(0, len(order), PART):
            rows = order[at : at + PART]
            yield from zip(*(each[rows].tolist() for each in (begin, lasts, used, frame)), strict=True)


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
        self._known: dict[tuple[int, int], int] = {}
        self._rows: list[tuple[int, int, int]] = [(0, 0, 0)]
        self._places: dict[int, tuple[int, str]] = {}

    def pushed(self, stack: int, frame: int) -> int:
        """Return the stack with one more frame."""
        depth = self._rows[stack][2] + 1
        if depth > DEEPEST:
            return stack
        number = self._known.setdefault((stack, frame), len(self._rows))
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
