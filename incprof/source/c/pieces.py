"""Functions that the parser lost in a file are parsed by themselves, so that no error elsewhere can reach them."""

from __future__ import annotations

import re
from bisect import bisect_right

from tree_sitter import Node, Range

from incprof.source.c.view import View, body_of, language, without
from incprof.source.parsing import parse_within_limits

# `BEGIN_CAPTURE {` and `} END_CAPTURE }`: no statement looks like that.
_BLOCK_MACRO = re.compile(
    rb"[;{}]\s*+(?!(?:else|do|try|struct|class|union|enum|if|for|while|switch|catch|default|return|break|continue)\b)"
    rb"([A-Za-z_]\w*+(?:\s*+\([^(){};]*\))?)\s*+(?=[{}])"
)


class Pieces:
    """Parses parts of a file by themselves, so that no error elsewhere can reach them."""

    def __init__(self, view: View):
        self.view = view
        self._over = False  # a piece would have taken too long: no other one is looked at
        self.lines = [0, *(match.end() for match in re.finditer(rb"\n", view.data))]

    def function(self, start: int, brace: int, end: int) -> Node | None:
        """The definition whose body is these braces; without what is in them if that is what cannot be read."""
        view = self.view
        found = self._parse(view.seen, start, brace, end)
        if found is None and view.cpp:
            macros = [match.span(1) for match in _BLOCK_MACRO.finditer(view.code, brace, end)]
            found = self._parse(without(view.seen[:end], macros), start, brace, end) if macros else None
        if found is None:
            found = self._parse(without(view.seen[:end], [(brace + 1, end - 1)]), start, brace, end)
        return found

    def _parse(self, seen: bytes, start: int, brace: int, end: int) -> Node | None:
        piece = Range(self._point(start), self._point(end), start, end)
        tree = parse_within_limits(language(self.view.cpp), seen, [piece]) if not self._over else None
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
