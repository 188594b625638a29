"""Reasons why no beat can go around the body of a C or C++ function."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from incprof.source.c.view import View

# Macros with these replacements are called like them.
_CONSTANT = re.compile(rb"const(?:expr|eval)|CONST(?:EXPR|EVAL)")
_NAKED = re.compile(
    rb"(?:__attribute(?:__)?\s*\(|__declspec\s*\(|\[\[)[^;{\]]*?\b_*(?:naked|interrupt|no_caller_saved_registers)_*\b"
)
_DEVICE = re.compile(rb"\b(?:__global__|__device__|__kernel)\b")
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
        found = {name.decode("utf-8", "replace") for name in _RESOLVER.findall(view.data)}
        return cls(view.text.generated, frozenset(found))


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
    if _DEVICE.search(head):
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
