"""Heartbeats in C as pairs of calls, for compilers that do not run a function when a variable goes out of scope.

A body gets a second pair of braces, `{ ekg_begin(3); { ... } ekg_end(3); }`: the begin comes before its declarations,
and no declaration comes after a statement, as C90 requires. `return x;` becomes `return (ekg_result_ = (x), ekg_end(3),
ekg_result_);`, every other exit `{ ekg_end(3); goto out; }`: each stays a single statement, wherever it is used. The
line that includes the header is the only new line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tree_sitter import Node

from incprof.errors import IncprofError
from incprof.source.c.exits import (
    RESULT,
    SETJMP,
    WORD,
    Exit,
    Exits,
    Span,
    find_exits,
    first_name,
    leaving_macros,
    leaving_macros_of,
    macros_of,
    result_declaration,
    unlisted_exit,
)
from incprof.source.c.function_loops import SPLIT
from incprof.source.c.inserted_text import inline_text, strip_c
from incprof.source.c.scope import announcement_calls, include_insertion
from incprof.source.model import Announcement, Beat, Insertion, SourceFile, SourceFunction, by_function, removable


@dataclass(frozen=True, slots=True)
class Open:
    """A beat, and the statement in which it is open: a function's block, or the repeated statement of a loop."""

    id: int
    statement: Node
    loop: bool

    @property
    def span(self) -> Span:
        """First byte of the statement, and the one after it."""
        return self.statement.start_byte, self.statement.end_byte

    def contains(self, offset: int) -> bool:
        """Return whether the byte at `offset` belongs to the statement."""
        return self.statement.start_byte <= offset < self.statement.end_byte

    def left_by(self, exit_: Exit, labels: dict[bytes, list[int]]) -> bool:
        """Return whether an exit leaves the statement; only a return leaves a function's own block."""
        if not self.contains(exit_.node.start_byte):
            return False
        if exit_.node.type == "return_statement":
            return True
        if not self.loop:
            return False
        if exit_.node.type == "goto_statement":
            return not any(map(self.contains, labels.get(exit_.label, ())))
        return exit_.statement is not None and exit_.statement[0] < self.statement.start_byte


def block_of(function: SourceFunction) -> Node | None:
    """Return the block of a function, with its braces; None if the parser found no closing one."""
    body = function.node.child_by_field_name("body")
    if body is None or body.type != "compound_statement" or body.children[-1].is_missing:
        return None
    return body


def opened(function: SourceFunction, block: Node, beat: Beat) -> Open:
    """Return where a beat of this function is open."""
    if beat.loop is None:
        return Open(beat.id, block, False)
    return Open(beat.id, function.loops[beat.loop].body, True)


def value_of(exit_: Node) -> Node | None:
    """Return the value of a return statement; None for `return;` and for other exits."""
    if exit_.type != "return_statement":
        return None
    return next((child for child in exit_.named_children if child.type != "comment"), None)


INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include\b", re.M)
SHORT_CUTS = ("break_statement", "continue_statement")
NO_MACROS: Mapping[bytes, bytes] = MappingProxyType({})


def calls_refusal(file: SourceFile, beat: Beat, macros: Mapping[bytes, bytes] = NO_MACROS) -> str | None:
    """Return why `call_insertions` cannot handle this beat, in one line; None if it can.

    Call it if neither the function nor the loop has a refusal of its own. macros: definitions of other files, from
    `macros_of`; without them a statement that looks like a macro from elsewhere counts as an exit.
    """
    function = file.functions[beat.function]
    block = block_of(function)
    if file.language != "c":
        return "calls on every exit are for C"
    if block is None:
        return "its end cannot be determined"
    all_macros = {**macros, **macros_of(file.data)}
    leaving = leaving_macros(all_macros) if macros else leaving_macros_of(file.data)
    exits = find_exits(block, file.data)
    place = opened(function, block, beat)
    if not block.named_children and WORD.search(file.data, block.start_byte, block.end_byte):
        return "its contents cannot be parsed"
    reason = _hidden(place, exits, file.data, all_macros, leaving)
    if reason is None and place.loop:
        reason = _loop_refusal(place, exits, file.data, (block.start_byte, block.end_byte)) or _split(
            function, place, exits
        )
    if reason is None and any(
        value_of(each.node) is not None and place.left_by(each, exits.labels) for each in exits.exits
    ):
        declared = result_declaration(function.node, file.data, all_macros)
        return declared if isinstance(declared, str) else None
    return reason


