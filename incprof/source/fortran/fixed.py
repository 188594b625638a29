"""Lines of fixed form: labels, continuation marks and statements in columns of their own, or after tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from incprof.source.fortran.lines import (
    DIRECTIVE,
    LABEL_COLUMNS,
    LAST_COLUMN,
    Lines,
    Row,
    code_end,
    cpp_row,
    goes_on,
    note_split,
    skipped,
)

# A Hollerith constant, text with its length before it: FORMAT (5HDON'T).
_HOLLERITH = re.compile(r"(?<=[(,/=])[ \t]*(\d{1,3})[hH]|['\"!]")
_FIXED_CONDITIONAL = re.compile(r"[!cC*]\$[ \t\d]{3}.|[!cC*]\$[ \t]*\t")


def fixed_rows(lines: Lines) -> Iterator[Row]:
    """Yield the rows of a file in fixed form. A row ends where the next one starts, so rows in between wait."""
    text = lines.text
    row: Row | None = None  # may continue in the next line
    waiting: list[Row] = []  # found since, between its lines or after it
    seen = 0  # number of these that are between its lines
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
            if found := DIRECTIVE.match(text, start, stop):
                waiting.append(Row("directive", start, end, number, number, [(found.start(), stop)]))
            continue
        at, limit, continued = _fields(text, start, stop)
        if continued and row is not None:
            if conditional and not row.conditional:
                continue
            row.end, row.last_line = end, number
            note_split(text, row, waiting[seen:])
            seen = len(waiting)
        else:
            if row is not None:
                yield row
            yield from waiting
            waiting.clear()
            seen = 0
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
