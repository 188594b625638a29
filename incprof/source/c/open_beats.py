"""The statements of a C function in which a beat is open, and the exits that leave them."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from incprof.source.c.exits import Exit, Exits, Span
from incprof.source.model import Beat, SourceFunction


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

    def holds(self, offset: int) -> bool:
        """Return whether the byte at `offset` belongs to the statement."""
        return self.statement.start_byte <= offset < self.statement.end_byte

    def left_by(self, way: Exit, labels: dict[bytes, list[int]]) -> bool:
        """Return whether an exit leaves the statement; only a return leaves a function's own block."""
        if not self.holds(way.node.start_byte):
            return False
        if way.node.type == "return_statement":
            return True
        if not self.loop:
            return False
        if way.node.type == "goto_statement":
            return not any(map(self.holds, labels.get(way.label, ())))
        return way.within is not None and way.within[0] < self.statement.start_byte


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


def value_of(way: Node) -> Node | None:
    """Return the value of a return statement; None for `return;` and for other exits."""
    if way.type != "return_statement":
        return None
    return next((child for child in way.named_children if child.type != "comment"), None)


def ways_out(place: Open, found: Exits) -> list[Exit]:
    """Return the exits that leave the statement."""
    return [way for way in found.exits if place.left_by(way, found.labels)]
