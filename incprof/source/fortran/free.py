"""Lines of free form: continuation marks at their ends, comments after `!`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from incprof.source.fortran.lines import (
    BYTE_ORDER_MARK,
    DIRECTIVE,
    Lines,
    Row,
    code_end,
    cpp_row,
    goes_on,
    note_split,
    skipped,
)

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
                    note_split(text, row, [cpp])
                yield cpp
            cpp = cpp if goes_on(text, start, stop) else None
            continue
        at = start + len(BYTE_ORDER_MARK) * (number == 1 and text.startswith(BYTE_ORDER_MARK))
        at = skipped(text, at, stop)
        conditional = bool(_FREE_CONDITIONAL.match(text, start, stop))
        if at == stop or (text[at] == "!" and not conditional):
            if found := DIRECTIVE.match(text, at, stop):
                yield Row("directive", start, end, number, number, [(found.start(), stop)])
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
