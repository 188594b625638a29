"""The decoder of a lane in Python, event by event: what the one in C is checked against."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from incprof.systems.mpi.event_lanes import (
    FORGET,
    MOST_SHAPES,
    NEW_SHAPE,
    THREAD,
    BadRecordError,
    Columns,
    Cursor,
    Lane,
    parse_call,
)
from incprof.systems.mpi.trace_types import Call

EXPECTED, KNOWN = 1, 2
STEADY, MORE = 0x80, 0x7F
FINEST_BITS, COARSEST_BITS, MEAN_SHIFT = 9, 9, 3
# Three centuries.
LONGEST_NS = 1 << 63


def _quantum(mean: int) -> int:
    """Return how many low bits of a time are omitted, from its running mean."""
    return min(max(mean.bit_length() - FINEST_BITS, 0), COARSEST_BITS)


class Shape:
    """The bytes of a call, the running means of its times, and the shape that last followed it."""

    __slots__ = ("call", "duration", "follower", "gap", "is_timed", "key")

    def __init__(self, key: bytes):
        self.key = key
        self.call: Call | None = None
        self.follower: Shape | None = None
        self.gap = self.duration = 0
        self.is_timed = False


class ReferenceLane(Lane):
    """Decodes one lane; yields each event by itself."""

    def __init__(self, number: int, number_of: Callable[[Call], int]):
        super().__init__(number, number_of)
        self._shapes: list[Shape] = []
        self._last: Shape | None = None
        self._end_ns = 0

    def columns(self, payload: bytes) -> Iterator[Columns]:
        """Yield the events of a block."""
        cursor = Cursor(payload)
        while cursor.at < len(payload):
            first = payload[cursor.at]
            cursor.at += 1
            if first >= STEADY:
                yield self._steady(cursor, first - STEADY)
            elif EXPECTED <= first <= NEW_SHAPE:
                yield self._event(cursor, first)
            else:
                self.note(cursor, first)

    def _steady(self, cursor: Cursor, duration: int) -> Columns:
        """Return an event of the expected shape, whose work is its gap."""
        if duration == MORE:
            duration += cursor.number()
        return self._timed(self._expected(), duration, cursor.number(), cursor=None)

    def _event(self, cursor: Cursor, first: int) -> Columns:
        shape = self._shape(cursor, first)
        duration, gap = cursor.number(), cursor.number()
        return self._timed(shape, duration, gap, None if first == KNOWN else cursor)

    def _expected(self) -> Shape:
        if self._last is None or self._last.follower is None:
            raise BadRecordError("an event without a predecessor")
        return self._last.follower

    def _shape(self, cursor: Cursor, first: int) -> Shape:
        if first == EXPECTED:
            return self._expected()
        if first != NEW_SHAPE:
            number = cursor.number()
            if number >= len(self._shapes):
                raise BadRecordError("an event of an unknown shape")
            return self._shapes[number]
        length = cursor.count()
        if len(self._shapes) >= MOST_SHAPES:
            raise BadRecordError("too many shapes")
        shape = Shape(cursor.data[cursor.at : cursor.at + length])
        cursor.at += length
        self._shapes.append(shape)
        return shape

    def _timed(self, shape: Shape, duration: int, gap: int, cursor: Cursor | None) -> Columns:
        """Return an event with its times. cursor: where its work follows; None if it equals its gap."""
        if shape.call is None:
            shape.call = parse_call(shape.key, self.tables)
        quantum, long_quantum = _quantum(shape.gap), _quantum(shape.duration)
        gap_ns = max(shape.gap + ((gap >> 1 ^ -(gap & 1)) << quantum), 0)
        duration_ns = max(shape.duration + ((duration >> 1 ^ -(duration & 1)) << long_quantum), 0)
        start_ns = self._end_ns + gap_ns
        end_ns = start_ns + duration_ns
        if end_ns >= LONGEST_NS:
            raise BadRecordError("an invalid time")
        work_ns = gap_ns if cursor is None else min(max(gap_ns - (cursor.signed() << quantum), 0), gap_ns)
        if shape.is_timed:
            shape.gap += (gap_ns - shape.gap) >> MEAN_SHIFT
            shape.duration += (duration_ns - shape.duration) >> MEAN_SHIFT
        else:
            shape.gap, shape.duration, shape.is_timed = gap_ns, duration_ns, True
        if self._last is not None:
            self._last.follower = shape
        self._last, self._end_ns = shape, end_ns
        self.events += 1
        self.latest_ns = max(self.latest_ns, end_ns)
        values = (self._number_of(shape.call), start_ns, end_ns, work_ns)
        columns = (np.array([value], dtype=np.int64) for value in values)
        return Columns(*columns, self.number, self.thread, self.events - 1)

    def note(self, cursor: Cursor, record: int) -> None:
        """Apply a record that is not an event."""
        before = dict(self.tables.objects)
        super().note(cursor, record)
        if record == FORGET:
            self._shapes, self._last = [], None
        elif record == THREAD:
            self._end_ns, self._last = 0, None
        elif any(self.tables.objects[number] is not known for number, known in before.items()):
            for shape in self._shapes:
                shape.call = None
