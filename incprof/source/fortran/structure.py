"""The structure of a Fortran file: program units, the blocks inside them, and the branches of `#if`.

It is found in one pass over the statements, through all branches of an `#if` in turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from incprof.source.fortran.statements import Statement, Word, statements_of, word_of

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


_HEADERS = PROCEDURES | {"program", "module", "submodule", "block data"}
_OPENS = {"do": "do", "concurrent": "concurrent", "then": "if", "block": "block"}
_CLOSES = {"end do": LOOPS, "end if": frozenset(["if"]), "end block": frozenset(["block"])}
# Statements that change the structure of a file. For others after `!$ `, facts.py decides whether they matter.
_STRUCTURE = _HEADERS | {"end", "end unit", "contains"}
_GENERATED = re.compile(r"#(?: ?line)? ?\d+ ?\"")
_CONDITION = re.compile(r"# ?(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
_SPLIT = "a branch of #if holds a part of it"


def structure_of(text: str, *, fixed: bool) -> Source:
    """Return the structure of a file, decoded as Latin-1."""
    source = Source(text, fixed, statements_of(text, fixed=fixed))
    _Builder(source).run()
    return source


@dataclass(slots=True)
class _Condition:
    """An open `#if`. before: position at the start of its branches; changed: a different one at the end of a branch."""

    before: tuple[int, int]
    branch: int
    changed: tuple[int, int] | None = None


class _Builder:
    """Passes over the statements. The current position is a pair: unit and block, -1 for none."""

    def __init__(self, source: Source):
        self.source = source
        self.unit = self.block = -1
        self.conditions: list[_Condition] = []
        self.branch = 0

    def run(self) -> None:
        source = self.source
        no_word = Word("nothing")
        for index, statement in enumerate(source.statements):
            code = statement.kind == "code"
            word = word_of(statement.text, fixed=source.fixed) if code else no_word
            source.words.append(word)
            source.unit_of.append(self.unit)
            source.block_of.append(self.block)
            unit = self.unit
            if statement.kind == "cpp":
                self._preprocessor(statement)
            elif code:
                self._statement(index, statement, word)
            source.branch_of.append(self.branch)
            if unit == self.unit >= 0:
                source.units[unit].own.append(index)

    def _statement(self, index: int, statement: Statement, word: Word) -> None:
        if statement.row.conditional:
            self._conditional(statement, word)
            return
        if self.unit < 0 and word.kind not in _HEADERS:
            if word.kind in ("end", "end unit", "contains"):
                return
            self._open_unit(index, Word("program", "main"), headless=True)
        if self.block >= 0 and self.source.blocks[self.block].kind in ("types", "body"):
            self._in_types(index, word)
        else:
            self._in_unit(index, statement, word)
        if statement.label:
            self._last_of_loops(index, statement.label)

    def _conditional(self, statement: Statement, word: Word) -> None:
        if self.unit >= 0 and word.kind in _STRUCTURE:
            self._damage(f"line {statement.line} is for OpenMP compilers alone")

    def _in_unit(self, index: int, statement: Statement, word: Word) -> None:
        if word.kind in _HEADERS:
            self._header(index, word)
        elif word.kind in ("end", "end unit"):
            self._end_unit(index, statement, word)
        elif word.kind == "contains":
            self._contains(index)
        elif word.kind in _OPENS:
            self._open_block(index, _OPENS[word.kind], word)
        elif word.kind == "types":
            self._open_block(index, "types", word)
        elif word.kind == "implicit" and "none" in statement.text:
            self.source.units[self.unit].strict = True
        elif word.kind in _CLOSES and not self._ends_labelled(statement):
            self._close_block(index, statement, _CLOSES[word.kind])

    def _in_types(self, index: int, word: Word) -> None:
        """Handle a statement in a type, an enumeration or an interface, where no procedure has a body."""
        if word.kind in PROCEDURES and word.kind != "procedure":
            self._open_block(index, "body", word)
        elif word.kind == "types":
            self._open_block(index, "types", word)
        elif word.kind == "end types" or (
            word.kind in ("end", "end unit") and self.source.blocks[self.block].kind == "body"
        ):
            self._leave_block(index)

    def _header(self, index: int, word: Word) -> None:
        if self.unit >= 0 and self.source.units[self.unit].contains < 0:
            self._damage(f"a {word.kind} starts inside of it, line {self.source.statements[index].line}")
        self._open_unit(index, word)

    def _open_unit(self, index: int, word: Word, *, headless: bool = False) -> None:
        kind = word.kind
        name = f"{word.prefix.split(':')[0]}::{word.name}" if kind == "submodule" else word.name
        depth = 1
        if self.unit >= 0:
            host = self.source.units[self.unit]
            outer = host.name
            # A procedure that a module declares and a submodule defines belongs to the module.
            if host.kind == "submodule" and (kind == "procedure" or "module" in word.prefix):
                outer = outer.split("::")[0]
            depth = host.depth + 1
            name = f"{outer}::{name}" if depth <= DEEPEST_UNIT else name
        self.source.units.append(Unit(kind, name, index, self.unit, word.prefix, headless, depth=depth))
        self.unit, self.block = len(self.source.units) - 1, -1
        unit = self.source.units[self.unit]
        unit.own.append(index)
        unit.strict = unit.parent >= 0 and self.source.units[unit.parent].strict
        if depth > DEEPEST_UNIT:
            self._damage("it is inside of more procedures than Fortran allows for")

    def _end_unit(self, index: int, statement: Statement, word: Word) -> None:
        unit = self.source.units[self.unit]
        if self.block >= 0:
            first = self.source.statements[self.source.blocks[self.block].first]
            self._damage(self.source.blocks[self.block].damage or f"the block of line {first.line} has no end")
        text = statement.text.replace(" ", "")
        if word.kind == "end unit" and not text.startswith("end" + unit.kind.replace(" ", "")):
            self._damage(f"line {statement.line} ends something else")
        unit.last = index
        unit.own.append(index)
        self.unit, self.block = unit.parent, -1

    def _contains(self, index: int) -> None:
        unit = self.source.units[self.unit]
        if self.block >= 0 or unit.contains >= 0:
            self._damage(f"CONTAINS inside of a block, line {self.source.statements[index].line}")
        else:
            unit.contains = index

    def _open_block(self, index: int, kind: str, word: Word) -> None:
        depth = self.source.blocks[self.block].depth + 1 if self.block >= 0 else 1
        if depth > MOST_NESTED:
            self._damage(f"more than {MOST_NESTED} blocks inside of each other")
        self.source.blocks.append(Block(kind, word.name, index, self.block, word.label, depth=depth))
        self.block = len(self.source.blocks) - 1
        self.source.units[self.unit].blocks.append(self.block)

    def _ends_labelled(self, statement: Statement) -> bool:
        """Return whether an END DO is the last statement of a DO by its label."""
        return bool(statement.label) and self.block >= 0 and self.source.blocks[self.block].label == statement.label

    def _close_block(self, index: int, statement: Statement, kinds: frozenset[str]) -> None:
        block = self.source.blocks[self.block] if self.block >= 0 else None
        if block is None or block.kind not in kinds or block.label:
            self._damage(f"line {statement.line} ends a block that is not open")
        else:
            self._leave_block(index)

    def _last_of_loops(self, index: int, label: str) -> None:
        inner = True
        while self.block >= 0 and self.source.blocks[self.block].label == label:
            self.source.blocks[self.block].shared = not inner
            self._leave_block(index)
            inner = False

    def _leave_block(self, index: int) -> None:
        block = self.source.blocks[self.block]
        block.last, self.block = index, block.parent

    def _damage(self, reason: str) -> None:
        unit = self.source.units[self.unit]
        unit.damage = unit.damage or reason

    def _preprocessor(self, statement: Statement) -> None:
        if _GENERATED.match(statement.text):
            self.source.generated = True
        match = _CONDITION.match(statement.text)
        if match is None:
            return
        if match[1] in ("if", "ifdef", "ifndef"):
            self.conditions.append(_Condition((self.unit, self.block), self.branch))
            self._new_branch(self.branch)
        elif self.conditions:
            current = (self.unit, self.block)
            condition = self.conditions[-1]
            if current != condition.before:
                self._split(current, condition.before)
                condition.changed = current
            if match[1] == "endif":
                self.conditions.pop()
                self.branch = condition.branch
                self.unit, self.block = condition.changed or current
            else:
                self.unit, self.block = condition.before
                self._new_branch(condition.branch)

    def _new_branch(self, parent: int) -> None:
        self.branch = len(self.source.branch_parents)
        self.source.branch_parents.append(parent)

    def _split(self, one: tuple[int, int], other: tuple[int, int]) -> None:
        """Mark units and blocks that one branch of an `#if` opens or closes, and another does not."""
        for parts, here, there in (
            (self.source.units, one[0], other[0]),
            (self.source.blocks, one[1], other[1]),
        ):
            # Enclosing ones come earlier in the list, so the two paths outwards meet.
            while here != there:
                part = parts[max(here, there)]
                part.damage = part.damage or _SPLIT
                here, there = min(here, there), part.parent
