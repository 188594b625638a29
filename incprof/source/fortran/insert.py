"""Insertions into a Fortran file for its heartbeats: USE, ekg_begin, and ekg_end before every exit."""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from incprof.errors import IncprofError
from incprof.source.fortran.facts import Facts, MaybeLeftError, RefusedError, enclosing, facts_of, loops_left
from incprof.source.fortran.marks import FIXED_INDENT, MARK, line, name_lines
from incprof.source.fortran.refusals import ends_flow, names_taken, only_branch, start_refusal
from incprof.source.fortran.rows import LABEL_COLUMNS, LAST_COLUMN
from incprof.source.fortran.structure import LOOPS, PROCEDURES, Source, Unit, structure_of
from incprof.source.model import Announcement, Beat, Insertion, SourceFile, by_function, demand_place


@dataclass(frozen=True, slots=True)
class Site:
    """A procedure. unit: its position in Source.units. loops: positions of its loops in Source.blocks."""

    unit: int
    facts: Facts
    loops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sites:
    """The procedures of a file, its structure, and the places for insertions."""

    source: Source
    places: Places
    functions: tuple[Site, ...]


@lru_cache(maxsize=2)
def sites_of(data: bytes, fixed: bool) -> Sites:
    """Return the procedures of a file without heartbeats of ours; those without an end are left out."""
    source = structure_of(data.decode("latin-1"), fixed=fixed)
    sites = []
    for position, unit in enumerate(source.units):
        if unit.last < 0 or (unit.kind not in PROCEDURES and unit.kind != "program"):
            continue
        loops = tuple(block for block in unit.blocks if source.blocks[block].kind in LOOPS)
        sites.append(Site(position, facts_of(source, unit), loops))
    return Sites(source, Places(source, data), tuple(sites))


# Order of insertions at one offset: USE, then text after the statement above, then text before the one below.
_USE, _AFTER, _BEFORE = 0, 1, 2


def begin_call(number: int) -> bytes:
    """Return the start of a beat; with the kind of its id, for programs whose default integers have eight bytes."""
    return b"call ekg_begin(%d_4)" % number


def end_call(number: int) -> bytes:
    """Return the end of a beat."""
    return b"call ekg_end(%d_4)" % number


