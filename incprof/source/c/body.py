"""The parts of a function's body that decide where a beat can go: its loops, jumps, and unparsable parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_CALLS = frozenset({"call_expression", "new_expression", "delete_expression"})
_OTHERS = frozenset({"function_definition", "lambda_expression"})


@dataclass(slots=True)
class FoundLoop:
    """A loop, and properties of the code in it but not in an inner loop.

    Attributes:
        body: None if the parser found none.
        parent: the enclosing loop.
        entered: it contains a case of a switch outside it.
        broken: it, or its header, lies in a part that the parser could not read.
    """

    node: Node
    body: Node | None
    parent: int | None
    depth: int
    calls: bool = False
    entered: bool = False
    broken: bool = False


@dataclass(slots=True)
class Inside:
    """Contents of the definition in `span`.

    Attributes:
        loops: an outer one before those inside it.
        labels: offsets and names.
        computed: offsets of jumps in assembler.
    """

    span: tuple[int, int]
    loops: list[FoundLoop] = field(default_factory=list)
    labels: list[tuple[int, bytes]] = field(default_factory=list)
    computed: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """Context of a node: its loop, the loop around its switch (-1: there is no switch), whether it is in an error."""

    loop: int | None = None
    switch: int | None = -1
    broken: bool = False


def find_inside(definition: Node, seen: bytes) -> Inside:
    """Search a definition, except functions and lambdas nested in it."""
    found = Inside((definition.start_byte, definition.end_byte))
    waiting = [(child, _Place()) for child in reversed(definition.children)]
    while waiting:
        node, place = waiting.pop()
        if node.type in _OTHERS:
            continue
        if node.child_count:
            inner = _enter(found, node, place)
            waiting += [(child, inner) for child in reversed(node.children)]
        if node.is_named or node.is_missing:
            _note(found, node, place, seen)
    return found


def _enter(found: Inside, node: Node, place: _Place) -> _Place:
    if node.type in LOOPS:
        parent = place.loop
        depth = found.loops[parent].depth + 1 if parent is not None else 0
        body = node.child_by_field_name("body")
        found.loops.append(FoundLoop(node, body, parent, depth, broken=place.broken))
        return _Place(len(found.loops) - 1, place.switch, place.broken)
    if node.type == "switch_statement":
        return _Place(place.loop, place.loop, place.broken)
    if node.is_error:
        return _Place(place.loop, place.switch, True)
    return place


def _note(found: Inside, node: Node, place: _Place, seen: bytes) -> None:
    kind = node.type
    loop = found.loops[place.loop] if place.loop is not None else None
    if loop is not None and (kind in _CALLS or kind in LOOPS):
        loop.calls = True
    if loop is not None and (node.is_error or node.is_missing):
        loop.broken |= loop.body is None or node.start_byte < loop.body.start_byte or node.end_byte > loop.body.end_byte
    if kind == "case_statement":
        _enter_by_case(found, place)
    elif kind == "labeled_statement":
        label = node.child_by_field_name("label")
        if label is not None:
            found.labels.append((node.start_byte, seen[label.start_byte : label.end_byte]))
    elif kind == "gnu_asm_goto_list":
        found.computed.append(node.start_byte)


def _enter_by_case(found: Inside, place: _Place) -> None:
    """Mark the loops between a case and its switch."""
    at = place.loop
    while at is not None and at != place.switch and not found.loops[at].entered:
        found.loops[at].entered = True
        at = found.loops[at].parent
