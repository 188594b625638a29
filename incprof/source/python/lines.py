"""The lines of a Python file, as bytes: which begin inside a string or statement, and which are ours.

Non-ASCII bytes are never examined, so that the encoding need not be known. No error is raised: text that is not Python
yields some answer. Our text has two shapes:

line   `with appekg.beat(3):  # incprof` with its line ending: inserted at the start of a line. Its body is indented
       further than before, by the same blanks on each line that begins outside strings.
split  `  # incprof`, a line ending, blanks and `with appekg.beat(3):`: inserted after the colon of a statement that
       has its body on its line. The body follows it.

Text of ours that is alone on a line is removed with the line and its indentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from incprof.source.model import recognised

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
    covered, at = list[bool](), 0
    for offset in offsets:
        while at < len(spans) and spans[at][1] < offset:
            at += 1
        covered.append(at < len(spans) and spans[at][0] < offset <= spans[at][1])
    return covered


MARK = b"  # incprof"
IMPORT = b"import appekg"

_WITH = rb"with appekg\.beat\(\d+\):"
_CALL = rb'(?:import appekg|appekg\.name\(\d+, "(?:\\.|[^"\\\r\n])*"\)|appekg\.rate\(\d+, \d+\))'
_END = rb"[ \t]*# incprof[ \t]*(?:\r\n|\r|\n|\Z)"
_OUR_CALL = re.compile(rb"[ \t]*%b%b" % (_CALL, _END))
_OUR_WITH = re.compile(rb"[ \t]*%b%b" % (_WITH, _END))
_BODY = re.compile(rb"[ \t]*%b" % _WITH)
_COLON = re.compile(rb":  # incprof[ \t]*(?:\r\n|\r|\n)\Z")


@dataclass
class _Block:
    """A `with` of ours: its column, and the blanks before each line in it."""

    column: int
    deeper: bytes


def line(statement: bytes, indent: bytes, ending: bytes) -> bytes:
    r"""Return a line of its own.

    statement: One of ours. indent: Blanks and tabs before it. ending: b"\n", b"\r\n" or b"\r".

    Raises:
        ValueError: strip_python would not recognise the line.
    """
    return recognised(indent + statement + MARK + ending, _OUR_CALL, _OUR_WITH)


def split(indent: bytes, statement: bytes, ending: bytes) -> bytes:
    """Return the text after the colon of a statement that has its body on its line.

    Raises:
        ValueError: strip_python would not recognise it.
    """
    return MARK + ending + recognised(indent + statement, _BODY)


def strip_python(data: bytes) -> bytes:
    """Return the bytes of a file without insertions; the same bytes if there are none."""
    if MARK.strip() not in data:
        return data
    data = _joined(data)
    lines = lines_of(data)
    parts = [data[: lines[0].start] if lines else data]
    open_: list[_Block] = []
    waiting: list[Line] = []  # comments: they belong to the block of the next statement
    for number, each in enumerate(lines):
        text = data[each.start : each.end]
        if is_comment(data, each) and not each.joined:
            waiting.append(each)
            continue
        if is_blank(data, each) and not each.quoted:
            waiting.append(each)
            continue
        if not (each.quoted or each.joined):
            at = column(indent_of(data, each))
            open_ = [block for block in open_ if block.column < at]
        parts += [_without(data, one, open_) for one in waiting]
        waiting = []
        if each.quoted or each.joined:
            parts.append(text if each.quoted else _without(data, each, open_))
        elif _OUR_WITH.fullmatch(text):
            deeper = _deeper(data, lines, number)
            open_ = [*open_, _Block(at, deeper)]
        elif not _OUR_CALL.fullmatch(text):
            parts.append(_without(data, each, open_))
    return b"".join([*parts, *(data[one.start : one.end] for one in waiting)])


def _joined(data: bytes) -> bytes:
    """Return the file with bodies moved back after their colons."""
    lines = lines_of(data)
    parts, done = [], 0
    for one, other in pairwise(lines):
        colon = _COLON.search(data[one.start : one.end])
        body = _BODY.match(data, other.start, other.end)
        is_insertion = _OUR_WITH.fullmatch(data, one.start, one.end) or _OUR_WITH.fullmatch(
            data, other.start, other.end
        )
        if colon and body and not other.quoted and not is_insertion:
            parts.append(data[done : one.start + colon.start() + 1])
            done = body.end()
    return b"".join([*parts, data[done:]])


def _deeper(data: bytes, lines: list[Line], number: int) -> bytes:
    """Return the blanks added to the lines below a `with`; empty if somebody has changed them."""
    own = indent_of(data, lines[number])
    for each in lines[number + 1 :]:
        if not is_blank(data, each) and not is_comment(data, each):
            inner = indent_of(data, each)
            return inner[: len(inner) - len(own)] if len(inner) > len(own) and inner.endswith(own) else b""
    return b""


def _without(data: bytes, each: Line, blocks: list[_Block]) -> bytes:
    """Return a line without the blanks that the blocks around it added."""
    text = data[each.start : each.end]
    if each.quoted or is_blank(data, each):
        return text
    for block in reversed(blocks):
        text = text.removeprefix(block.deeper)
    return text


def is_call(text: bytes) -> bool:
    """Return whether a line without its ending is the import, or a call, of ours."""
    return _OUR_CALL.fullmatch(text) is not None


def is_with(text: bytes) -> bool:
    """Return whether a line without its ending begins with the `with` of a heartbeat, whoever inserted it."""
    return _BODY.match(text) is not None