def _hidden(
    place: Open, exits: Exits, data: bytes, all_macros: Mapping[bytes, bytes], leaving: frozenset[bytes]
) -> str | None:
    """Return an exit that is hidden."""
    at = unlisted_exit(exits, data, place.span, "exit")
    if at is not None:
        return f"the exit in line {_line(data, at)} cannot be read"
    included = INCLUDE.search(data, *place.span)
    if included:
        return f"line {_line(data, included.start())} includes a file, which may leave it"
    at = first_name(leaving, data, place.span)
    if at is not None:
        word = WORD.match(data, at)
        return f"the macro {_word(word[0] if word else b'')} in line {_line(data, at)} may leave it"
    for offset, name in exits.shouted:
        if place.contains(offset) and name not in all_macros:
            return f"{_word(name)} in line {_line(data, offset)} may be a macro of another file that leaves it"
    for exit_ in exits.exits:
        if place.contains(exit_.node.start_byte):
            line = _line(data, exit_.node.start_byte)
            if exit_.node.has_error:
                return f"the exit in line {line} cannot be read"
            if exit_.node.type == "goto_statement" and exit_.label not in exits.labels:
                return f"the label of the goto in line {line} is not visible"
    return None


def _loop_refusal(place: Open, exits: Exits, data: bytes, block_span: Span) -> str | None:
    """Return how a loop's body may be entered or left without passing its first or last line."""
    if exits.errors:
        return f"line {_line(data, exits.errors[0].start_byte)} of its function cannot be read"
    if exits.computed:
        return f"line {_line(data, exits.computed[0].start_byte)} jumps to a computed label"
    if first_name(SETJMP, data, block_span) is not None:
        return "its function calls setjmp"
    for exit_ in exits.exits:
        inside, line = place.contains(exit_.node.start_byte), _line(data, exit_.node.start_byte)
        if exit_.node.type == "goto_statement":
            targets_inside = [place.contains(label) for label in exits.labels.get(exit_.label, ())]
            if any(targets_inside) and not all(targets_inside):
                return f"the goto in line {line} has two labels"
            if any(targets_inside) and not inside:
                return f"the goto in line {line} jumps into it"
        elif inside and exit_.statement is None and exit_.node.type != "return_statement":
            return f"which statement line {line} leaves is unclear"
    at = unlisted_exit(exits, data, place.span, "case")
    if at is not None:
        return f"the case in line {_line(data, at)} cannot be read"
    for case, switch in exits.cases:
        if place.contains(case) and (switch is None or not place.contains(switch)):
            return f"the case in line {_line(data, case)} jumps into it"
    return None


def _split(function: SourceFunction, place: Open, exits: Exits) -> str | None:
    """Return the problem of a nested loop that has another body in each branch of an #if."""
    shortcuts = [
        shortcut.node
        for shortcut in exits.exits
        if shortcut.node.type in SHORT_CUTS and place.contains(shortcut.node.start_byte)
    ]
    for inner in function.loops:
        if inner.refusal != SPLIT or not place.contains(inner.node.start_byte):
            continue
        after = [shortcut for shortcut in shortcuts if shortcut.start_byte > inner.node.start_byte]
        if after:
            line = after[0].start_point.row + 1
            return f"a directive splits the loop in line {inner.line}: what line {line} leaves is unclear"
    return None


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _word(name: bytes) -> str:
    return name.decode("utf-8", "replace")


VOID = b"void " + RESULT + b";"
DIRECTIVE = re.compile(rb"^[ \t]*#", re.M)
JUMPS = frozenset({"return_statement", "goto_statement", "break_statement", "continue_statement"})


@dataclass(frozen=True, slots=True)
class _Text:
    """Text that opens or closes a span of the file. A beat's span encloses that of an exit of the same bytes."""

    span: Span
    opens: bool
    text: bytes
    exit: bool

    @property
    def offset(self) -> int:
        return self.span[0] if self.opens else self.span[1]

    def order(self) -> tuple[int, bool, int, bool]:
        """Return the sort key of texts at one place: closing before opening ones, outer ones around inner ones."""
        size = self.span[1] - self.span[0]
        if size == 0:
            return self.offset, True, 0, not self.opens
        return (self.offset, True, -size, self.exit) if self.opens else (self.offset, False, size, not self.exit)


