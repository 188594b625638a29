"""The marks by which our texts in Fortran are recognised and removed.

Every statement of ours ends its line, with `! incprof` after it, in one of two shapes:

line   `    call ekg_begin(3_4) ! incprof` with its line ending: inserted at the start of a line.
piece  `then ! incprof`, the line ending and blanks: inserted before a statement that something else precedes on its
       line, such as its label or the condition of an IF. The statement ends up at the start of a line, after blanks.

So text of ours that is alone on a line is removed with the line, even if its indentation was changed; a piece is
removed with the line ending and the blanks of the next line that is not ours.
"""

from __future__ import annotations

import bisect
import re

from incprof.source.fortran.rows import rows_of
from incprof.source.model import recognised

MARK = b" ! incprof"
FIXED_INDENT = b"      "

_NAMES = rb"ekg_[a-z]+(?:, ?ekg_[a-z]+)*"
_STRING = rb"'(?:[^'\r\n]|'')*'"
_STATEMENT = (
    rb"(?:use appekg, ?only: ?%b|call ekg_(?:begin|end)\(\d+_4\)|call ekg_init\(\)|call ekg_rate\(\d+_4, ?\d+_4\)"
    rb"|call ekg_name\(\d+_4,(?: ?%b\)| ?&)?|then|end if)" % (_NAMES, _STRING)
)
_CONTINUED = rb"(?:& ?)?(?:// ?)?%b(?:\)| ?// ?&)?" % _STRING
_END = rb"[ \t]*! incprof[ \t]*(?:\r?\n|\Z)"
_LINE = re.compile(rb"[ \t]*(?:%b|%b)%b" % (_STATEMENT, _CONTINUED, _END), re.I)
_LINES = re.compile(rb"[^\n]*\n|[^\n]+")
_PIECE = re.compile(_STATEMENT + _END, re.I)
# Longer than any piece of ours: the text before it on its line is not searched.
_LONGEST_PIECE = 400


def line(statement: bytes, indent: bytes, ending: bytes) -> bytes:
    r"""Return a line of its own.

    statement: One of ours, or a part of one that continues over several lines. indent: Blanks and tabs before it.
    ending: b"\n" or b"\r\n".

    Raises:
        ValueError: strip_fortran would not recognise the line.
    """
    return recognised(indent + statement + MARK + ending, _LINE)


def name_lines(number: int, name: str, *, fixed: bool) -> list[bytes]:
    """Return the parts of a call of ekg_name, one for each line, short enough for either form."""
    start = b"call ekg_name(%d_4," % number
    strings = [b"'%b'" % part for part in _quoted(name, most=40)]
    if len(strings) == 1:
        return [start + b" " + strings[0] + b")"]
    if fixed:
        return [start, b"& " + strings[0], *(b"& // " + each for each in strings[1:-1]), b"& // " + strings[-1] + b")"]
    return [start + b" &", *(each + b" // &" for each in strings[:-1]), strings[-1] + b")"]


def _quoted(name: str, *, most: int) -> list[bytes]:
    """Return the parts of a string, each of at most so many bytes between its quotes; at least one."""
    parts = [b""]
    for character in name:
        shown = (character if character.isprintable() else "?").replace("'", "''").encode(errors="replace")
        if len(parts[-1]) + len(shown) > most:
            parts.append(b"")
        parts[-1] += shown
    return parts


def strip_fortran(data: bytes, *, fixed: bool) -> bytes:
    """Return the bytes of a file without insertions; the same bytes if there are none."""
    if MARK.strip() not in data:
        return data
    code = _Code(data, fixed)
    parts: list[bytes] = []
    offset, joins = 0, False  # joins: the file's next line is appended to the current one
    for text in _LINES.findall(data):
        if _LINE.fullmatch(text):
            pass
        elif (start := _piece_start(text)) >= 0 and code.contains(offset + start):
            parts.append(text[:start].lstrip(b" \t") if joins else text[:start])
            joins = True
        else:
            parts.append(text.lstrip(b" \t") if joins else text)
            joins = False
        offset += len(text)
    return b"".join(parts)


def _piece_start(text: bytes) -> int:
    """Return where a piece of ours at the end of the line starts, or -1."""
    if MARK.strip() not in text[-_LONGEST_PIECE:]:
        return -1
    for match in re.compile(rb"then|call|end|use", re.I).finditer(text, max(len(text) - _LONGEST_PIECE, 0)):
        if _PIECE.fullmatch(text, match.start()):
            return match.start()
    return -1


class _Code:
    """Distinguishes code from comment, by byte."""

    def __init__(self, data: bytes, fixed: bool):
        rows = rows_of(data.decode("latin-1"), fixed=fixed)
        self._pieces = sorted(piece for row in rows if row.kind == "code" for piece in row.pieces)

    def contains(self, offset: int) -> bool:
        at = bisect.bisect(self._pieces, (offset, 1 << 62)) - 1
        return at >= 0 and self._pieces[at][0] <= offset < self._pieces[at][1]
