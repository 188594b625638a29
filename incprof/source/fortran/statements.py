"""Statements of Fortran: their text without comments, strings and layout, and the position of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from incprof.source.fortran.lines import Row
from incprof.source.fortran.rows import rows_of

# A Hollerith constant, text with its length before it, as in FORMAT (5HDON'T); and a string.
_STRING = re.compile(r"(?<=[(,/=])[ \t]*(\d{1,3})[hH]|'[^']*(?:'|$)|\"[^\"]*(?:\"|$)")
_EMPTY = re.compile(r"'_*'?")
_BLANKS = re.compile(r"[ \t\f]+")
_LAYOUT = re.compile(r"(?<![\w$]) | (?![\w$])", re.ASCII)
_LABEL = re.compile(r"(\d{1,5})[ \t]*(?=[A-Za-z])")
_PARENTHESIS = re.compile(r"[()]")

NO_LABEL = "what is before column 6 is no label"


@dataclass(slots=True)
class Statement:
    """One statement, or a preprocessor line, or a directive.

    Attributes:
        kind: "code", or "cpp" and "directive" as in Row.
        text: in lower case, strings empty, blanks only between two words.
        label: its digits without leading zeros, or "".
        label_start: where its label starts, or `start`.
        start: first byte.
        end: byte after its last character.
        action: start of the action of a logical IF, or `start`.
        row: its lines.
        last: it is the last one in its row.
        fault: a problem, or "".
    """

    kind: str
    text: str
    label: str
    label_start: int
    start: int
    end: int
    action: int
    line: int
    row: Row
    last: bool = True
    fault: str = ""


def statements_of(text: str, *, fixed: bool) -> list[Statement]:
    """Return the statements and directives of a file, decoded as Latin-1, in order."""
    found: list[Statement] = []
    for row in rows_of(text, fixed=fixed):
        if row.kind == "code":
            found += _of_row(text, row, fixed)
        else:
            start, stop = row.pieces[0]
            plain = _BLANKS.sub(" ", text[start:stop].lower())
            found.append(Statement(row.kind, plain, "", start, start, stop, start, row.line, row))
    return found


def first_parenthesis_closed(text: str) -> int:
    """Return the position after the parenthesis that closes the first one that opens, or -1."""
    depth = 0
    for found in _PARENTHESIS.finditer(text):
        depth += 1 if found[0] == "(" else -1
        if depth <= 0:
            return found.end() if depth == 0 else -1
    return -1


def _of_row(text: str, row: Row, fixed: bool) -> list[Statement]:
    raw = _crossed("".join(text[start:stop] for start, stop in row.pieces), fixed)
    label = _BLANKS.sub("", text[slice(*row.label)]) if row.label else ""
    made: list[Statement] = []
    places = _Places(text, row)
    position = 0
    for part in raw.split(";"):
        begin, position = position + len(part) - len(part.lstrip(" \t\f")), position + len(part) + 1
        stripped = part.strip(" \t\f")
        if not stripped:
            continue
        label_start = places.of(begin)
        own = ""
        if label and not made:
            own, label_start = label, _label_start(text, row)
        elif not fixed and (found := _LABEL.match(stripped)):
            own, stripped = found[1], stripped[found.end() :]
            begin += found.end()
        start = action = places.of(begin)
        line = places.line
        plain = _LAYOUT.sub("", _BLANKS.sub(" ", _EMPTY.sub("''", stripped))).lower()
        if plain.startswith("if(") and (closed := first_parenthesis_closed(stripped)) > 0:
            action = places.of(begin + closed + len(stripped[closed:]) - len(stripped[closed:].lstrip(" \t\f")))
        end = places.of(begin + len(stripped) - 1) + 1
        fault = _fault(plain, row, own)
        if not own:
            label_start = start
        made.append(Statement("code", plain, own.lstrip("0"), label_start, start, end, action, line, row, False, fault))
    if made:
        made[-1].last = True
    return made


def _crossed(raw: str, fixed: bool) -> str:
    """Return a text of the same length with underscores in its strings, and so no semicolon or parenthesis there."""
    if not fixed and "'" not in raw and '"' not in raw:
        return raw
    parts, done = [], 0
    while found := _STRING.search(raw, done):
        start, end = found.span()
        if found[1]:
            if not fixed:
                parts.append(raw[done:end])
                done = end
                continue
            end = min(end + int(found[1]), len(raw))
        parts += [raw[done:start], "'", "_" * (end - start - 2), "'" * (end - start > 1)]
        done = end
    return "".join([*parts, raw[done:]])


def _label_start(text: str, row: Row) -> int:
    start, stop = row.label or (row.start, row.start)
    while start < stop and text[start] in " \t":
        start += 1
    return start


def _fault(plain: str, row: Row, label: str) -> str:
    if row.quote:
        return "a string does not end"
    if plain.count("(") != plain.count(")"):
        return "a parenthesis is not closed"
    return NO_LABEL if label and not label.isdigit() else ""


class _Places:
    """Maps positions in the joined pieces of a row to offsets; call it in ascending order. line: of the last one."""

    def __init__(self, text: str, row: Row):
        self._text, self._pieces, self._index, self._before = text, row.pieces, 0, 0
        self._counted, self.line = row.start, row.line

    def of(self, position: int) -> int:
        start, stop = self._pieces[self._index]
        while position - self._before >= stop - start and self._index + 1 < len(self._pieces):
            self._before += stop - start
            self._index += 1
            start, stop = self._pieces[self._index]
        offset = start + position - self._before
        self.line += self._text.count("\n", self._counted, offset)
        self._counted = max(self._counted, offset)
        return offset
