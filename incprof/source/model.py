"""Contents of a source file, as byte ranges of the unmodified file, and insertions into it.

Offsets count bytes from 0, lines count from 1 and ranges of them include the last one. Nothing here reads or writes
files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from incprof.errors import IncprofError

if TYPE_CHECKING:
    from tree_sitter import Node


Language = Literal["c", "c++", "fortran", "fixed", "python"]  # "fixed": Fortran in fixed form
Style = Literal["scope", "calls"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a function; one inside a lambda or a contained procedure belongs to that one.

    Attributes:
        parent: position of the enclosing loop in the function's `loops`.
        busy: an iteration calls something or contains another loop; otherwise it is too short for a beat.
        refusal: why no beat can go into the body; None if one can.
    """

    syntax: Node | None
    repeated: Node | None
    line: int
    last_line: int
    parent: int | None
    busy: bool
    refusal: str | None = None

    @property
    def node(self) -> Node:
        """The whole statement, in C and Fortran."""
        assert self.syntax is not None
        return self.syntax

    @property
    def body(self) -> Node:
        """The repeated statement in C (a block with its braces, or a single statement); the DO construct in Fortran."""
        assert self.repeated is not None
        return self.repeated


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function with a body.

    Attributes:
        name: qualified name in the source: "Mesh::smooth", "heat::jacobi_step"; without template arguments; a lambda is
            "Mesh::smooth::lambda"; in Python "Solver.step", "<module>".
        syntax: the whole definition, None in Python.
        loops: an outer one before those inside it.
        is_main: C's main, or the PROGRAM.
        refusal: why no beat can go around its body; None if one can.
    """

    name: str
    syntax: Node | None
    line: int
    last_line: int
    loops: tuple[Loop, ...] = ()
    is_main: bool = False
    refusal: str | None = None

    @property
    def node(self) -> Node:
        """The whole definition, in C and Fortran."""
        assert self.syntax is not None
        return self.syntax


@dataclass(frozen=True)
class SourceFile:
    """A parsed file. data: its bytes without heartbeats of ours. path: for messages."""

    path: str
    language: Language
    data: bytes
    functions: tuple[SourceFunction, ...]


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat to be inserted around a function's body (`loop` None) or into the body of one of its loops.

    Attributes:
        function: position in SourceFile.functions.
        loop: position in its `loops`.
    """

    id: int
    function: int
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class Announcement:
    """An id's announcement at the program's start: ekg_name, and ekg_rate if `rate_factor` is not 1."""

    id: int
    name: str
    rate_factor: int = 1


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to insert before the byte at `offset`. Of several at one offset the first in the list comes first."""

    offset: int
    text: bytes


# What the source languages share: their names, texts of ours that can be recognised, and insertions.


def is_c(language: Language) -> bool:
    """Return whether it is C or C++."""
    return language in ("c", "c++")


def is_fortran(language: Language) -> bool:
    """Return whether it is Fortran, in either form."""
    return language in ("fortran", "fixed")


def recognised(text: bytes, *patterns: re.Pattern[bytes]) -> bytes:
    """Return a text of ours.

    patterns: Those by which it will be removed; one of them must match.

    Raises:
        ValueError: None does.
    """
    if not any(pattern.fullmatch(text) for pattern in patterns):
        raise ValueError(f"no text of ours: {text!r}")
    return text


def line_ending(text: bytes) -> bytes:
    """Return the line ending of a text that ends with one."""
    return b"\r\n" if text.endswith(b"\r\n") else b"\n"


def by_function(beats: Sequence[Beat]) -> dict[int, list[Beat]]:
    """Return the beats of each function, by its position."""
    beats_of: dict[int, list[Beat]] = {}
    for beat in beats:
        beats_of.setdefault(beat.function, []).append(beat)
    return beats_of


def demand_place(file: SourceFile, beat: Beat) -> None:
    """Raise IncprofError if the function, or its loop, refuses the beat."""
    function = file.functions[beat.function]
    place = function if beat.loop is None else function.loops[beat.loop]
    if place.refusal is not None:
        raise IncprofError(f"{file.path}:{place.line}: {function.name}: no beat can go here: {place.refusal}")


def insert(data: bytes, insertions: Sequence[Insertion]) -> bytes:
    """Return the bytes with all insertions; those at one offset in the order given."""
    parts, done = [], 0
    for insertion in sorted(insertions, key=lambda each: each.offset):
        parts += [data[done : insertion.offset], insertion.text]
        done = insertion.offset
    return b"".join([*parts, data[done:]])


def removable(file: SourceFile, insertions: list[Insertion], strip: Callable[[bytes], bytes]) -> list[Insertion]:
    """Return the insertions, if `strip` removes all of them and nothing else.

    Raises:
        IncprofError: It does not: texts of the file look like ours.
    """
    if strip(insert(file.data, insertions)) != file.data:
        raise IncprofError(f"{file.path}: text in it looks like generated heartbeats, which could not be removed again")
    return insertions
