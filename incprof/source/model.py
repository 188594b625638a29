"""What a source file holds, as byte ranges of the file as it is, and what is put into it.

Offsets count bytes from 0, lines count from 1 and include their last one. Nothing here reads or writes files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node

Language = Literal["c", "c++", "fortran", "fixed", "python"]  # "fixed": Fortran in fixed form
Style = Literal["scope", "calls"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a function; one inside a lambda or a contained procedure belongs to that one.

    node: the whole statement. body: the statement that is repeated (C: the block with its braces, or the single
    statement); the DO construct itself in Fortran. parent: position of the enclosing loop in the function's `loops`.
    busy: an iteration calls something or holds another loop; one that does neither is too short for a beat.
    refusal: why no beat can go into the body; None when one can.
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
        """What is repeated, in C and Fortran."""
        assert self.repeated is not None
        return self.repeated


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function with a body.

    name: as the source says, with what encloses it: "Mesh::smooth", "heat::jacobi_step"; template arguments left out,
    a lambda is "Mesh::smooth::lambda"; in Python "Solver.step", "<module>". syntax: the whole definition, None
    in Python. loops: an outer one before what it holds. is_main: C's main, or the PROGRAM. refusal: why no beat can go
    around its body; None when one can.
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
    """A heartbeat to be put around a function's body (`loop` None) or into the body of one of its loops.

    function, loop: positions in SourceFile.functions and in its `loops`.
    """

    id: int
    function: int
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class Announcement:
    """What the program's start says of an id: ekg_name, and ekg_rate where `rate_factor` is not 1."""

    id: int
    name: str
    rate_factor: int = 1


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to be put in before the byte at `offset`. Of several at one offset the first in the list comes first."""

    offset: int
    text: bytes
