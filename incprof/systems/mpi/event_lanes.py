"""The events of a lane, decoded block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incprof.model import IntArray
from incprof.systems.mpi.analyse.mpi_events import EventDecoder, EventPiece
from incprof.systems.mpi.trace_types import (
    ANY_SOURCE,
    NO_PROCESS,
    ROOT_HERE,
    Call,
    Completion,
    Message,
    MpiObject,
    RankRange,
    Site,
)

# Records between events, and the one that defines the shape of an event (analysis/native/mpi_events.c decodes events).
NEW_SHAPE, FORGET, THREAD, FUNCTION, MODULE, SITE, OBJECT, LOST = range(4, 12)
MOST_SHAPES = 16384
KINDS = ("comm", "window", "file")


@dataclass(frozen=True)
class Columns:
    """Consecutive events of a lane, (n,).

    Attributes:
        call: Numbers of their calls.
        start_ns: As in `MpiEvent`.
        end_ns: As in `MpiEvent`.
        work_ns: As in `MpiEvent`.
        lane: Number of the lane.
        thread: Number of the thread.
        first: Index of the first of them in the lane.
    """

    call: IntArray
    start_ns: IntArray
    end_ns: IntArray
    work_ns: IntArray
    lane: int
    thread: int
    first: int


class Lane:
    """Decodes one lane. latest_ns: the end of its last event; lost: number of lost events."""

    def __init__(self, number: int, number_of: Callable[[Call], int]):
        """Begin. number_of: returns the number of a call."""
        self.number = number
        self.thread = 0
        self.lost = self.events = 0
        self.latest_ns = 0
        self.tables = Tables()
        self._decoder, self._number_of = EventDecoder(), number_of
        # Number of each shape's call; -1 if it is unknown, or may have changed.
        self._numbers: IntArray = np.zeros(0, dtype=np.int64)

    def columns(self, payload: bytes) -> Iterator[Columns]:
        """Yield the events of a block, piece by piece.

        Raises: BadRecordError for invalid bytes; the rest of the lane is unusable then.
        """
        at = 0
        while at < len(payload):
            piece = self._decoder.decode(payload, at)
            events, problem = self._called(piece)
            if len(events.call):
                self.events += len(events.call)
                self.latest_ns = max(self.latest_ns, int(events.end_ns[-1]))
                yield events
            if problem is not None:
                raise problem
            at = piece.following
            if at < len(payload):
                at = self._between(payload, at)

    def _between(self, payload: bytes, at: int) -> int:
        """Process the record that stopped the decoder; return where it continues."""
        if payload[at] == NEW_SHAPE:
            if len(self._decoder.keys) >= MOST_SHAPES:
                raise BadRecordError("too many shapes")
            self._decoder.make_room()
            return at
        cursor = Cursor(payload, at + 1)
        self.note(cursor, payload[at])
        return cursor.at

    def _called(self, piece: EventPiece) -> tuple[Columns, BadRecordError | None]:
        """Return events with the numbers of their calls, up to the first invalid one."""
        problem = BadRecordError("an invalid event") if piece.bad else None
        new = len(self._decoder.keys) - len(self._numbers)
        self._numbers = np.concatenate([self._numbers, np.full(new, -1)])
        used, first = np.unique(piece.shape, return_index=True)
        count = len(piece.shape)
        unknown = self._numbers[used] < 0
        for _, shape in sorted(zip(first[unknown].tolist(), used[unknown].tolist(), strict=True)):
            try:
                self._numbers[shape] = self._number_of(parse_call(self._decoder.keys[shape], self.tables))
            except BadRecordError as error:
                count, problem = int(first[used == shape][0]), error
                break
        call = self._numbers[piece.shape[:count]]
        times = (piece.start_ns[:count], piece.end_ns[:count], piece.work_ns[:count])
        return Columns(call, *times, self.number, self.thread, self.events), problem

    def note(self, cursor: Cursor, record: int) -> None:
        """Apply a record that is not an event."""
        tables = self.tables
        if record == FORGET:
            self._decoder.forget()
            self._numbers = self._numbers[:0]
        elif record == THREAD:
            self.thread = cursor.number()
            self._decoder.another_thread()
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
            self._numbers[:] = -1


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
