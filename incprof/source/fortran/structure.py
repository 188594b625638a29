"""The structure of a Fortran file: program units, the blocks inside them, and the branches of `#if`."""

from __future__ import annotations

from dataclasses import dataclass, field

from incprof.source.fortran.statements import Statement
from incprof.source.fortran.words import Word

PROCEDURES = frozenset("subroutine function procedure".split())
MOST_NESTED = 100
DEEPEST_UNIT = 3  # a module, its procedures, and theirs; Fortran has no more
LOOPS = frozenset("do concurrent".split())


@dataclass(slots=True)
class Block:
    """A construct.

    Attributes:
        first: its first statement.
        last: its END, or the last statement of a labelled DO.
        parent: position of the enclosing block in Source.blocks, -1 if there is none.
        shared: its last statement is also that of another loop, which is inside.
        damage: why its extent is in doubt, or "".
        depth: 1 for an outermost one.
    """

    kind: str
    name: str
    first: int
    parent: int
    label: str = ""
    last: int = -1
    shared: bool = False
    damage: str = ""
    depth: int = 0


@dataclass(slots=True)
class Unit:
    """A program unit or procedure.

    Attributes:
        first: its header, or the first statement of a program without one (headless).
        last: its END; -1: none was found.
        contains: its CONTAINS, or -1.
        parent: position of the enclosing one in Source.units, or -1.
        depth: 1 for an outermost one.
        own: its statements without those of contained units.
        blocks: positions in Source.blocks.
        strict: it has IMPLICIT NONE, or an enclosing unit has.
    """

    kind: str
    name: str
    first: int
    parent: int
    prefix: str = ""
    headless: bool = False
    last: int = -1
    contains: int = -1
    own: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    damage: str = ""
    depth: int = 1
    strict: bool = False


@dataclass(slots=True)
class Source:
    """A file's statements, their kinds, and the units and blocks that they form.

    Attributes:
        unit_of: the unit that contains each statement, -1 for none.
        block_of: the block that contains each statement, -1 for none; a header is not in its block, an END is.
        branch_of: a number for each branch of each `#if`, 0 outside all.
        branch_parents: the branch around each.
        generated: a preprocessor wrote the file.
    """

    text: str
    fixed: bool
    statements: list[Statement]
    words: list[Word] = field(default_factory=list)
    unit_of: list[int] = field(default_factory=list)
    block_of: list[int] = field(default_factory=list)
    branch_of: list[int] = field(default_factory=list)
    branch_parents: list[int] = field(default_factory=lambda: [-1])
    units: list[Unit] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    generated: bool = False
