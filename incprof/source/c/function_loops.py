"""The loops of a C or C++ function, and why no beat can go around its body or into some of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from tree_sitter import Node

from incprof.source.c.view import View
from incprof.source.model import Loop

LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_CALLS = frozenset({"call_expression", "new_expression", "delete_expression"})
_OTHERS = frozenset({"function_definition", "lambda_expression"})


@dataclass(slots=True)
class LoopNode:
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
    loops: list[LoopNode] = field(default_factory=list)
    labels: list[tuple[int, bytes]] = field(default_factory=list)
    computed: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """Context of a node: its loop, the loop around its switch (-1: there is no switch), whether it is in an error."""

    loop: int | None = None
    switch: int | None = -1
    broken: bool = False


def find_inside(definition: Node, text: bytes) -> Inside:
    """Search a definition, except functions and lambdas nested in it."""
    inside = Inside((definition.start_byte, definition.end_byte))
    waiting = [(child, _Place()) for child in reversed(definition.children)]
    while waiting:
        node, place = waiting.pop()
        if node.type in _OTHERS:
            continue
        if node.child_count:
            inner = _enter(inside, node, place)
            waiting += [(child, inner) for child in reversed(node.children)]
        if node.is_named or node.is_missing:
            _record(inside, node, place, text)
    return inside


def _enter(inside: Inside, node: Node, place: _Place) -> _Place:
    if node.type in LOOPS:
        parent = place.loop
        depth = inside.loops[parent].depth + 1 if parent is not None else 0
        body = node.child_by_field_name("body")
        inside.loops.append(LoopNode(node, body, parent, depth, broken=place.broken))
        return _Place(len(inside.loops) - 1, place.switch, place.broken)
    if node.type == "switch_statement":
        return _Place(place.loop, place.loop, place.broken)
    if node.is_error:
        return _Place(place.loop, place.switch, True)
    return place


def _record(inside: Inside, node: Node, place: _Place, text: bytes) -> None:
    kind = node.type
    loop = inside.loops[place.loop] if place.loop is not None else None
    if loop is not None and (kind in _CALLS or kind in LOOPS):
        loop.calls = True
    if loop is not None and (node.is_error or node.is_missing):
        loop.broken |= loop.body is None or node.start_byte < loop.body.start_byte or node.end_byte > loop.body.end_byte
    if kind == "case_statement":
        _enter_by_case(inside, place)
    elif kind == "labeled_statement":
        label = node.child_by_field_name("label")
        if label is not None:
            inside.labels.append((node.start_byte, text[label.start_byte : label.end_byte]))
    elif kind == "gnu_asm_goto_list":
        inside.computed.append(node.start_byte)


def _enter_by_case(inside: Inside, place: _Place) -> None:
    """Mark the loops between a case and its switch."""
    at = place.loop
    while at is not None and at != place.switch and not inside.loops[at].entered:
        inside.loops[at].entered = True
        at = inside.loops[at].parent


# Macros with these replacements are called like them.
_CONSTANT = re.compile(rb"const(?:expr|eval)|CONST(?:EXPR|EVAL)")
_NAKED = re.compile(
    rb"(?:__attribute(?:__)?\s*\(|__declspec\s*\(|\[\[)[^;{\]]*?\b_*(?:naked|interrupt|no_caller_saved_registers)_*\b"
)
_DEVICE_CODE = re.compile(rb"\b(?:__global__|__device__|__kernel)\b")
_COROUTINE = re.compile(rb"\bco_(?:await|yield|return)\b")
_TAIL_CALL = re.compile(rb"\bmusttail\b")
_RESOLVER = re.compile(rb'\bifunc(?:__)?\s*\(\s*"([^"\\\n]*)"')


@dataclass(frozen=True)
class FileFacts:
    """Properties of a whole file. resolvers: functions that the loader calls before a program can run."""

    generated: bool
    resolvers: frozenset[str]

    @classmethod
    def of(cls, view: View) -> FileFacts:
        """Collect the properties of a file."""
        resolvers = {name.decode("utf-8", "replace") for name in _RESOLVER.findall(view.data)}
        return cls(view.text.generated, frozenset(resolvers))


def refusal_everywhere(node: Node, body: Node, name: str, view: View, facts: FileFacts) -> str | None:
    """Return why neither a function's body nor any of its loops can have a beat; None if there is no reason."""
    block = view.blocks.bodies.get(body.start_byte)  # its text starts with macros that are hidden from the parser
    head = view.code[min(node.start_byte, block.head if block else node.start_byte) : body.start_byte]
    inner = view.code[body.start_byte : body.end_byte]
    if facts.generated:
        return "generated file: a #line directive in it names another one"
    if _CONSTANT.search(head):
        return "evaluated by the compiler: constexpr"
    if _NAKED.search(head):
        return "has no usual entry: naked, or an interrupt handler"
    if _DEVICE_CODE.search(head):
        return "runs on a device"
    if _COROUTINE.search(inner):
        return "a coroutine"
    if _TAIL_CALL.search(view.data, body.start_byte, body.end_byte):
        return "ends in a tail call that must stay one"
    if name in facts.resolvers:
        return "called by the loader, before the program's libraries are ready"
    return None


