"""Reasons why calls cannot go around a C function or into its loop: an exit is hidden, or cannot be instrumented."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from incprof.source.c.exits import SETJMP, Exits, Span, find_exits, first_name, unseen
from incprof.source.c.loops import SPLIT
from incprof.source.c.macros import WORD, leaving_macros, leaving_macros_of, macros_of
from incprof.source.c.open_beats import Open, block_of, opened, value_of, ways_out
from incprof.source.c.result import result_declaration
from incprof.source.model import Beat, SourceFile, SourceFunction

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
        return "where it ends cannot be made out"
    known = {**macros, **macros_of(file.data)}
    leaving = leaving_macros(known) if macros else leaving_macros_of(file.data)
    found = find_exits(block, file.data)
    place = opened(function, block, beat)
    if not block.named_children and WORD.search(file.data, block.start_byte, block.end_byte):
        return "what is in it cannot be read"
    reason = _hidden(place, found, file.data, known, leaving)
    if reason is None and place.loop:
        reason = _loop_refusal(place, found, file.data, (block.start_byte, block.end_byte)) or _split(
            function, place, found
        )
    if reason is None and any(value_of(way.node) is not None for way in ways_out(place, found)):
        declared = result_declaration(function.node, file.data, known)
        return declared if isinstance(declared, str) else None
    return reason


def _hidden(
    place: Open, found: Exits, data: bytes, known: Mapping[bytes, bytes], leaving: frozenset[bytes]
) -> str | None:
    """Return an exit that is hidden."""
    at = unseen(found, data, place.span, "exit")
    if at is not None:
        return f"the exit in line {_line(data, at)} cannot be read"
    included = INCLUDE.search(data, *place.span)
    if included:
        return f"line {_line(data, included.start())} includes a file, which may leave it"
    at = first_name(leaving, data, place.span)
    if at is not None:
        word = WORD.match(data, at)
        return f"the macro {_word(word[0] if word else b'')} in line {_line(data, at)} may leave it"
    for offset, name in found.shouted:
        if place.holds(offset) and name not in known:
            return f"{_word(name)} in line {_line(data, offset)} may be a macro of another file that leaves it"
    for way in found.exits:
        if place.holds(way.node.start_byte):
            line = _line(data, way.node.start_byte)
            if way.node.has_error:
                return f"the exit in line {line} cannot be read"
            if way.node.type == "goto_statement" and way.label not in found.labels:
                return f"the label of the goto in line {line} is not in sight"
    return None


def _loop_refusal(place: Open, found: Exits, data: bytes, block_span: Span) -> str | None:
    """Return how a loop's body may be entered or left without passing its first or last line."""
    if found.errors:
        return f"line {_line(data, found.errors[0].start_byte)} of its function cannot be read"
    if found.computed:
        return f"line {_line(data, found.computed[0].start_byte)} jumps to a computed label"
    if first_name(SETJMP, data, block_span) is not None:
        return "its function calls setjmp"
    for way in found.exits:
        inside, line = place.holds(way.node.start_byte), _line(data, way.node.start_byte)
        if way.node.type == "goto_statement":
            there = [place.holds(label) for label in found.labels.get(way.label, ())]
            if any(there) and not all(there):
                return f"the goto in line {line} has two labels"
            if any(there) and not inside:
                return f"the goto in line {line} jumps into it"
        elif inside and way.within is None and way.node.type != "return_statement":
            return f"which statement line {line} leaves is unclear"
    at = unseen(found, data, place.span, "case")
    if at is not None:
        return f"the case in line {_line(data, at)} cannot be read"
    for case, switch in found.cases:
        if place.holds(case) and (switch is None or not place.holds(switch)):
            return f"the case in line {_line(data, case)} jumps into it"
    return None


def _split(function: SourceFunction, place: Open, found: Exits) -> str | None:
    """Return the problem of a nested loop that has another body in each branch of an #if."""
    ways = [way.node for way in found.exits if way.node.type in SHORT_CUTS and place.holds(way.node.start_byte)]
    for inner in function.loops:
        if inner.refusal != SPLIT or not place.holds(inner.node.start_byte):
            continue
        after = [way for way in ways if way.start_byte > inner.node.start_byte]
        if after:
            line = after[0].start_point.row + 1
            return f"a directive splits the loop in line {inner.line}: what line {line} leaves is unclear"
    return None


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _word(name: bytes) -> str:
    return name.decode("utf-8", "replace")
