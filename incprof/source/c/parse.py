"""Functions and loops of a C or C++ file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node, Range

from incprof.source.c.function_loops import FileFacts, find_inside, loops_of, refusal_everywhere, refusal_of_body
from incprof.source.c.view import View, body_of, language, parse, view_of, without
from incprof.source.model import SourceFile, SourceFunction
from incprof.source.parsing import parse_within_limits

_NAMES = frozenset({"identifier", "field_identifier", "type_identifier", "destructor_name", "operator_name"})
_AFTER_CONVERSION = re.compile(r"\s*\(.*", re.S)
_NO_NAMES = frozenset("if else for while do switch return namespace void int struct class sizeof catch".split())
_SPACE = re.compile(r"\s+")


def function_name(node: Node, text: bytes) -> str:
    """Return the name in a definition, qualified as written, without template arguments; "" if there is none.

    text: the file as it was parsed.
    """
    now = node.child_by_field_name("declarator")
    while (
        now is not None
        and now.type not in _NAMES
        and now.type
        not in (
            "qualified_identifier",
            "template_function",
            "operator_cast",
        )
    ):
        inner = now.child_by_field_name("declarator")
        # In some grammars, a pointer's or reference's declarator has no field.
        now = (
            inner
            if inner is not None
            else next((c for c in now.named_children if "declarator" in c.type), None)
            or (next((child for child in now.named_children if child.type in _NAMES), None))
        )
    name = _spelled(now, text) if now is not None else ""
    return "" if name in _NO_NAMES else name


def record_name(node: Node, text: bytes) -> str:
    """Return the name of a class; "" if it has none."""
    name = node.child_by_field_name("name")
    return _spelled(name, text) if name is not None else ""


def _spelled(node: Node, masked: bytes) -> str:
    text = masked[node.start_byte : node.end_byte].decode("utf-8", "replace")
    at = text.find("operator")
    if at >= 0 and not text[at + 8 : at + 9].isidentifier():
        operator = text[at + 8 :]
        conversion = operator.strip()[:1].isidentifier() and not operator.strip().startswith(
            ("new", "delete", "co_await")
        )
        operator = _AFTER_CONVERSION.sub("", operator) if conversion else operator
        blank = " " if operator.strip()[:1].isidentifier() else ""
        return without_arguments(text[:at]) + "operator" + blank + _SPACE.sub(blank, operator.strip())
    return without_arguments(text)


def without_arguments(text: str) -> str:
    """Return `Mesh<T>::smooth` without angle brackets and their contents, and without blanks."""
    kept, depth = [], 0
    for char in text:
        depth += char == "<"
        if depth == 0 and not char.isspace():
            kept.append(char)
        depth -= char == ">" and depth > 0
    return "".join(kept)


_RECORDS = ("class_specifier", "struct_specifier", "union_specifier")
# With more unreadable parts, a file has another problem.
_MOST_PIECES = 2000
# `BEGIN_CAPTURE {` and `} END_CAPTURE }`: no statement has this form.
_BLOCK_MACRO = re.compile(
    rb"[;{}]\s*+(?!(?:else|do|try|struct|class|union|enum|if|for|while|switch|catch|default|return|break|continue)\b)"
    rb"([A-Za-z_]\w*+(?:\s*+\([^(){};]*\))?)\s*+(?=[{}])"
)


class Pieces:
    """Parses parts of a file separately, so that no error elsewhere can affect them."""

    def __init__(self, view: View):
        self.view = view
        self._over = False  # a part would have taken too long: no other one is parsed
        self.lines = [0, *(match.end() for match in re.finditer(rb"\n", view.data))]

    def function(self, start: int, brace: int, end: int) -> Node | None:
        """Return the definition whose body is in these braces; without their contents if these cannot be read."""
        view = self.view
        definition = self._parse(view.masked, start, brace, end)
        if definition is None and view.cpp:
            macros = [match.span(1) for match in _BLOCK_MACRO.finditer(view.code, brace, end)]
            definition = self._parse(without(view.masked[:end], macros), start, brace, end) if macros else None
        if definition is None:
            definition = self._parse(without(view.masked[:end], [(brace + 1, end - 1)]), start, brace, end)
        return definition

    def _parse(self, text: bytes, start: int, brace: int, end: int) -> Node | None:
        piece = Range(self._point(start), self._point(end), start, end)
        tree = parse_within_limits(language(self.view.cpp), text, [piece]) if not self._over else None
        self._over = tree is None
        waiting = list(tree.root_node.children) if tree is not None else []
        while waiting:
            node = waiting.pop()
            if node.type == "template_declaration":
                waiting += node.children
            elif node.type == "function_definition":
                body = body_of(node)
                if body is not None and body.start_byte == brace and body.end_byte == end:
                    return node
        return None

    def _point(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.lines, offset) - 1
        return line, offset - self.lines[line]


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition. nested: it is in another function."""

    node: Node
    body: Node
    names: tuple[str, ...]
    nested: bool