def refusal_of_body(node: Node, body: Node, nested: bool, view: View) -> str | None:
    """Return why no beat can go around a function's body, for reasons that do not concern its loops."""
    start, brace, end = node.start_byte, body.start_byte, body.end_byte
    if view.blocks.closing.get(brace) != end - 1:
        return "its braces cannot be matched"
    if nested and not view.cpp:
        return "a function within another"
    if any(child.has_error for child in node.children if child.start_byte < brace and child.end_byte <= brace):
        return "its header cannot be read"
    if split_by_directive(view, start, brace, end):
        return "#if splits its header or braces"
    return None


def split_by_directive(view: View, start: int, brace: int, end: int) -> bool:
    """Return whether a directive comes before an opening brace, or the closing one is in another branch."""
    context = view.text.context(start)
    return (
        view.text.directive_between(start, brace)
        or view.text.context(brace) != context
        or view.text.context(end - 1) != context
    )


_CASE = re.compile(rb"\b(?:case|default)\b")
SPLIT = "a directive splits its header or its body, which has no braces"
_JUMP_IN = re.compile(rb"\b(?:case|default)\b|[;{}:]\s*[A-Za-z_]\w*\s*:(?!:)")
_PRAGMA = re.compile(rb"\s*#\s*pragma\s+(omp|acc)\b(.*)", re.S)
_PERFECT = re.compile(rb"\b(?:collapse|ordered|tile|sizes)\s*\(([^)]*)\)")
_DEVICE = re.compile(rb"\btarget\b")
_CALL = re.compile(rb"\s*([A-Za-z_]\w*)\s*(?:\(|;)")
_SHOUTED = re.compile(rb"_*[A-Z][A-Z0-9_]*")
MOST_NESTED = 64
_GOTO = re.compile(rb"\bgoto\s*([A-Za-z_]\w*|\*)?")
_LABEL = re.compile(rb"\b([A-Za-z_]\w*)\s*:(?!:)")


def jumped_into(inside: Inside, view: View) -> list[str | None]:
    """Return, for each loop of a function, the jump that bypasses its guard; None if there is none.

    Jumps are searched in the text with all branches of #if, even where the parser could not read it.
    """
    reasons: list[str | None] = [
        "a case label in it belongs to a switch around it" if each.entered else None for each in inside.loops
    ]
    labels = dict(inside.labels)
    gotos = [(jump.start(), jump[1]) for jump in _GOTO.finditer(view.text.bare, *inside.span)]
    named = {name for _, name in gotos if name not in (None, b"*")}
    if named:
        matches = _LABEL.finditer(view.text.bare, *inside.span)
        labels |= {label.start(1): label[1] for label in matches if label[1] in named}
    holders = {offset: _holders(offset, inside) for offset in labels}
    at: dict[bytes, list[int]] = {}
    for offset, name in labels.items():
        at.setdefault(name, []).append(offset)
    for offset, name in gotos:
        for i in {i for label in at.get(name, ()) for i in holders[label]}:
            body = inside.loops[i].body
            if body is not None and not body.start_byte <= offset < body.end_byte:
                reasons[i] = reasons[i] or "a goto from outside jumps into it"
    computed = [offset for offset, name in gotos if name in (None, b"*")] + inside.computed
    if computed:
        for i in {i for found_in in holders.values() for i in found_in}:
            reasons[i] = reasons[i] or "a computed goto may jump into it"
        for i in {i for offset in computed for i in _holders(offset, inside)}:
            reasons[i] = reasons[i] or "a computed goto may jump out of it"
    for offset, name in labels.items():
        if name not in named or name in view.macro_labels:
            for i in holders[offset]:
                reasons[i] = reasons[i] or "a macro may jump to a label in it"
    return reasons


def _holders(offset: int, inside: Inside) -> list[int]:
    """Return the loops around an offset."""
    at: int | None = bisect_right(inside.loops, offset, key=lambda each: each.node.start_byte) - 1
    if at == -1:
        return []
    holders: list[int] = []
    while at is not None and len(holders) <= MOST_NESTED:
        each = inside.loops[at]
        if each.node.start_byte <= offset < each.node.end_byte:
            holders.append(at)
        at = each.parent
    return holders


