"""The marks by which our texts in Python are recognised and removed.

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

from incprof.source.python.lines import Line, column, indent_of, is_blank, is_comment, lines_of

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

    Args:
        statement: One of ours.
        indent: Blanks and tabs before it.
        ending: b"\n", b"\r\n" or b"\r".

    Raises:
        ValueError: strip_python would not recognise the line.
    """
    made = indent + statement + MARK + ending
    if not (_OUR_CALL.fullmatch(made) or _OUR_WITH.fullmatch(made)):
        raise ValueError(f"no line of ours: {made!r}")
    return made


def split(indent: bytes, statement: bytes, ending: bytes) -> bytes:
    """Return the text after the colon of a statement that has its body on its line.

    Raises:
        ValueError: strip_python would not recognise it.
    """
    if not _BODY.fullmatch(indent + statement):
        raise ValueError(f"nothing of ours: {statement!r}")
    return MARK + ending + indent + statement


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
        ours = _OUR_WITH.fullmatch(data, one.start, one.end) or _OUR_WITH.fullmatch(data, other.start, other.end)
        if colon and body and not other.quoted and not ours:
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
