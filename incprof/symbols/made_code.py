"""Functions that a program generated at run time. Their code is moved and discarded, and other code takes its place.

Code that occupied the same place at different times gets separate addresses, above all that a program can have
(`ELSEWHERE`), so that a table of functions by address works for it too. At the place itself, the table has the last
code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from incprof.model import BoolArray, IntArray
from incprof.symbols.python_code import label
from incprof.symbols.table import EMPTY_TABLE, SymbolTable, build_table

ELSEWHERE = 2**62


class Piece(NamedTuple):
    """Code of a function that exists since a time (CLOCK_MONOTONIC, nanoseconds), and its source, if known.

    file: b"" if unknown.
    """

    since: int
    start: int
    size: int
    name: str
    file: bytes = b""
    line: int = 0


class Use(NamedTuple):
    """Content of a place since a time: the address of its code in the table."""

    since: int
    address: int


@dataclass(frozen=True)
class MadeCode(SymbolTable):
    """A table of generated functions.

    Attributes:
        sources: file and line of functions by name, as far as the program reported them.
        shared: (4, m) of the pieces whose place also held others, in the order in which they were generated: since,
            start, end, and address in the table.
    """

    sources: dict[str, tuple[str, int]] = field(default_factory=dict)
    shared: IntArray = field(default_factory=lambda: np.empty((4, 0), dtype=np.int64))

    def uses(self, address: int) -> list[Use]:
        """Return the successive contents of an address; empty if it was always one function."""
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
        """Return which addresses lie where different functions may have been; same shape."""
        _, start, end, _ = self.shared
        if not len(start):
            return np.zeros(address.shape, dtype=bool)
        order = np.argsort(start, kind="stable")
        index = np.searchsorted(start[order], address, side="right") - 1
        inside: BoolArray = (index >= 0) & (address < np.maximum.accumulate(end[order])[index])
        return inside


NO_CODE = MadeCode(**vars(EMPTY_TABLE))


def made_code(pieces: Sequence[Piece]) -> MadeCode:
    """Return a table of pieces given in the order in which they were generated.

    All code of one name is one function: run-times compile it repeatedly.
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
    """Return the last of the pieces that begin at each place, in order of address."""
    at = np.unique(start[::-1], return_index=True)[1]
    result: IntArray = len(start) - 1 - at
    return result


def _share_places(start: IntArray, end: IntArray, names: Sequence[str]) -> BoolArray:
    """Return which pieces overlap, directly or through others, with code of another name; same shape."""
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


# Names of functions that run-times compile: from their form in perf's maps to display names.


# V8's: `JS:*step /home/me/run.js:3:10`. The mark encodes the compilation tier, which may change during the run.
SCRIPT = re.compile(r"((?:JS|LazyCompile|Function|Script|Eval|Regexp):)[~^+*]?((?:(\S*) )?(.+):(\d{1,9}):(\d{1,9}))")
# A JVM's: `double solver.Grid$Cell.relax(int)`.
METHOD = re.compile(r"(?:[\w.$]+(?:\[\])* )?([\w.$]+)\.([\w$<>]+)(\([^()]*\))")
# Numba's: `solver::sweep[abi:v1][abi:c8t...](Array<double, 1, C>)`, and its wrappers for Python and C.
NUMBA = re.compile(r"(?:cpython::)?([^\[(]+)\[abi:v\d+\].*")
NUMBA_CALLER = re.compile(r"(?:_ZN7cpython|cfunc\._ZN)(\d.*)")
# Julia's: `julia_sweep_123`, with a new number each time that it is compiled.
JULIA = re.compile(r"julia_(.+)_\d{1,9}")
# A JVM's name for the code that interprets methods: it runs all methods that are not compiled.
INTERPRETER, INTERPRETED = "Interpreter", "<interpreted Java>"
# Classes in these are not a program's own.
JAVA = re.compile(r"(java|javax|jdk|sun|com\.sun|kotlin|scala)\.")


class Compiled(NamedTuple):
    """A function: its display name, its file ("": unknown) and line (0), and whether it belongs to the run-time."""

    name: str
    file: str = ""
    line: int = 0
    shared: bool = False


def however_compiled(symbol: str) -> str:
    """Return one name for all compiled versions of a function."""
    if match := SCRIPT.fullmatch(symbol):
        return f"JS:{match[2]}"
    if match := NUMBA_CALLER.fullmatch(symbol):
        return f"_ZN{match[1]}"
    return f"julia_{match[1]}_0" if (match := JULIA.fullmatch(symbol)) else symbol


def compiled(symbol: str) -> Compiled:
    """Parse the name in a map: functions of scripts are displayed like Python's, methods of classes like C++'s."""
    if match := SCRIPT.fullmatch(symbol):
        file, line = match[4], int(match[5])
        # The top-level code of a file, which node wraps in a function.
        unnamed = "<module>" if (match[5], match[6]) == ("1", "1") else f"<anonymous {line}>"
        return Compiled(f"{label(file)}:{match[3] or unnamed}", file, line, file.startswith("node:"))
    if match := METHOD.fullmatch(symbol):
        parts = [part for part in match[1].rpartition(".")[2].split("$") if part]
        return Compiled("::".join([*parts, match[2]]) + match[3], shared=JAVA.match(match[1]) is not None)
    if symbol == INTERPRETER:
        return Compiled(INTERPRETED)
    if match := NUMBA.fullmatch(symbol):
        return Compiled(match[1].removeprefix("__main__::"))
    return Compiled(match[1] if (match := JULIA.fullmatch(symbol)) else symbol)
