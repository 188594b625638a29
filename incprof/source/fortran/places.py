"""Places for our texts in a Fortran file: lines of their own at the start of a line, pieces elsewhere."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

from incprof.source.fortran.facts import RefusedError
from incprof.source.fortran.marks import FIXED_INDENT, MARK, line
from incprof.source.fortran.rows import LABEL_COLUMNS, LAST_COLUMN
from incprof.source.fortran.structure import Source
from incprof.source.model import Insertion

_BLANKS = re.compile(rb"[ \t\f]*")
_DEEPEST = 60  # most blanks before a line of ours


class Places:
    """Makes insertions for one file. data: its bytes."""

    def __init__(self, source: Source, data: bytes):
        self._source, self._data = source, data
        self._starts = [0, *(found.end() for found in re.finditer(rb"\n", data))]
        first = data.find(b"\n")
        self._ending = b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"

    def before(
        self, index: int, statements: Sequence[bytes], indent: bytes | None = None, *, label: bool = False
    ) -> Insertion:
        """Return the insertion before a statement: after its label, which branches need there, or before it (`label`).

        Raises: RefusedError if that makes a line of fixed form too long.
        """
        statement = self._source.statements[index]
        at = statement.label_start if label else statement.start
        return self._at(at, statements, self.indent(index) if indent is None else indent)

    def before_action(self, index: int, statements: Sequence[bytes]) -> Insertion:
        """Return the insertion before the action of a logical IF.

        Raises: RefusedError if that makes a line of fixed form too long.
        """
        return self._at(self._source.statements[index].action, statements, self.indent(index) + b"  ")

    def after(self, index: int, statements: Sequence[bytes], indent: bytes) -> Insertion:
        """Return the insertion after a statement, a directive or a preprocessor line.

        Raises: RefusedError if that makes a line of fixed form too long.
        """
        statement = self._source.statements[index]
        if statement.kind == "code" and not statement.last:
            return self._at(self._source.statements[index + 1].label_start, statements, indent)
        return Insertion(statement.row.end, self._lines(statement.row.end, statements, indent))

    def line_of(self, index: int, statements: Sequence[bytes], indent: bytes) -> Insertion:
        """Return the insertion before a preprocessor line."""
        start = self._source.statements[index].row.start
        return Insertion(start, self._lines(start, statements, indent))

    def indent(self, index: int) -> bytes:
        """Return the blanks with which a line starts in the same column as a statement."""
        start = self._source.statements[index].start
        line_start = self._line_start(start)
        blanks = _BLANKS.match(self._data, line_start)
        if blanks and blanks.end() == start and start - line_start <= _DEEPEST:
            return blanks[0].replace(b"\f", b"")
        return b" " * min(self._column(line_start, start), _DEEPEST)

    def _at(self, offset: int, statements: Sequence[bytes], indent: bytes) -> Insertion:
        line_start = self._line_start(offset)
        blanks = _BLANKS.match(self._data, line_start)
        if blanks and blanks.end() == offset:
            return Insertion(line_start, self._lines(line_start, statements, indent))
        ending = self._ending_at(offset)
        pad = indent
        if self._source.fixed:
            column = self._column(line_start, offset)
            if column + len(statements[0]) > LAST_COLUMN:
                raise RefusedError(f"no room before column 72, line {bisect.bisect(self._starts, offset)}")
            # Text after column 72 is comment and must stay there.
            pad = b" " * column if self._is_long(line_start) else self._fitting(b"", indent)
        return Insertion(offset, statements[0] + MARK + ending + self._lines(offset, statements[1:], indent) + pad)

    def _lines(self, offset: int, statements: Sequence[bytes], indent: bytes) -> bytes:
        ending = self._ending_at(offset)
        return b"".join(line(each, self._fitting(each, indent), ending) for each in statements)

    def _fitting(self, statement: bytes, indent: bytes) -> bytes:
        if not self._source.fixed:
            return indent
        if statement.startswith(b"&"):
            return FIXED_INDENT[:LABEL_COLUMNS]
        width = self._width(indent)
        return indent if width > LABEL_COLUMNS and width + len(statement) <= LAST_COLUMN else FIXED_INDENT

    def _is_long(self, line_start: int) -> bool:
        """Return whether a line extends beyond column 72."""
        end = self._data.find(b"\n", line_start, line_start + 200)
        return end < 0 or self._width(self._data[line_start:end].rstrip(b"\r")) > LAST_COLUMN

    def _column(self, line_start: int, offset: int) -> int:
        """Return how many columns precede a byte of a line."""
        return self._width(self._data[line_start : min(offset, line_start + 200)]) + max(offset - line_start - 200, 0)

    def _width(self, text: bytes) -> int:
        """Return the columns of a text; in fixed form a tab in the first ones leads to column 7."""
        tab = text.find(b"\t", 0, LABEL_COLUMNS + 1) if self._source.fixed else -1
        return len(text) if tab < 0 else LABEL_COLUMNS + len(text) - tab

    def _line_start(self, offset: int) -> int:
        return self._starts[bisect.bisect(self._starts, offset) - 1]

    def _ending_at(self, offset: int) -> bytes:
        """Return the line ending of the line that contains a byte, or of the file's first line."""
        at = bisect.bisect(self._starts, offset)
        if at == len(self._starts):
            return self._ending
        return b"\r\n" if self._data.endswith(b"\r\n", 0, self._starts[at]) else b"\n"
