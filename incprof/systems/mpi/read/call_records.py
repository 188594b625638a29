"""Calls in the payload of a block: numbers of variable length, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incprof.systems.mpi.trace_types import (
    ANY_SOURCE,
    NO_PROCESS,
    ROOT_HERE,
    Call,
    Completion,
    Message,
    MpiObject,
    Site,
)

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


(OBJECT, PEER, TAG, BYTES, OTHER, ACTUAL, VALUE, MADE, TEMPLATE, STARTED, COMPLETED, NEW, FAILED) = (
    1 << bit for bit in range(13)
)
ALL_FIELDS = (1 << 13) - 1
INSTEAD = (ANY_SOURCE, NO_PROCESS, ROOT_HERE)
MESSAGE, ELSEWHERE = 1, 2
# More requests than any process can have started.
MOST_MADE = 1 << 32


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
        raise BadRecordError("an event of nothing that is known")
    found: dict[str, Any] = {}
    if fields & OBJECT:
        found["where"] = _known(tables.objects, cursor.number())
    if fields & (PEER | TAG | BYTES):
        found["message"] = _message(cursor, fields)
    for bit, name in ((OTHER, "other"), (ACTUAL, "actual")):
        if fields & bit:
            found[name] = _message(cursor, PEER | TAG | BYTES)
    if fields & VALUE:
        found["value"] = cursor.signed()
    if fields & MADE and (made := cursor.number()) < MOST_MADE:
        found["made"] = made
    if fields & TEMPLATE:
        found["template"] = cursor.number()
    unlisted = _lists(cursor, fields, tables, found)
    if fields & NEW:
        found["new"] = _known(tables.objects, cursor.number())
    if cursor.at != len(key):
        raise BadRecordError("an event with something behind it")
    name, kind = tables.functions[function]
    return Call(name, kind, tables.sites[site], unlisted=unlisted, failed=bool(fields & FAILED), **found)


def _lists(cursor: Cursor, fields: int, tables: Tables, found: dict[str, Any]) -> int:
    """Read the requests that the call has started and completed; return how many are unnamed."""
    unlisted = 0
    if fields & STARTED:
        count, unlisted = cursor.count(), cursor.number()
        found["started"] = tuple(cursor.number() for _ in range(count))
    if fields & COMPLETED:
        count, more = cursor.count(2), cursor.number()
        unlisted += more
        found["completed"] = tuple(_completion(cursor, tables.objects) for _ in range(count))
    return unlisted


def parse_members(cursor: Cursor) -> Sequence[tuple[int, int, int]]:
    """Read the segments of a group's ranks: first, stride, count."""
    return [(cursor.signed(), cursor.signed(), cursor.number()) for _ in range(cursor.count(3))]


def _known(objects: Mapping[int, MpiObject], number: int) -> MpiObject:
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
    where = _known(objects, cursor.number())
    return Completion(lane, number, age, _message(cursor, PEER | TAG | BYTES), where)