@dataclass
class Work:
    """The insertions of one procedure.

    Attributes:
        body: ids around it.
        loops: ids by block.
        closes: the line that ends the `#if` branch that contains the body, -1 if it is in none of its own.
        insertions: offset, rank, insertion.
    """

    source: Source
    places: Places
    unit: Unit
    facts: Facts
    body: list[int]
    loops: dict[int, list[int]]
    insertions: list[tuple[int, int, Insertion]] = field(default_factory=list)
    closes: int = -1

    def use(self, names: Sequence[str]) -> None:
        """Insert the USE of the required names."""
        if not names:
            return
        text = [b"use appekg, only: " + ", ".join(names).encode()]
        if not self.unit.headless:
            self._add(_USE, self.places.after(self.unit.first, text, self._deeper(self.unit.first)))
        else:
            self._add_first(_USE, text)

    def start(self, statements: Sequence[bytes]) -> None:
        """Insert after the declarations, outside any `#if` that is not around the whole procedure."""
        at = self.facts.declared
        if at < 0:
            self._add_first(_AFTER, statements)
        else:
            self._add(_AFTER, self.places.after(self._outside(at), statements, self._deeper(self.unit.first)))

    def _add_first(self, rank: int, statements: Sequence[bytes]) -> None:
        """Insert before the first statement, or the `#if` around it."""
        first = self._before_conditions()
        if first == self.unit.first:
            self._add(rank, self.places.before(first, statements, label=True))
        else:
            self._add(rank, self.places.line_of(first, statements, b""))

    def _outside(self, at: int) -> int:
        """Return what the start of a body follows: the declarations, or the `#endif` of the branch in which they end.

        If a branch contains some of them and then all execution, both ends of the body are in it.
        """
        branch = self.source.branch_of[self.unit.last if self.unit.headless else self.unit.first]
        statement = at
        while self.source.branch_of[statement] != branch:
            statement += 1
            if statement > self.unit.last or self.source.statements[statement].kind != "cpp":
                self.closes = only_branch(self.source, self.unit, at)
                if self.closes < 0 or self.facts.entries:
                    raise RefusedError("every place between its declarations and its first statement is inside #if")
                return at
        return statement

    def loop(self, block: int) -> None:
        """Insert around the body of a loop."""
        loop, numbers = self.source.blocks[block], self.loops[block]
        following = loop.first + 1
        inside = following < loop.last and self.source.statements[following].kind == "code"
        indent = self.places.indent(following) if inside else self.places.indent(loop.first) + b"  "
        self._add(_AFTER, self.places.after(loop.first, [begin_call(number) for number in numbers], indent))
        ends = [end_call(number) for number in reversed(numbers)]
        self._add(_BEFORE, self.places.before(loop.last, ends, indent, label=True))

    def insert_before_exits(self) -> None:
        """Insert before all statements that leave a loop with a heartbeat, or the procedure."""
        for index in self._reached():
            word = self.source.words[index]
            action = word.action or word
            if not self.loops and action.kind not in ("return", "stop"):
                continue
            left, returns = self._blocks_left(index)
            numbers = [number for block in left for number in reversed(self.loops.get(block, []))]
            numbers += reversed(self.body if returns else [])
            if numbers:
                self._leave(index, [end_call(number) for number in numbers], conditional=word.kind == "if")

    def _reached(self) -> list[int]:
        """Return statements that may leave something with a heartbeat."""
        exits = self.facts.exits
        if self.body or not self.loops:
            return exits if self.body else []
        blocks = [self.source.blocks[block] for block in self.loops]
        start = bisect.bisect(exits, min(block.first for block in blocks))
        return exits[start : bisect.bisect(exits, max(block.last for block in blocks))]

    def entries(self) -> None:
        """Insert after each ENTRY, where a body starts as well."""
        for index in self.facts.entries:
            begins = [begin_call(number) for number in self.body]
            self._add(_AFTER, self.places.after(index, begins, self._deeper(index)))

    def end(self) -> None:
        """Insert at the end of the body, unless control does not get there."""
        ends = [end_call(number) for number in reversed(self.body)]
        if self.closes >= 0:
            if not ends_flow(self.source, self.closes - 1):
                self._add(_BEFORE, self.places.line_of(self.closes, ends, self._deeper(self.unit.first)))
            return
        last = self.unit.contains if self.unit.contains >= 0 else self.unit.last
        if self.source.statements[last].label or last == 0 or not ends_flow(self.source, last - 1):
            self._add(_BEFORE, self.places.before(last, ends, self._deeper(self.unit.first)))

    def _blocks_left(self, index: int) -> tuple[list[int], bool]:
        word = self.source.words[index]
        try:
            return loops_left(self.source, self.facts, index, word.action or word)
        except RefusedError as error:
            inside = error.loops if isinstance(error, MaybeLeftError) else enclosing(self.source, index)
            if self.loops.keys() & set(inside):
                raise
            return [], False

    def _leave(self, index: int, ends: Sequence[bytes], *, conditional: bool) -> None:
        if not conditional:
            self._add(_BEFORE, self.places.before(index, ends))
            return
        block = self.source.block_of[index]
        if block >= 0 and self.source.blocks[block].last == index:
            line = self.source.statements[index].line
            raise RefusedError(f"the loop's last statement, line {line}, is an IF that leads out of it")
        self._add(_BEFORE, self.places.before_action(index, [b"then", *ends]))
        self._add(_AFTER, self.places.after(index, [b"end if"], self.places.indent(index)))

    def _before_conditions(self) -> int:
        """Return the first statement of a program without a header, or the `#if` around that."""
        first, branch = self.unit.first, self.source.branch_of[self.unit.last]
        at = first
        while self.source.branch_of[at] != branch:
            at -= 1
            if at < 0 or self.source.statements[at].kind == "code":
                raise RefusedError("it starts in another branch of #if than it ends in")
            if at == 0 or self.source.branch_of[at - 1] == branch:
                return at
        return at

    def _deeper(self, index: int) -> bytes:
        """Return the indentation of the executable statements of a procedure."""
        start = bisect.bisect(self.unit.own, self.facts.declared)
        for at in self.unit.own[start : start + 20]:
            statement = self.source.statements[at]
            if statement.kind == "code" and at not in (self.unit.last, self.unit.contains):
                return self.places.indent(at)
        return self.places.indent(index) + b"  "

    def _add(self, rank: int, insertion: Insertion) -> None:
        self.insertions.append((insertion.offset, rank, insertion))


