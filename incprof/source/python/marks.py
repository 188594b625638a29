"""The marks by which our texts in Python are known again, and taken out.

line   `with appekg.beat(3):  # incprof` with its line ending: put in where a line starts. What it holds stands deeper
       than before, by the same blanks on each line that begins outside of strings.
split  `  # incprof`, a line ending, blanks and `with appekg.beat(3):`: put in behind the colon of a statement that has
       its body on its line. The body goes on behind it.

What stands alone on a line is a line of ours, and goes with its indentation.
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
    """A `with` of ours: the column that it stands at, and what each line in it begins with."""

    column: int
    deeper: bytes


def line(statement: bytes, indent: bytes, ending: bytes) -> bytes:
    r"""A line of its own.

    Args:
        statement: One of ours.
        indent: Blanks and tabs before it.
        ending: b"\n", b"\r\n" or b"\r".

    Raises:
        ValueError: strip_python would not know the line again.
    """
    made = indent + statement + MARK + ending
    if not (_OUR_CALL.fullmatch(made) or _OUR_WITH.fullmatch(made)):
        raise ValueError(f"no line of ours: {made!r}")
    return made


def split(indent: bytes, statement: bytes, ending: bytes) -> bytes:
    """What goes behind the colon of a statement that has its body on its line.

    Raises:
        ValueError: strip_python would not know it again.
    """
    if not _BODY.fullmatch(indent + statement):
        raise ValueError(f"nothing of ours: {statement!r}")
    return MARK + ending + indent + statement


def strip_python(data: bytes) -> bytes:
    """The bytes of a file without what was put in here; the same bytes where there is nothing of ours."""
    if MARK.strip() not in data:
        return data
    data = _joined(data)
    lines = lines_of(data)
    parts = [data[: lines[0].start] if lines else data]
    open_: list[_Block] = []
    waiting: list[Line] = []  # comments: they belong to what the next statement is in
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
    """The file with bodies behind their colons again."""
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
    """What the lines below a `with` begin with that they did not before; nothing where somebody has moved them."""
    own = indent_of(data, lines[number])
    for each in lines[number + 1 :]:
        if not is_blank(data, each) and not is_comment(data, each):
            inner = indent_of(data, each)
            return inner[: len(inner) - len(own)] if len(inner) > len(own) and inner.endswith(own) else b""
    return b""


def _without(data: bytes, each: Line, blocks: list[_Block]) -> bytes:
    """A line without what the blocks that it is in have put before it."""
    text = data[each.start : each.end]
    if each.quoted or is_blank(data, each):
        return text
    for block in reversed(blocks):
        text = text.removeprefix(block.deeper)
    return text


def is_call(text: bytes) -> bool:
    """Tell whether a line without its ending is the import, or a call, of ours."""
    return _OUR_CALL.fullmatch(text) is not None


def is_with(text: bytes) -> bool:
    """Tell whether a line without its ending begins with the `with` of a heartbeat, whoever has put it there."""
    return _BODY.match(text) is not None
