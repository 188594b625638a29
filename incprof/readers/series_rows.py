"""Rows of a table of text that is still being written, or of `perf stat -I`, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray
from incprof.readers.series import Wanted, columns_of
from incprof.readers.series_perf import is_perf, perf_value

SEPARATORS = (",", ";", "\t")
LONGEST_LINE = 1 << 20


def batches(lines: Iterable[str], where: str, column: str | None, size: int) -> Iterator[FloatArray]:
    """Yield values as they come, at most `size` at once. An empty line says that no more have come yet.

    Raises:
        NoDataError: a row holds no finite number where one is wanted.
        UsageError: the column is not there, or there are several and none was named.
    """
    rows = Rows(where, column)
    waiting: list[float] = []
    for line in lines:
        value = rows.value(line) if line.strip() else None
        if value is not None:
            waiting.append(value)
        if waiting and (len(waiting) >= size or not line):
            yield np.array(waiting)
            waiting = []
    if waiting:
        yield np.array(waiting)


class Rows:
    """Reads one row after the other; the first one tells the form."""

    def __init__(self, where: str, column: str | None):
        self.where, self.column = where, column
        self.number = 0
        self.separator: str | None = None
        self.chosen: list[int] | None = None
        self.perf = False

    def value(self, line: str) -> float | None:
        """Return the number of a row, None for comments, the header, and other events.

        Raises: as batches.
        """
        self.number += 1
        if len(line) > LONGEST_LINE:
            raise NoDataError(f"{self.where}: line {self.number} is longer than {LONGEST_LINE} characters: no table")
        if line.lstrip().startswith("#"):
            return None
        if self.chosen is None and not self.perf and self._is_header(line):
            return None
        value = perf_value(line, self.column) if self.perf else self._field(line)
        if value is not None and not np.isfinite(value):
            raise NoDataError(f"{self.where}: line {self.number} holds {value:g}: repair it, or take another --column")
        return value

    def _is_header(self, line: str) -> bool:
        """Learn the form from the first row, and say whether it is a header."""
        self.perf = is_perf(line)
        if self.perf:
            if self.column is None:
                raise UsageError(f"{self.where}: name the event to follow with --column")
            return False
        self.separator = next((sign for sign in SEPARATORS if sign in line), None)
        fields = self._fields(line)
        header = not all(_number(field) is not None for field in fields)
        names = fields if header else [str(at + 1) for at in range(len(fields))]
        self.chosen, _ = columns_of(names, Wanted(column=self.column), self.where)
        return header

    def _fields(self, line: str) -> list[str]:
        return [field.strip().strip('"') for field in line.rstrip("\r\n").split(self.separator)]

    def _field(self, line: str) -> float:
        fields = self._fields(line)
        numbers = [_number(fields[at]) if at < len(fields) else None for at in self.chosen or ()]
        first, second = numbers[0], numbers[-1]
        if first is None or second is None:
            raise NoDataError(f"{self.where}: line {self.number} holds no number in the column: {line.strip()[:40]!r}")
        if len(numbers) == 1:
            return first
        return first / second if second else float("nan")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