def fortran_insertions(
    file: SourceFile, beats: Sequence[Beat], announce: Sequence[Announcement] = ()
) -> list[Insertion]:
    """Return the insertions for these heartbeats.

    file: From parse_fortran. beats: The heartbeats, with ids from 0 to 2**31-1. announce: Heartbeats that the PROGRAM
    in this file announces when it starts.

    Raises:
        IncprofError: No heartbeat can go there, or there is no PROGRAM.
    """
    sites = sites_of(file.data, file.language == "fixed")
    for beat in beats:
        demand_place(file, beat)
    beats_of = by_function(beats)
    if announce:
        main = next((at for at, function in enumerate(file.functions) if function.is_main), None)
        if main is None:
            raise IncprofError(f"{file.path}: no PROGRAM that could name the heartbeats")
        if reason := _start_refusal(sites, main):
            raise IncprofError(f"{file.path}:{file.functions[main].line}: the PROGRAM cannot name heartbeats: {reason}")
        beats_of.setdefault(main, [])
    insertions: list[Insertion] = []
    for at, of_function in sorted(beats_of.items()):
        function = file.functions[at]
        try:
            insertions += insertions_of(sites, at, of_function, announce if function.is_main else ())
        except RefusedError as error:
            raise IncprofError(f"{file.path}:{function.line}: {function.name}: {error}") from error
    return sorted(insertions, key=lambda each: each.offset)


def insertions_of(
    sites: Sites, function: int, beats: Sequence[Beat], announce: Sequence[Announcement] = ()
) -> list[Insertion]:
    """Return the insertions into one procedure, in the order of the file.

    Raises: RefusedError if no heartbeat can go there.
    """
    site = sites.functions[function]
    body = [beat.id for beat in beats if beat.loop is None]
    loops: dict[int, list[int]] = defaultdict(list)
    for beat in beats:
        if beat.loop is not None:
            loops[site.loops[beat.loop]].append(beat.id)
    work = Work(sites.source, sites.places, sites.source.units[site.unit], site.facts, body, dict(loops))
    names = ["ekg_begin", "ekg_end"] if beats else []
    if announce:
        names += ["ekg_init", "ekg_name"] + ["ekg_rate"] * any(each.rate_factor != 1 for each in announce)
    work.use(names)
    start = _announcing(announce, fixed=sites.source.fixed) if announce else []
    if start or body:
        work.start([*start, *map(begin_call, body)])
    for block in loops:
        work.loop(block)
    work.insert_before_exits()
    if body:
        work.entries()
        work.end()
    return [insertion for _, _, insertion in sorted(work.insertions, key=lambda each: (each[0], each[1]))]


def _start_refusal(sites: Sites, function: int) -> str | None:
    site = sites.functions[function]
    return start_refusal(sites.source, sites.source.units[site.unit], site.facts, names_taken(sites.source))


def _announcing(announce: Sequence[Announcement], *, fixed: bool) -> list[bytes]:
    lines = [b"call ekg_init()"]
    for each in announce:
        lines += name_lines(each.id, each.name, fixed=fixed)
        if each.rate_factor != 1:
            lines.append(b"call ekg_rate(%d_4, %d_4)" % (each.id, each.rate_factor))
    return lines


# Places for our texts in a Fortran file: lines of their own at the start of a line, pieces elsewhere.


_BLANKS = re.compile(rb"[ \t\f]*")
_DEEPEST = 60  # most blanks before a line of ours


