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
        for number, match in enumerate(_LINE.finditer(self.text), 1):
            start, end = match.span()
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
        match = pattern.search(text, at, stop)
        if match is None:
            return stop, ""
        if match[0] == "!":
            return match.start(), ""
        if match[0] in "'\"":
            at, quote = match.end(), match[0]
        else:
            at = min(match.end() + int(match[1]), stop)


def goes_on(text: str, start: int, stop: int) -> bool:
    """Return whether a preprocessor line continues in the next one."""
    return text.endswith("\\", start, stop)


def cpp_row(text: str, before: Row | None, number: int, start: int, end: int, stop: int) -> Row:
    """Return the row of a preprocessor line. before: the row that it continues."""
    if before is None:
        return Row("cpp", start, end, number, number, [(start, stop)])
    before.end, before.last_line = end, number
    return before


def record_split(text: str, row: Row, between: list[Row]) -> None:
    """Record the preprocessor lines that are between the lines of a row."""
    for each in between:
        if each.kind == "cpp":
            row.split = True
            match = _CONDITION.match(text, each.start, each.end)
            kind = match[1] if match and row.conditions >= 0 else ""
            row.conditions += {"if": 1, "end": -1}.get(kind, 0)
            if kind == "el" and row.conditions == 0:
                row.conditions = -1


def skipped(text: str, at: int, stop: int) -> int:
    """Return the position of the first character that is not a blank."""
    while at < stop and text[at] in " \t\f":
        at += 1
    return at


# A Hollerith constant, text with its length before it: FORMAT (5HDON'T).
_HOLLERITH = re.compile(r"(?<=[(,/=])[ \t]*(\d{1,3})[hH]|['\"!]")
_FIXED_CONDITIONAL = re.compile(r"[!cC*]\$[ \t\d]{3}.|[!cC*]\$[ \t]*\t")


def fixed_rows(lines: Lines) -> Iterator[Row]:
    """Yield the rows of a file in fixed form. A row ends where the next one starts, so rows in between wait."""
    text = lines.text
    row: Row | None = None  # may continue in the next line
    waiting: list[Row] = []  # found since, between its lines or after it
    inside = 0  # number of these that are between its lines
    cpp: Row | None = None
    for number, start, end, stop in lines:
        if cpp is not None or text.startswith("#", start):
            cpp = cpp_row(text, cpp, number, start, end, stop)
            if cpp.line == number:
                waiting.append(cpp)
            cpp = cpp if goes_on(text, start, stop) else None
            continue
        conditional = bool(_FIXED_CONDITIONAL.match(text, start, stop))
        if not conditional and _is_comment(text, start, stop):
            if match := DIRECTIVE.match(text, start, stop):
                waiting.append(Row("directive", start, end, number, number, [(match.start(), stop)]))
            continue
        at, limit, continued = _fields(text, start, stop)
        if continued and row is not None:
            if conditional and not row.conditional:
                continue
            row.end, row.last_line = end, number
            record_split(text, row, waiting[inside:])
            inside = len(waiting)
        else:
            if row is not None:
                yield row
            yield from waiting
            waiting.clear()
            inside = 0
            # A continuation line without a row is not a statement: its mark is taken for a label.
            label = (start, at) if continued else (start, min(start + LABEL_COLUMNS, at, stop))
            label = (start + 2, at) if conditional else label
            row = Row("code", start, end, number, number, label=label, conditional=conditional)
        code, row.quote = code_end(text, at, limit, row.quote, _HOLLERITH)
        row.pieces.append((at, code))
    if row is not None:
        yield row
    yield from waiting


def _is_comment(text: str, start: int, stop: int) -> bool:
    """Return whether a line of fixed form contains no code."""
    if start == stop or text[start] in "cC*!dD":
        return True
    at = skipped(text, start, stop)
    # In column 6 any character is a continuation mark.
    return at == stop or (text[at] == "!" and (at - start != LABEL_COLUMNS or "\t" in text[start:at]))


def _fields(text: str, start: int, stop: int) -> tuple[int, int, bool]:
    """Return where the statement field of a line of fixed form starts and ends, and whether the line continues another.

    A tab before column 7 leads to it, and a digit after the tab is a continuation mark.
    """
    if text[start] == "&":
        return start + 1, min(stop, start + LAST_COLUMN), True
    tab = text.find("\t", start, min(stop, start + LABEL_COLUMNS + 1))
    if tab >= 0:
        continued = text[tab + 1 : tab + 2] in tuple("123456789")
        at = tab + 1 + continued
        return at, min(stop, tab + 1 + LAST_COLUMN - LABEL_COLUMNS - 1 + continued), continued
    at = min(stop, start + LABEL_COLUMNS + 1)
    mark = text[start + LABEL_COLUMNS : at]
    return at, min(stop, start + LAST_COLUMN), mark not in ("", " ", "0")


_QUOTE_OR_COMMENT = re.compile(r"['\"!]")
_FREE_CONDITIONAL = re.compile(r"[ \t]*!\$[ \t&]")


def free_rows(lines: Lines) -> Iterator[Row]:
    """Yield the rows of a file in free form; preprocessor lines between the lines of a row come first."""
    text = lines.text
    row: Row | None = None  # continues in the next line
    cpp: Row | None = None
    for number, start, end, stop in lines:
        if cpp is not None or text.startswith("#", start):
            cpp = cpp_row(text, cpp, number, start, end, stop)
            if cpp.line == number:
                if row is not None:
                    record_split(text, row, [cpp])
                yield cpp
            cpp = cpp if goes_on(text, start, stop) else None
            continue
        at = start + len(BYTE_ORDER_MARK) * (number == 1 and text.startswith(BYTE_ORDER_MARK))
        at = skipped(text, at, stop)
        conditional = bool(_FREE_CONDITIONAL.match(text, start, stop))
        if at == stop or (text[at] == "!" and not conditional):
            if match := DIRECTIVE.match(text, at, stop):
                yield Row("directive", start, end, number, number, [(match.start(), stop)])
            continue
        if conditional:
            if row is not None and not row.conditional:
                continue  # one of a statement's lines, which only OpenMP compilers read
            at = skipped(text, at + 2, stop)
        if row is None:
            row = Row("code", start, end, number, number, conditional=conditional)
        if not _free_line(text, row, number, at, end, stop):
            yield row
            row = None
    if row is not None:
        yield row


def _free_line(text: str, row: Row, number: int, at: int, end: int, stop: int) -> bool:
    """Add a line of free form to its row, and return whether the row continues in the next one."""
    if row.pieces and text.startswith("&", at):
        at += 1
    elif row.pieces and text[at - 1] in " \t\f":
        at -= 1  # without a second mark the blank counts: it ends a word
    row.end, row.last_line = end, number
    code, row.quote = code_end(text, at, stop, row.quote, _QUOTE_OR_COMMENT)
    while code > at and text[code - 1] in " \t\f":
        code -= 1
    goes_on = code > at and text[code - 1] == "&"
    row.pieces.append((at, code - goes_on))
    return goes_on


def rows_of(text: str, *, fixed: bool) -> list[Row]:
    """Return the rows of a file, decoded as Latin-1, in the order of their lines."""
    lines = Lines(text)
    return list(fixed_rows(lines) if fixed else free_rows(lines))
