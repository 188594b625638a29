"""Functions and loops of a C or C++ file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from incprof.source.c.inside import find_inside
from incprof.source.c.loops import loops_of
from incprof.source.c.names import function_name, record_name
from incprof.source.c.pieces import Pieces
from incprof.source.c.refuse import FileFacts, refusal_everywhere, refusal_of_body
from incprof.source.c.view import View, body_of, parse, view_of
from incprof.source.model import SourceFile, SourceFunction

_RECORDS = ("class_specifier", "struct_specifier", "union_specifier")
# In a file of which more cannot be read, something else is wrong.
_MOST_PIECES = 2000


@dataclass(frozen=True, slots=True)
class _Found:
    """A definition. nested: it is in another function."""

    node: Node
    body: Node
    names: tuple[str, ...]
    nested: bool


def parse_c(path: str, data: bytes, *, cpp: bool, blank: Sequence[str] = ()) -> SourceFile:
    """Find the functions of a file, their loops, and where no heartbeat can go.

    All definitions with a body are found, also in both branches of an #if whose branches are complete by themselves.
    What cannot be read is refused, or not found; nothing is raised.

    Args:
        path: For messages.
        data: The file without heartbeats of ours.
        cpp: Whether it is C++.
        blank: Macros that the parser shall not see; their arguments go with them.
    """
    view = view_of(data, cpp=cpp, blank=blank)
    found = {each.body.start_byte: each for each in _definitions(parse(view), view)}
    for each in _unread(view, set(found)):
        found[each.body.start_byte] = each
    facts = FileFacts.of(view)
    ordered = sorted(found.values(), key=lambda each: (each.node.start_byte, -each.node.end_byte))
    return SourceFile(path, "c++" if cpp else "c", data, tuple(_function(each, view, facts) for each in ordered))


def _unread(view: View, found: set[int]) -> Iterator[_Found]:
    """The functions that the parser has lost: each is parsed by itself."""
    pieces = Pieces(view)
    tries = 0
    for block in view.blocks.bodies.values():
        if block.start in found or b")" not in view.code[block.head : block.start]:
            continue
        tries += 1
        node = pieces.function(block.head, block.start, block.end or len(view.data)) if tries <= _MOST_PIECES else None
        if node is not None:
            yield from _definitions(node, view)


def _definitions(root: Node, view: View) -> Iterator[_Found]:
    """All functions and lambdas whose braces are where the braces of a function are."""
    waiting: list[tuple[Node, tuple[str, ...], bool]] = [(root, (), False)]
    while waiting:
        node, names, nested = waiting.pop()
        if node.type in ("function_definition", "lambda_expression"):
            body = body_of(node)
            block = view.blocks.bodies.get(body.start_byte) if body is not None else None
            if block is not None and body is not None and block.end != body.end_byte:
                continue  # it is to be parsed by itself
            own = "lambda" if node.type == "lambda_expression" else function_name(node, view.seen)
            if body is not None and own and (nested or block is not None or own == "lambda"):
                names = (*(block.names if block is not None and not nested else names), own)
                yield _Found(node, body, names, nested)
                nested = True
        elif nested and node.type in _RECORDS and (name := record_name(node, view.seen)):
            names = (*names, name)
        if node.child_count:
            waiting += [(child, names, nested) for child in node.children]


def _function(found: _Found, view: View, facts: FileFacts) -> SourceFunction:
    node, body, name = found.node, found.body, "::".join(found.names)
    everywhere = refusal_everywhere(node, body, name, view, facts)
    return SourceFunction(
        name=name,
        syntax=node,
        line=node.start_point.row + 1,
        last_line=node.end_point.row + 1,
        loops=loops_of(find_inside(node, view.seen), view, everywhere),
        is_main=name == "main" and not found.nested,
        refusal=everywhere or refusal_of_body(node, body, found.nested, view),
    )