def loops_of(inside: Inside, view: View, everywhere: str | None) -> tuple[Loop, ...]:
    """Return all loops that have a body. everywhere: why none of them can contain a beat."""
    jumped = jumped_into(inside, view)
    pragmas = [_before(each, view) for each in inside.loops]
    kept = [i for i, each in enumerate(inside.loops) if each.body is not None]
    position = {old: new for new, old in enumerate(kept)}
    answer = []
    for i in kept:
        each = inside.loops[i]
        reason = everywhere or (jumped[i] or _structure(each, view) or _directives(i, inside, pragmas))
        node, body = each.node, each.body
        assert body is not None
        parent = each.parent
        answer.append(
            Loop(
                syntax=node,
                repeated=body,
                line=node.start_point.row + 1,
                last_line=node.end_point.row + 1,
                parent=position.get(parent) if parent is not None else None,
                busy=each.calls,
                refusal=reason,
            )
        )
    return tuple(answer)


def _structure(each: LoopNode, view: View) -> str | None:
    """Return a problem with a loop's structure."""
    node, body = each.node, each.body
    assert body is not None
    if each.broken:
        return "inside code that cannot be parsed"
    if each.depth > MOST_NESTED:
        return "nested too deep"
    if body.type != "compound_statement":
        return _without_braces(each, view)
    if view.blocks.closing.get(body.start_byte) != body.end_byte - 1:
        return "its braces cannot be matched"
    if split_by_directive(view, node.start_byte, body.start_byte, body.end_byte):
        return "a directive splits its header or braces"
    if body.has_error and _JUMP_IN.search(view.code, body.start_byte + 1, body.end_byte):
        return "a part of its body cannot be parsed"
    for case in _CASE.finditer(view.text.bare, body.start_byte, body.end_byte):
        if view.code[case.start() : case.end()].isspace():
            return "a case label in it is in a branch of #if that is no whole statement"
    return _gap(each, view)


def _gap(each: LoopNode, view: View) -> str | None:
    """Return a problem unless only blanks and comments are between a header and its body."""
    assert each.body is not None
    before = [child.end_byte for child in each.node.children if child.end_byte <= each.body.start_byte]
    start = max(before, default=each.node.start_byte)
    comment_free = view.code[start : each.body.start_byte]
    return "there is something between its header and its body" if comment_free.strip() else None


def _without_braces(each: LoopNode, view: View) -> str | None:
    """Return a problem unless a body without braces is certainly one statement, so that braces can be added."""
    node, body = each.node, each.body
    assert body is not None
    if node.has_error:
        return "inside code that cannot be parsed"
    if view.text.directive_between(node.start_byte, body.end_byte):
        return SPLIT
    if view.text.context(node.start_byte) != view.text.context(body.end_byte - 1):
        return SPLIT
    if not view.code[body.start_byte : body.end_byte].strip():
        return "has no body"
    if body.type == "expression_statement":
        call = _CALL.match(view.code, body.start_byte)
        if call and (_SHOUTED.fullmatch(call[1]) or call[1] in view.macros):
            return "its body, which has no braces, may be a macro of several statements"
    if body.type == "declaration":
        return "its body declares something"
    return _gap(each, view)


def _directives(i: int, inside: Inside, pragmas: list[tuple[int, bool]]) -> str | None:
    """Return a reason if a loop must stay perfectly nested for OpenMP or OpenACC, or runs on a device."""
    at: int | None = i
    distance = 0
    while at is not None and distance <= MOST_NESTED:
        levels, device = pragmas[at]
        if device:
            return "runs on a device"
        if distance + 1 < levels:
            return "must stay perfectly nested for OpenMP"
        at, distance = inside.loops[at].parent, distance + 1
    return None


def _before(each: LoopNode, view: View) -> tuple[int, bool]:
    """Return, from the pragmas right before a loop, how many loops they collapse, and whether they are for a device."""
    levels, device, start = 1, False, each.node.start_byte
    at = bisect_right(view.text.directives, (start, 0)) - 1
    while at >= 0:
        first, last = view.text.directives[at]
        match = _PRAGMA.match(view.data, first, last)
        if not match or view.code[last:start].strip():
            break
        device |= match[1] == b"acc" or bool(_DEVICE.search(match[2]))
        for count in _PERFECT.findall(match[2]):
            number = count.strip()
            levels = max(levels, int(number[:4]) if number.isdigit() else MOST_NESTED)
        at, start = at - 1, first
    return levels, device