def call_insertions(file: SourceFile, beats: Sequence[Beat], announce: Sequence[Announcement] = ()) -> list[Insertion]:
    """Return the insertions of a begin and all its ends around each beat; in main also ekg_init and the ids' names.

    file: A file in C. beats: Beats that neither their function or loop nor `calls_refusal` refuses. announce: Not
    empty: the file contains main, which announces these.

    Raises:
        IncprofError: A beat is refused after all, there is no main, or texts of the file look like ours.
    """
    of_function = by_function(beats)
    texts: list[_Text] = []
    macros = macros_of(file.data)
    if announce and not any(function.is_main for function in file.functions):
        raise IncprofError(f"{file.path}: no main in it to name heartbeats in")
    for position, function in enumerate(file.functions):
        first = announcement_calls(announce) if function.is_main else []
        if position in of_function or first:
            texts += _in_function(file.data, function, of_function.get(position, []), first, macros)
    if not texts:
        return []
    texts.sort(key=_Text.order)
    insertions = [Insertion(each.offset, inline_text(each.text)) for each in texts]
    return removable(file, [include_insertion(file, [each.offset for each in insertions]), *insertions], strip_c)


def _in_function(
    data: bytes, function: SourceFunction, beats: Sequence[Beat], first: list[bytes], macros: Mapping[bytes, bytes]
) -> list[_Text]:
    """Return all texts for one function. first: calls before anything else."""
    block = block_of(function)
    if block is None:
        return []
    exits = find_exits(block, data)
    places = [opened(function, block, beat) for beat in beats]
    places.sort(key=lambda place: place.span[0], reverse=True)  # inner ones end first
    texts = [text for place in places if place.loop for text in _around(place, data)]
    declared: list[bytes] = []
    for exit_ in exits.exits:
        ends = [_end(place) for place in places if place.left_by(exit_, exits.labels)]
        if ends:
            if value_of(exit_.node) is not None and not declared:
                declared = [_declaration(function.node, data, macros)]
            texts += _at_exit(exit_.node, ends, void=declared == [VOID])
    bodies = [place for place in places if not place.loop]
    declared = [each for each in declared if each != VOID]
    opening = [*declared, *first, *(b"ekg_begin(%d);" % place.id for place in bodies)]
    if opening:
        inner = (block.start_byte + 1, block.end_byte - 1)
        closing = [] if _ends_with_jump(block, data) else [_end(place) for place in bodies]
        texts += _pair(inner, b" ".join([b"", *opening, b"{"]), b" ".join([b"}", *closing, b""]))
    return texts


def _around(place: Open, data: bytes) -> list[_Text]:
    """Return the texts that put the repeated statement of a loop in braces with its begin and end."""
    end = b"" if _ends_with_jump(place.statement, data) else b" " + _end(place)
    # Without braces of its own, compilers warn that the end is misleadingly indented.
    opening, closing = (b"", b"") if place.statement.type == "compound_statement" else (b"{ ", b" }")
    return _pair(place.span, b"{ ekg_begin(%d); " % place.id + opening, closing + end + b" }")


def _at_exit(exit_: Node, ends: list[bytes], *, void: bool) -> list[_Text]:
    """Return the ends before control leaves, but after the result is computed. void: `return f();` returns nothing."""
    value = value_of(exit_)
    if value is None:
        return _pair((exit_.start_byte, exit_.end_byte), b"{ " + b" ".join(ends) + b" ", b" }", exit_=True)
    span = (value.start_byte, value.end_byte)
    calls = b", ".join(end.rstrip(b";") for end in ends)
    if void:
        return _pair(span, b"((", b"), " + calls + b")", exit_=True)
    return _pair(span, b"(" + RESULT + b" = (", b"), " + calls + b", " + RESULT + b")", exit_=True)


def _pair(span: Span, opening: bytes, closing: bytes, *, exit_: bool = False) -> list[_Text]:
    return [_Text(span, True, opening, exit_), _Text(span, False, closing, exit_)]


def _declaration(function: Node, data: bytes, macros: Mapping[bytes, bytes]) -> bytes:
    declared = result_declaration(function, data, macros)
    if isinstance(declared, str):
        raise IncprofError(f"no pair of calls can go around it: {declared}")
    return declared


def _ends_with_jump(statement: Node, data: bytes) -> bool:
    """Return whether it is a jump, or a block that ends with one: a call after it would never run."""
    if statement.has_error or DIRECTIVE.search(data, statement.start_byte, statement.end_byte):
        return False
    while statement.type in ("compound_statement", "labeled_statement"):
        inner = [child for child in statement.named_children if child.type != "comment"]
        if not inner:
            return False
        statement = inner[-1]
    return statement.type in JUMPS


def _end(place: Open) -> bytes:
    return b"ekg_end(%d);" % place.id