class Places:
    """Makes insertions for one file. data: its bytes."""

    def __init__(self, source: Source, data: bytes):
        self._source, self._data = source, data
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
        first = data.find(b"\n")
        self._ending = b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"

    def before(
        self, index: int, statements: Sequence[bytes], indent: bytes | None = None, *, label: bool = False
    ) -> Insertion:
        """Return the insertion before a statement: after its label, which branches need there, or before it (`label`).

        Raises: RefusedError if that makes a line of fixed form too long.
        """
        statement = self._source.statements[index]
        at = statement.label_start if label else statement.start
        return self._at(at, statements, self.indent(index) if indent is None else indent)

    def before_action(self, index: int, statements: Sequence[bytes]) -> Insertion:
        """Return the insertion before the action of a logical IF.

        Raises: RefusedError if that makes a line of fixed form too long.
        """
        return self._at(self._source.statements[index].action, statements, self.indent(index) + b"  ")

    def after(self, index: int, statements: Sequence[bytes], indent: bytes) -> Insertion:
        """Return the insertion after a statement, a directive or a preprocessor line.

        Raises: RefusedError if that makes a line of fixed form too long.
        """
        statement = self._source.statements[index]
        if statement.kind == "code" and not statement.last:
            return self._at(self._source.statements[index + 1].label_start, statements, indent)
        return Insertion(statement.row.end, self._lines(statement.row.end, statements, indent))

    def line_of(self, index: int, statements: Sequence[bytes], indent: bytes) -> Insertion:
        """Return the insertion before a preprocessor line."""
        start = self._source.statements[index].row.start
        return Insertion(start, self._lines(start, statements, indent))

    def indent(self, index: int) -> bytes:
        """Return the blanks with which a line starts in the same column as a statement."""
        start = self._source.statements[index].start
        line_start = self._line_start(start)
        blanks = _BLANKS.match(self._data, line_start)
        if blanks and blanks.end() == start and start - line_start <= _DEEPEST:
            return blanks[0].replace(b"\f", b"")
        return b" " * min(self._column(line_start, start), _DEEPEST)

    def _at(self, offset: int, statements: Sequence[bytes], indent: bytes) -> Insertion:
        line_start = self._line_start(offset)
        blanks = _BLANKS.match(self._data, line_start)
        if blanks and blanks.end() == offset:
            return Insertion(line_start, self._lines(line_start, statements, indent))
        ending = self._ending_at(offset)
        pad = indent
        if self._source.fixed:
            column = self._column(line_start, offset)
            if column + len(statements[0]) > LAST_COLUMN:
                raise RefusedError(f"no room before column 72, line {bisect.bisect(self._starts, offset)}")
            # Text after column 72 is comment and must stay there.
            pad = b" " * column if self._is_long(line_start) else self._fitting(b"", indent)
        return Insertion(offset, statements[0] + MARK + ending + self._lines(offset, statements[1:], indent) + pad)

    def _lines(self, offset: int, statements: Sequence[bytes], indent: bytes) -> bytes:
        ending = self._ending_at(offset)
        return b"".join(line(each, self._fitting(each, indent), ending) for each in statements)

    def _fitting(self, statement: bytes, indent: bytes) -> bytes:
        if not self._source.fixed:
            return indent
        if statement.startswith(b"&"):
            return FIXED_INDENT[:LABEL_COLUMNS]
        width = self._width(indent)
        return indent if width > LABEL_COLUMNS and width + len(statement) <= LAST_COLUMN else FIXED_INDENT

    def _is_long(self, line_start: int) -> bool:
        """Return whether a line extends beyond column 72."""
        end = self._data.find(b"\n", line_start, line_start + 200)
        return end < 0 or self._width(self._data[line_start:end].rstrip(b"\r")) > LAST_COLUMN

    def _column(self, line_start: int, offset: int) -> int:
        """Return how many columns precede a byte of a line."""
        return self._width(self._data[line_start : min(offset, line_start + 200)]) + max(offset - line_start - 200, 0)

    def _width(self, text: bytes) -> int:
        """Return the columns of a text; in fixed form a tab in the first ones leads to column 7."""
        tab = text.find(b"\t", 0, LABEL_COLUMNS + 1) if self._source.fixed else -1
        return len(text) if tab < 0 else LABEL_COLUMNS + len(text) - tab

    def _line_start(self, offset: int) -> int:
        return self._starts[bisect.bisect(self._starts, offset) - 1]

    def _ending_at(self, offset: int) -> bytes:
        """Return the line ending of the line that contains a byte, or of the file's first line."""
        at = bisect.bisect(self._starts, offset)
        if at == len(self._starts):
            return self._ending
        return b"\r\n" if self._data.endswith(b"\r\n", 0, self._starts[at]) else b"\n"
