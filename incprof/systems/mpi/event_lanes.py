"""The events of a lane, decoded block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incprof.systems.mpi.trace_types import (
    ANY_SOURCE,
    NO_PROCESS,
    ROOT_HERE,
    Call,
    Completion,
    Message,
    MpiEvent,
    MpiObject,
    RankRange,
    Site,
)

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
            raise BadRecordError("a record of an unknown kind")

    def _note_site(self, cursor: Cursor) -> None:
        number, address = cursor.number(), cursor.number()
        modules = self.tables.modules
        if number > len(modules):
            raise BadRecordError("a call site in an unknown module")
        module, build_id = modules[number - 1] if number else ("", None)
        self.tables.sites.append(Site(module, build_id, address))

    def _note_object(self, cursor: Cursor) -> None:
        """Read an object; if its number is reused, the calls of shapes are invalidated."""
        number, kind, rank, size = (cursor.number() for _ in range(4))
        if kind >= len(KINDS):
            raise BadRecordError("an object of an unknown kind")
        members = tuple(RankRange(*part) for part in parse_members(cursor))
        remote = tuple(RankRange(*part) for part in parse_members(cursor))
        is_reused = number in self.tables.objects
        self.tables.objects[number] = MpiObject(number, KINDS[kind], rank, size, members, remote, cursor.text())
        if is_reused:
            self.invalidate_calls()

    def forget(self) -> None:
        """Discard all shapes."""
        self._shapes, self._last = [], None

    def another_thread(self) -> None:
        """Reset times to 0."""
        self._end_ns, self._last = 0, None

    def invalidate_calls(self) -> None:
        """Invalidate the calls of shapes, which may change from here on."""
        for shape in self._shapes:
            shape.call = None


# Calls in the payload of a block: numbers of variable length, and their meaning.


MOST_BITS = 63


class BadRecordError(ValueError):
    """Invalid bytes."""


class Cursor:
    """Reads a payload, never beyond its end.

    Raises (each method): BadRecordError.
    """

    def __init__(self, data: bytes, at: int = 0):
        self.data = data
        self.at = at

    def number(self) -> int:
        """Return an unsigned number (LEB128)."""
        data, at, value, shift = self.data, self.at, 0, 0
        while at < len(data):
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> MOST_BITS + 1:
                    break
                self.at = at
                return value
            shift += 7
            if shift > MOST_BITS:
                break
        raise BadRecordError("a number that does not end")

    def signed(self) -> int:
        """Return a signed number (zigzag)."""
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def count(self, each: int = 1) -> int:
        """Return the number of items that follow, each of at least `each` bytes."""
        value = self.number()
        if value * each > len(self.data) - self.at:
            raise BadRecordError("more than there is")
        return value

    def text(self) -> str:
        """Return a name: its length in bytes, then the bytes."""
        length = self.count()
        self.at += length
        name = self.data[self.at - length : self.at]
        return name.decode("utf-8", "surrogateescape").replace("\0", "\ufffd")


(HAS_OBJECT, PEER, TAG, BYTES, OTHER, ACTUAL, VALUE, MADE, TEMPLATE, STARTED, COMPLETED, NEW, FAILED) = (
    1 << bit for bit in range(13)
)
ALL_FIELDS = (1 << 13) - 1
INSTEAD = (ANY_SOURCE, NO_PROCESS, ROOT_HERE)
MESSAGE, ELSEWHERE = 1, 2
# More requests than any process can have started.
MOST_REQUESTS = 1 << 32


class Tables:
    """Functions, call sites and objects that a lane has defined so far."""

    def __init__(self) -> None:
        self.functions: dict[int, tuple[str, str]] = {}
        self.modules: list[tuple[str, str | None]] = []
        self.sites: list[Site | None] = [None]
        self.objects: dict[int, MpiObject] = {}


def parse_call(key: bytes, tables: Tables) -> Call:
    """Return the call that a shape's bytes encode.

    Raises: BadRecordError.
    """
    cursor = Cursor(key)
    function = cursor.number()
    site, fields = cursor.number(), cursor.number()
    if function not in tables.functions or site >= len(tables.sites) or fields & ~ALL_FIELDS:
        raise BadRecordError("an event of an unknown kind")
    fields_read: dict[str, Any] = {}
    if fields & HAS_OBJECT:
        fields_read["where"] = _object_or_unknown(tables.objects, cursor.number())
    if fields & (PEER | TAG | BYTES):
        fields_read["message"] = _message(cursor, fields)
    for bit, name in ((OTHER, "other"), (ACTUAL, "actual")):
        if fields & bit:
            fields_read[name] = _message(cursor, PEER | TAG | BYTES)
    if fields & VALUE:
        fields_read["value"] = cursor.signed()
    if fields & MADE and (requests := cursor.number()) < MOST_REQUESTS:
        fields_read["made"] = requests
    if fields & TEMPLATE:
        fields_read["template"] = cursor.number()
    unlisted = _lists(cursor, fields, tables, fields_read)
    if fields & NEW:
        fields_read["new"] = _object_or_unknown(tables.objects, cursor.number())
    if cursor.at != len(key):
        raise BadRecordError("an event followed by surplus bytes")
    name, kind = tables.functions[function]
    return Call(name, kind, tables.sites[site], unlisted=unlisted, failed=bool(fields & FAILED), **fields_read)


def _lists(cursor: Cursor, fields: int, tables: Tables, fields_read: dict[str, Any]) -> int:
    """Read the requests that the call has started and completed; return how many are unnamed."""
    unlisted = 0
    if fields & STARTED:
        count, unlisted = cursor.count(), cursor.number()
        fields_read["started"] = tuple(cursor.number() for _ in range(count))
    if fields & COMPLETED:
        count, more = cursor.count(2), cursor.number()
        unlisted += more
        fields_read["completed"] = tuple(_completion(cursor, tables.objects) for _ in range(count))
    return unlisted


def parse_members(cursor: Cursor) -> Sequence[tuple[int, int, int]]:
    """Read the segments of a group's ranks: first, stride, count."""
    return [(cursor.signed(), cursor.signed(), cursor.number()) for _ in range(cursor.count(3))]


def _object_or_unknown(objects: Mapping[int, MpiObject], number: int) -> MpiObject:
    """Return the object of this number; an unknown one if there were too many."""
    return objects.get(number) or MpiObject(number, "comm", 0, 0)


def _message(cursor: Cursor, fields: int) -> Message:
    peer, tag, size = 1, 0, None
    if fields & PEER:
        peer = cursor.number()
    if fields & TAG:
        tag = cursor.number()
    if fields & BYTES:
        size = cursor.number()
    distance = peer - 3 >> 1 ^ -(peer - 3 & 1) if peer >= 3 else 0
    return Message(
        distance, INSTEAD[peer] if peer < 3 else "", None if tag == 0 else (tag - 1) >> 1 ^ -((tag - 1) & 1), size
    )


def _completion(cursor: Cursor, objects: Mapping[int, MpiObject]) -> Completion:
    flags = cursor.number()
    lane = number = age = None
    if flags & ELSEWHERE:
        lane, number = cursor.number(), cursor.number()
    else:
        age = cursor.number()
    if not flags & MESSAGE:
        return Completion(lane, number, age, None, None)
    where = _object_or_unknown(objects, cursor.number())
    return Completion(lane, number, age, _message(cursor, PEER | TAG | BYTES), where)