def parse_c(path: str, data: bytes, *, cpp: bool, blank: Sequence[str] = ()) -> SourceFile:
    """Find the functions of a file, their loops, and places where no heartbeat can go.

    All definitions with a body are found, also in both branches of an #if if each branch is complete. Unreadable
    functions are refused, or not found; no error is raised.

    Args:
        path: For messages.
        data: The file without heartbeats of ours.
        cpp: Whether it is C++.
        blank: Macros hidden from the parser, with their arguments.
    """
    view = view_of(data, cpp=cpp, blank=blank)
    definitions = {each.body.start_byte: each for each in _definitions(parse(view), view)}
    for each in _unread(view, set(definitions)):
        definitions[each.body.start_byte] = each
    facts = FileFacts.of(view)
    ordered = sorted(definitions.values(), key=lambda each: (each.node.start_byte, -each.node.end_byte))
    return SourceFile(path, "c++" if cpp else "c", data, tuple(_function(each, view, facts) for each in ordered))


def _unread(view: View, bodies: set[int]) -> Iterator[_Definition]:
    """Yield the functions that the parser missed: each is parsed separately."""
    pieces = Pieces(view)
    tries = 0
    for block in view.blocks.bodies.values():
        if block.start in bodies or b")" not in view.code[block.head : block.start]:
            continue
        tries += 1
        node = pieces.function(block.head, block.start, block.end or len(view.data)) if tries <= _MOST_PIECES else None
        if node is not None:
            yield from _definitions(node, view)


def _definitions(root: Node, view: View) -> Iterator[_Definition]:
    """Yield all functions and lambdas whose braces are those of a function."""
    waiting: list[tuple[Node, tuple[str, ...], bool]] = [(root, (), False)]
    while waiting:
        node, names, nested = waiting.pop()
        if node.type in ("function_definition", "lambda_expression"):
            body = body_of(node)
            block = view.blocks.bodies.get(body.start_byte) if body is not None else None
            if block is not None and body is not None and block.end != body.end_byte:
                continue  # it will be parsed separately
            own = "lambda" if node.type == "lambda_expression" else function_name(node, view.masked)
            if body is not None and own and (nested or block is not None or own == "lambda"):
                names = (*(block.names if block is not None and not nested else names), own)
                yield _Definition(node, body, names, nested)
                nested = True
        elif nested and node.type in _RECORDS and (name := record_name(node, view.masked)):
            names = (*names, name)
        if node.child_count:
            waiting += [(child, names, nested) for child in node.children]


def _function(definition: _Definition, view: View, facts: FileFacts) -> SourceFunction:
    node, body, name = definition.node, definition.body, "::".join(definition.names)
    everywhere = refusal_everywhere(node, body, name, view, facts)
    return SourceFunction(
        name=name,
        syntax=node,
        line=node.start_point.row + 1,
        last_line=node.end_point.row + 1,
        loops=loops_of(find_inside(node, view.masked), view, everywhere),
        is_main=name == "main" and not definition.nested,
        refusal=everywhere or refusal_of_body(node, body, definition.nested, view),
    )
