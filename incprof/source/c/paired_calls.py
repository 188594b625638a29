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

from tree_sitter import Node

from incprof.errors import IncprofError
from incprof.source.c.exits import Span, find_exits
from incprof.source.c.macros import macros_of
from incprof.source.c.marks import strip_c, within
from incprof.source.c.open_beats import Open, block_of, opened, value_of
from incprof.source.c.refusals import calls_refusal as calls_refusal
from incprof.source.c.result import RESULT, result_declaration
from incprof.source.c.scope import announcement_calls, include_insertion
from incprof.source.edits import insert
from incprof.source.model import Announcement, Beat, Insertion, SourceFile, SourceFunction

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

    Args:
        file: A file in C.
        beats: Beats that neither their function or loop nor `calls_refusal` refuses.
        announce: Not empty: the file contains main, which announces these.

    Raises:
        IncprofError: A beat is refused after all, there is no main, or texts of the file look like ours.
    """
    by_function: dict[int, list[Beat]] = {}
    for beat in beats:
        by_function.setdefault(beat.function, []).append(beat)
    texts: list[_Text] = []
    macros = macros_of(file.data)
    if announce and not any(function.is_main for function in file.functions):
        raise IncprofError(f"{file.path}: no main in it to name heartbeats in")
    for position, function in enumerate(file.functions):
        first = announcement_calls(announce) if function.is_main else []
        if position in by_function or first:
            texts += _in_function(file.data, function, by_function.get(position, []), first, macros)
    if not texts:
        return []
    texts.sort(key=_Text.order)
    made = [Insertion(each.offset, within(each.text)) for each in texts]
    made = [include_insertion(file, [each.offset for each in made]), *made]
    if strip_c(insert(file.data, made)) != file.data:
        raise IncprofError(f"{file.path}: text in it looks like generated heartbeats, which could not be removed again")
    return made


def _in_function(
    data: bytes, function: SourceFunction, beats: Sequence[Beat], first: list[bytes], macros: Mapping[bytes, bytes]
) -> list[_Text]:
    """Return all texts for one function. first: calls before anything else."""
    block = block_of(function)
    if block is None:
        return []
    found = find_exits(block, data)
    places = [opened(function, block, beat) for beat in beats]
    places.sort(key=lambda place: place.span[0], reverse=True)  # inner ones end first
    texts = [text for place in places if place.loop for text in _around(place, data)]
    declared: list[bytes] = []
    for way in found.exits:
        ends = [_end(place) for place in places if place.left_by(way, found.labels)]
        if ends:
            if value_of(way.node) is not None and not declared:
                declared = [_declaration(function.node, data, macros)]
            texts += _at_exit(way.node, ends, void=declared == [VOID])
    whole = [place for place in places if not place.loop]
    declared = [each for each in declared if each != VOID]
    opening = [*declared, *first, *(b"ekg_begin(%d);" % place.id for place in whole)]
    if opening:
        inner = (block.start_byte + 1, block.end_byte - 1)
        closing = [] if _never_reaches_its_end(block, data) else [_end(place) for place in whole]
        texts += _pair(inner, b" ".join([b"", *opening, b"{"]), b" ".join([b"}", *closing, b""]))
    return texts


def _around(place: Open, data: bytes) -> list[_Text]:
    """Return the texts that put the repeated statement of a loop in braces with its begin and end."""
    end = b"" if _never_reaches_its_end(place.statement, data) else b" " + _end(place)
    # Without braces of its own, compilers warn that the end is misleadingly indented.
    opening, closing = (b"", b"") if place.statement.type == "compound_statement" else (b"{ ", b" }")
    return _pair(place.span, b"{ ekg_begin(%d); " % place.id + opening, closing + end + b" }")


def _at_exit(way: Node, ends: list[bytes], *, void: bool) -> list[_Text]:
    """Return the ends before control leaves, but after the result is computed. void: `return f();` returns nothing."""
    value = value_of(way)
    if value is None:
        return _pair((way.start_byte, way.end_byte), b"{ " + b" ".join(ends) + b" ", b" }", exit_=True)
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


def _never_reaches_its_end(statement: Node, data: bytes) -> bool:
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
