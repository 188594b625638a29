"""Functions that a program made as it ran. Code is moved and thrown away, and other code takes its place.

What a place has held at different times gets addresses of its own, above all that a program can have (`ELSEWHERE`), so
that a table of functions by address serves for it too. At the place itself, the table has what was there last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from incprof.model import BoolArray, IntArray
from incprof.readers.symbols.compiled import however_compiled
from incprof.readers.symbols.table import EMPTY_TABLE, SymbolTable, build_table

ELSEWHERE = 2**62


class Piece(NamedTuple):
    """Code of a function that is there since a time (CLOCK_MONOTONIC, nanoseconds); where it is from, if that is known.

    file: b"" where it is not.
    """

    since: int
    start: int
    size: int
    name: str
    file: bytes = b""
    line: int = 0


class Use(NamedTuple):
    """What a place holds since a time: the address that its code has in the table."""

    since: int
    address: int


@dataclass(frozen=True)
class MadeCode(SymbolTable):
    """A table of functions that were made.

    Attributes:
        sources: file and line of functions by name, as far as the program has told them.
        shared: (4, m) of the pieces whose place others have had too, in the order in which they were made: since,
            start, end, and address in the table.
    """

    sources: dict[str, tuple[str, int]] = field(default_factory=dict)
    shared: IntArray = field(default_factory=lambda: np.empty((4, 0), dtype=np.int64))

    def uses(self, address: int) -> list[Use]:
        """What an address has held, one after the other; nothing where that has always been one function."""
        since, start, end, moved = self.shared
        here = np.flatnonzero((start <= address) & (address < end))
        found: list[Use] = []
        known: list[int] = []
        for at, by in zip(since[here].tolist(), (moved[here] + address - start[here]).tolist(), strict=True):
            owner = int(self.find(np.array([by], dtype=np.uint64))[0])
            if not known or known[-1] != owner:
                found.append(Use(at, by))
                known.append(owner)
        return found if len(found) > 1 else []

    def is_shared(self, address: IntArray) -> BoolArray:
        """Which addresses lie where different functions may have been; same shape."""
        _, start, end, _ = self.shared
        if not len(start):
            return np.zeros(address.shape, dtype=bool)
        order = np.argsort(start, kind="stable")
        index = np.searchsorted(start[order], address, side="right") - 1
        inside: BoolArray = (index >= 0) & (address < np.maximum.accumulate(end[order])[index])
        return inside


NO_CODE = MadeCode(**vars(EMPTY_TABLE))


def made_code(pieces: Sequence[Piece]) -> MadeCode:
    """A table of pieces in the order in which they were made.

    All code of one name is one function: run-times compile it again and again.
    """
    if not pieces:
        return NO_CODE
    names = [however_compiled(piece.name) for piece in pieces]
    since, start, size = (np.array([piece[i] for piece in pieces], dtype=np.int64) for i in range(3))
    shared = np.flatnonzero(_share_places(start, start + size, names))
    moved = ELSEWHERE + np.cumsum(size[shared]) - size[shared]
    last = _last_at_each(start)
    row, address = np.concatenate([last, shared]), np.concatenate([start[last], moved]).astype(np.uint64)

    number: dict[str, int] = {}
    function = np.array([number.setdefault(names[i], len(number)) for i in row.tolist()], dtype=np.int64)
    length = size[row].astype(np.uint64)
    ranges = build_table(address, length, address + length, [names[i].encode() for i in row.tolist()])
    at = np.unique(function, return_index=True)[1]
    table = build_table(address[at], length[at], address[at] + length[at], [name.encode() for name in number])
    table = replace(table, start=ranges.start, end=ranges.end, owner=function[ranges.owner])
    sources = {
        name: (piece.file.decode("utf-8", "replace"), piece.line)
        for name, piece in zip(names, pieces, strict=True)
        if piece.file
    }
    places = np.stack([since[shared], start[shared], start[shared] + size[shared], moved])
    return MadeCode(**vars(table), sources=sources, shared=places)


def _last_at_each(start: IntArray) -> IntArray:
    """Of the pieces that begin at each place, the last one; in order of address."""
    at = np.unique(start[::-1], return_index=True)[1]
    result: IntArray = len(start) - 1 - at
    return result


def _share_places(start: IntArray, end: IntArray, names: Sequence[str]) -> BoolArray:
    """Which pieces lie where there is, or leads by way of others to, code of another name; same shape."""
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order])
    group = np.zeros(len(start), dtype=np.int64)
    group[order[1:]] = np.cumsum(start[order[1:]] >= reach[:-1])
    number: dict[str, int] = {}
    name = np.array([number.setdefault(n, len(number)) for n in names], dtype=np.int64)
    lowest, highest = np.full(len(start), len(number), dtype=np.int64), np.full(len(start), -1, dtype=np.int64)
    np.minimum.at(lowest, group, name)
    np.maximum.at(highest, group, name)
    result: BoolArray = (lowest != highest)[group]
    return result
