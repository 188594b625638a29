"""The events of a lane, decoded block by block."""

from __future__ import annotations

from collections.abc import Iterator

from incprof.systems.mpi.read.call_records import BadRecordError, Cursor, Tables, parse_call, parse_members
from incprof.systems.mpi.trace_types import Call, MpiEvent, MpiObject, Site, Stretch

(EXPECTED, KNOWN, KNOWN_WORK, NEW_SHAPE, FORGET, THREAD, FUNCTION, MODULE, SITE, OBJECT, LOST) = range(1, 12)
STEADY, MORE = 0x80, 0x7F
MOST_SHAPES = 16384
FINEST_BITS, COARSEST_BITS, MEAN_SHIFT = 9, 9, 3
KINDS = ("comm", "window", "file")
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


class Lane:
    """Decodes one lane. latest_ns: the end of its last event; lost: number of lost events."""

    def __init__(self, number: int):
        self.number = number
        self.thread = 0
        self.lost = self.events = 0
        self.latest_ns = 0
        self.tables = Tables()
        self._shapes: list[Shape] = []
        self._last: Shape | None = None
        self._end_ns = 0

    def decode(self, payload: bytes) -> Iterator[MpiEvent]:
        """Yield the events of a block.

        Raises: BadRecordError for invalid bytes; the rest of the lane is unusable then.
        """
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

    def _steady(self, cursor: Cursor, duration: int) -> MpiEvent:
        """Return an event of the expected shape, whose work is its gap."""
        if duration == MORE:
            duration += cursor.number()
        return self._timed(self._expected(), duration, cursor.number(), cursor=None)

    def _event(self, cursor: Cursor, first: int) -> MpiEvent:
        shape = self._shape(cursor, first)
        duration, gap = cursor.number(), cursor.number()
        return self._timed(shape, duration, gap, None if first == KNOWN else cursor)

    def _expected(self) -> Shape:
        if self._last is None or self._last.follower is None:
            raise BadRecordError("an event that follows nothing")
        return self._last.follower

    def _shape(self, cursor: Cursor, first: int) -> Shape:
        if first == EXPECTED:
            return self._expected()
        if first != NEW_SHAPE:
            number = cursor.number()
            if number >= len(self._shapes):
                raise BadRecordError("an event of no shape")
            return self._shapes[number]
        length = cursor.count()
        if len(self._shapes) >= MOST_SHAPES:
            raise BadRecordError("too many shapes")
        shape = Shape(cursor.data[cursor.at : cursor.at + length])
        cursor.at += length
        self._shapes.append(shape)
        return shape

    def _timed(self, shape: Shape, duration: int, gap: int, cursor: Cursor | None) -> MpiEvent:
        """Return an event with its times. cursor: where its work follows; None if it equals its gap."""
        if shape.call is None:
            shape.call = parse_call(shape.key, self.tables)
        quantum, long_quantum = _quantum(shape.gap), _quantum(shape.duration)
        gap_ns = max(shape.gap + ((gap >> 1 ^ -(gap & 1)) << quantum), 0)
        duration_ns = max(shape.duration + ((duration >> 1 ^ -(duration & 1)) << long_quantum), 0)
        start_ns = self._end_ns + gap_ns
        end_ns = start_ns + duration_ns
        if end_ns >= LONGEST_NS:
            raise BadRecordError("a time that is none")
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
        return MpiEvent(self.number, self.thread, shape.call, start_ns, end_ns, work_ns)

    def note(self, cursor: Cursor, record: int) -> None:
        """Apply a record that is not an event."""
        tables = self.tables
        if record == FORGET:
            self.forget()
        elif record == THREAD:
            self.thread = cursor.number()
            self.another_thread()
        elif record == FUNCTION:
            number = cursor.number()
            tables.functions[number] = (cursor.text(), cursor.text())
        elif record == MODULE:
            tables.modules.append((cursor.text(), cursor.text() or None))
        elif record == SITE:
            self._note_site(cursor)
        elif record == OBJECT:
            self._note_object(cursor)
        elif record == LOST:
            self.lost += cursor.number()
            cursor.number()
        else:
            raise BadRecordError("a record of no kind")

    def _note_site(self, cursor: Cursor) -> None:
        number, address = cursor.number(), cursor.number()
        modules = self.tables.modules
        if number > len(modules):
            raise BadRecordError("a call site in no module")
        module, build_id = modules[number - 1] if number else ("", None)
        self.tables.sites.append(Site(module, build_id, address))

    def _note_object(self, cursor: Cursor) -> None:
        """Read an object; if its number is reused, the calls of shapes are invalidated."""
        number, kind, rank, size = (cursor.number() for _ in range(4))
        if kind >= len(KINDS):
            raise BadRecordError("an object of no kind")
        members = tuple(Stretch(*part) for part in parse_members(cursor))
        remote = tuple(Stretch(*part) for part in parse_members(cursor))
        known = number in self.tables.objects
        self.tables.objects[number] = MpiObject(number, KINDS[kind], rank, size, members, remote, cursor.text())
        if known:
            self.ask_again()

    def forget(self) -> None:
        """Discard all shapes."""
        self._shapes, self._last = [], None

    def another_thread(self) -> None:
        """Reset times to 0."""
        self._end_ns, self._last = 0, None

    def ask_again(self) -> None:
        """Invalidate the calls of shapes, which may change from here on."""
        for shape in self._shapes:
            shape.call = None
