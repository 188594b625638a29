"""Events from text: a line each, or a field of each line. Only equality counts, so that any word will do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from incprof.errors import NoDataError
from incprof.readers.series.columns import position
from incprof.readers.series.form import LONGEST_LINE, Form, form_of

# A file that has one is no text.
NUL = "\0"


class Words:
    """Reads one event after the other. Without a column the whole line is the event."""

    def __init__(self, where: str, column: str | None):
        self.where, self.column = where, column
        self.lines = 0
        self._form: Form | None = None
        self._at = 0

    def batches(self, lines: Iterable[str], size: int) -> Iterator[list[str]]:
        """Yield events as they come, at most `size` at once. An empty line says that no more have come yet.

        Raises:
            NoDataError: a line has no such field, has a NUL, or is too long.
            UsageError: there is no such column.
        """
        waiting: list[str] = []
        for line in lines:
            if (word := self._word(line)) is not None:
                waiting.append(word)
            if waiting and (len(waiting) >= size or not line):
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def _word(self, line: str) -> str | None:
        """Return the event of a line, None of comments, empty lines, and the header of the column."""
        if not line:
            return None
        self.lines += 1
        if len(line) > LONGEST_LINE or NUL in line:
            what = "holds a NUL" if NUL in line else f"is longer than {LONGEST_LINE} characters"
            raise NoDataError(f"{self.where}: line {self.lines} {what}: no text with an event in each line")
        kept = line.strip()
        if not kept or kept.startswith("#"):
            return None
        if self.column is None:
            return kept
        if self._form is None:
            self._form = form_of(line)
            if self._begin(self._form.fields(line), self.column):
                return None
        fields = self._form.fields(line)
        if self._at >= len(fields):
            raise NoDataError(f"{self.where}: line {self.lines} has no field {self._at + 1}: {kept[:40]!r}")
        return fields[self._at]

    def _begin(self, fields: list[str], column: str) -> bool:
        """Find the column in the first line, and say whether that is a header: one that has the name is."""
        numbered = [str(at + 1) for at in range(len(fields))]
        header = not re.fullmatch("[0-9]+", column)
        self._at = position(fields if header else numbered, column, self.where)
        return header
