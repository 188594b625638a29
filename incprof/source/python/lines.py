"""The lines of a Python file, as bytes, and which of them begin inside a string or statement.

Non-ASCII bytes are never examined, so that the encoding need not be known. No error is raised: text that is not Python
yields some answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENDING = re.compile(rb"\r\n|\r|\n")
_BLANKS = re.compile(rb"[ \t\f]*")
# Significant tokens: strings (an unclosed triple one extends to the end of the file, any other to that of its line),
# comments, brackets, and lines that end or continue.
_TOKEN = re.compile(
    rb"(?P<string>(?P<quotes>'''|\"\"\")(?:\\.|[^\\])*?(?:(?P=quotes)|\Z)"
    rb"|'(?:\\(?:\r\n|.)|[^'\\\r\n])*'?|\"(?:\\(?:\r\n|.)|[^\"\\\r\n])*\"?)"
    rb"|#[^\r\n]*|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<on>\\(?:\r\n|\r|\n))",
    re.S,
)
TAB = 8


@dataclass(frozen=True, slots=True)
class Line:
    """A line.

    Attributes:
        start: first byte.
        end: byte after its line ending.
        quoted: it begins inside a string.
        joined: it continues a statement, in brackets or after a backslash.
    """

    start: int
    end: int
    quoted: bool
    joined: bool


def lines_of(data: bytes) -> list[Line]:
    """Return the lines of a file; the last one may have no ending. A byte order mark is not part of the first one."""
    first = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    starts = [first, *(match.end() for match in _ENDING.finditer(data, first))]
    quoted, joined = _inside(data, first)
    ends = [*starts[1:], len(data)]
    in_string, in_statement = _covered(quoted, starts), _covered(joined, starts)
    each = zip(starts, ends, in_string, in_statement, strict=True)
    return [Line(start, end, string, goes_on and not string) for start, end, string, goes_on in each if start < end]


def indent_of(data: bytes, line: Line) -> bytes:
    """Return the blanks at the start of a line."""
    match = _BLANKS.match(data, line.start, line.end)
    return match[0] if match else b""


def is_blank(data: bytes, line: Line) -> bool:
    """Return whether a line contains only blanks."""
    return not data[line.start : line.end].strip()


def is_comment(data: bytes, line: Line) -> bool:
    """Return whether a line contains only a comment, and is not part of a statement."""
    return not line.quoted and data[line.start : line.end].lstrip(b" \t\f").startswith(b"#")


def column(indent: bytes) -> int:
    """Return the column after some blanks, as Python counts."""
    at = 0
    for byte in indent:
        at = 0 if byte == 12 else (at // TAB + 1) * TAB if byte == 9 else at + 1
    return at


def ending_of(data: bytes) -> bytes:
    """Return the line ending of a file."""
    match = _ENDING.search(data)
    return match[0] if match else b"\n"


def _inside(data: bytes, first: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return strings that contain a line end, and ranges of statements that contain one: (start, end), ascending."""
    quoted, joined = list[tuple[int, int]](), list[tuple[int, int]]()
    depth = opened = 0
    for match in _TOKEN.finditer(data, first):
        if match["string"]:
            quoted.append((match.start(), match.end() - 1))
        elif match["open"]:
            depth, opened = depth + 1, opened if depth else match.start()
        elif match["close"] and depth:
            depth -= 1
            if not depth:
                joined.append((opened, match.start()))
        elif match["on"] and not depth:
            joined.append((match.start(), match.end()))
    if depth:
        joined.append((opened, len(data)))
    return quoted, joined


def _covered(spans: list[tuple[int, int]], offsets: list[int]) -> list[bool]:
    """Return whether each offset lies after the start of a span and not after its end; both ascending."""
    found, at = list[bool](), 0
    for offset in offsets:
        while at < len(spans) and spans[at][1] < offset:
            at += 1
        found.append(at < len(spans) and spans[at][0] < offset <= spans[at][1])
    return found
