"""Lines of Fortran: which bytes are code, which lines a statement continues on, and preprocessor lines.

Both forms yield rows, one for each run of lines that belong together. Text is decoded as Latin-1, so that a character
is a byte and offsets are those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

LAST_COLUMN = 72  # of fixed form: the rest is comment
LABEL_COLUMNS = 5
BYTE_ORDER_MARK = "\xef\xbb\xbf"  # of UTF-8, decoded as Latin-1

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
DIRECTIVE = re.compile(r"[!cC*](?:\$[A-Za-z]+|[A-Za-z]{3,5}\$)", re.ASCII)
_CONDITION = re.compile(r"#[ \t]*(if|el|end)")


@dataclass(slots=True)
class Row:
    """One statement or more, separated by semicolons; or one directive.

    Attributes:
        kind: "code"; "cpp" for a preprocessor line; "directive" for OpenMP, OpenACC and compilers' own.
        start: first byte of its lines.
        end: byte after its lines, the last newline included.
        line: number of its first line, from 1.
        last_line: number of its last line.
        pieces: ranges of code, without comments, labels in fixed form, and continuation marks.
        label: the label field of fixed form, as (start, end).
        conditional: code for OpenMP compilers only.
        split: a preprocessor line is between its lines.
        conditions: number of #if that start inside it and do not end there; -1 once an #else or #endif has no #if
            inside it.
        quote: of an unterminated string.
    """

    kind: Literal["code", "cpp", "directive"]
    start: int
    end: int
    line: int
    last_line: int
    pieces: list[tuple[int, int]] = field(default_factory=list)
    label: tuple[int, int] | None = None
    conditional: bool = False
    split: bool = False
    conditions: int = 0
    quote: str = ""


class Lines:
    """The lines of a text, one at a time: number from 1, start and end in bytes, end of the text on it."""

    def __init__(self, text: str):
        self.text = text

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        for number, found in enumerate(_LINE.finditer(self.text), 1):
            start, end = found.span()
            stop = end
            while stop > start and self.text[stop - 1] in "\r\n":
                stop -= 1
            yield number, start, end, stop


def code_end(text: str, at: int, stop: int, quote: str, pattern: re.Pattern[str]) -> tuple[int, str]:
    """Return where the code of a line ends, without comments, and the quote of a string that is still open there."""
    while True:
        if quote:
            closing = text.find(quote, at, stop)
            if closing < 0:
                return stop, quote
            at, quote = closing + 1, ""
        found = pattern.search(text, at, stop)
        if found is None:
            return stop, ""
        if found[0] == "!":
            return found.start(), ""
        if found[0] in "'\"":
            at, quote = found.end(), found[0]
        else:
            at = min(found.end() + int(found[1]), stop)


def goes_on(text: str, start: int, stop: int) -> bool:
    """Return whether a preprocessor line continues in the next one."""
    return text.endswith("\\", start, stop)


def cpp_row(text: str, before: Row | None, number: int, start: int, end: int, stop: int) -> Row:
    """Return the row of a preprocessor line. before: the row that it continues."""
    if before is None:
        return Row("cpp", start, end, number, number, [(start, stop)])
    before.end, before.last_line = end, number
    return before


def note_split(text: str, row: Row, between: list[Row]) -> None:
    """Record the preprocessor lines that are between the lines of a row."""
    for each in between:
        if each.kind == "cpp":
            row.split = True
            found = _CONDITION.match(text, each.start, each.end)
            kind = found[1] if found and row.conditions >= 0 else ""
            row.conditions += {"if": 1, "end": -1}.get(kind, 0)
            if kind == "el" and row.conditions == 0:
                row.conditions = -1


def skipped(text: str, at: int, stop: int) -> int:
    """Return the position of the first character that is not a blank."""
    while at < stop and text[at] in " \t\f":
        at += 1
    return at
