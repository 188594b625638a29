"""The statements that a heartbeat goes around: their place in the bytes, and why none can go there."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from incprof.source.python.lines import TAB, Line, indent_of, is_blank, is_comment, lines_of
from incprof.source.python.sites import Function, tree_of

_TO_BODY = re.compile(rb":[ \t\f]*(?:\\(?:\r\n|\r|\n)[ \t\f]*)*\Z")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
SHARED = "its docstring shares a line with what it does"
ODD = "there is a form feed before a statement in it"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines around which a heartbeat goes.

    Attributes:
        first: position in Text.lines.
        last: position in Text.lines.
        indent: of the statements.
        deeper: blanks to insert before them.
        colon: byte after which the body continues on its line; None if it has lines of its own.
    """

    first: int
    last: int
    indent: bytes
    deeper: bytes
    colon: int | None = None


class Text:
    """A file: its bytes, lines and tree."""

    def __init__(self, data: bytes):
        self.data, self.lines, self.tree = data, lines_of(data), tree_of(data)

    @cached_property
    def _encoding(self) -> str:
        """Encoding of the file."""
        for line in self.lines[:2]:
            text = self.data[line.start : line.end]
            if match := _CODING.match(text):
                return match[1].decode("ascii")
            if text.strip() and not text.lstrip(b" \t\f").startswith(b"#"):
                break
        return "utf-8"

    def offset(self, line: int, column: int) -> int:
        """Return the byte offset for the parser's line, from 1, and column in UTF-8."""
        here = self.lines[line - 1]
        text = self.data[here.start : here.end].decode(self._encoding, "surrogateescape")
        before = text.encode("utf-8", "surrogateescape")[:column].decode("utf-8", "surrogateescape")
        return here.start + len(before.encode(self._encoding, "surrogateescape"))

    def block(self, head: ast.stmt, body: Sequence[ast.stmt]) -> Block | str:
        """Return the place of the statements in `head`; a str is the reason why nothing can go around them."""
        start = body[0]
        number = min([start.lineno, *(d.lineno for d in getattr(start, "decorator_list", ()))]) - 1
        last = (body[-1].end_lineno or body[-1].lineno) - 1
        while (
            last + 1 < len(self.lines) and self.lines[last + 1].joined and is_comment(self.data, self.lines[last + 1])
        ):
            last += 1  # a backslash joins it to the line before
        above, line = self.lines[head.lineno - 1], self.lines[number]
        outer, indent = indent_of(self.data, above), indent_of(self.data, line)
        at = self.offset(start.lineno, start.col_offset)
        inside = {indent_of(self.data, each) for each in self.lines[number : last + 1] if self._is_code(each)}
        if any(b"\f" in each for each in inside):
            return ODD
        alone = number + 1 < start.lineno or line.start + len(indent) == at
        if alone and not line.joined and not line.quoted:
            return Block(number, last, indent, _unit(outer, indent, tabs=any(b"\t" in each for each in inside)))
        between = self.data.rfind(b":", above.start, at)
        if between < 0 or not _TO_BODY.match(self.data[between:at]):
            return SHARED
        if above.joined or above.quoted or b"\f" in outer:
            return "it begins in the middle of a line"
        return Block(number, last, outer, _unit(b"", outer, tabs=b"\t" in outer), between + 1)

    def _is_code(self, line: Line) -> bool:
        return not (line.quoted or line.joined or is_blank(self.data, line) or is_comment(self.data, line))


def body_of(function: Function) -> list[ast.stmt]:
    """Return a function's statements without the docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def _unit(outer: bytes, inner: bytes, *, tabs: bool) -> bytes:
    """Return the blanks of one more level: the body's indentation beyond that of its head.

    Before a tab, only another tab or its width shift all that follows by the same amount.
    """
    if tabs:
        return b"\t" if inner.startswith(b"\t") else b" " * TAB
    return inner[len(outer) :] or b"    "
