"""What an event is but its times, from the bytes that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incprof.model.mpi import ANY_SOURCE, NO_PROCESS, ROOT_HERE, Call, Completion, Message, MpiObject, Site
from incprof.readers.trace.numbers import BadRecordError, Cursor

(OBJECT, PEER, TAG, BYTES, OTHER, ACTUAL, VALUE, MADE, TEMPLATE, STARTED, COMPLETED, NEW, FAILED) = (
    1 << bit for bit in range(13)
)
ALL_FIELDS = (1 << 13) - 1
INSTEAD = (ANY_SOURCE, NO_PROCESS, ROOT_HERE)
MESSAGE, ELSEWHERE = 1, 2
# A process has put fewer requests under way at once.
MOST_MADE = 1 << 32


class Tables:
    """What a lane has said so far of functions, call sites and objects."""

    def __init__(self) -> None:
        self.functions: dict[int, tuple[str, str]] = {}
        self.modules: list[tuple[str, str | None]] = []
        self.sites: list[Site | None] = [None]
        self.objects: dict[int, MpiObject] = {}


def parse_call(key: bytes, tables: Tables) -> Call:
    """The call that a shape's bytes stand for.

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
    """Requests that the call has started and completed; how many are not named."""
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
    """Stretches of ranks: first, stride, count."""
    return [(cursor.signed(), cursor.signed(), cursor.number()) for _ in range(cursor.count(3))]


def _known(objects: Mapping[int, MpiObject], number: int) -> MpiObject:
    """The object of this number; one of which nothing is known where there were too many."""
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
