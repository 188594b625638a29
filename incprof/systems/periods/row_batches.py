"""Rows of a table of text that is still being written, or of `perf stat -I`, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.series.columns import LARGEST, Wanted, columns_of, shown
from incprof.readers.series.form import LONGEST_LINE, Form, form_of, number
from incprof.readers.series.perf import PerfRows, is_perf


class Rows:
    """Reads rows one by one; the first one determines the format. `name` is the column's name."""

    def __init__(self, where: str, wanted: Wanted):
        self.where, self.wanted = where, wanted
        self.lines = 0
        self._name = ""
        self._form: Form | None = None
        self._perf: PerfRows | None = None
        self._chosen: list[int] = []

    @property
    def name(self) -> str:
        """Name of the column, once the first row has been read."""
        return shown(self._perf.name if self._perf else self._name)

    def batches(self, lines: Iterable[str], size: int) -> Iterator[FloatArray]:
        """Yield values as they arrive, at most `size` at once. An empty line means that no more have arrived yet.

        Raises:
            NoDataError: a row holds no finite number where one is wanted.
            UsageError: the column does not exist, or several exist and none was named.
        """
        waiting: list[float] = []
        for line in lines:
            waiting += self._checked(self._values(line))
            if waiting and (len(waiting) >= size or not line):
                yield np.array(waiting)
                waiting = []
        waiting += self._checked(self._perf.rest() if self._perf else [])
        if waiting:
            yield np.array(waiting)

    def _values(self, line: str) -> list[float]:
        """Return the numbers that a row completes; empty for comments, the header, and other events."""
        if not line:
            return []
        self.lines += 1
        if len(line) > LONGEST_LINE:
            raise NoDataError(f"{self.where}: line {self.lines} is longer than {LONGEST_LINE} characters: no table")
        kept = line.strip()
        if not kept or kept.startswith("#"):
            return []
        if self._form is None and self._perf is None and self._begin(line):
            return []
        return self._perf.values(line) if self._perf else [self._field(line)]

    def _begin(self, line: str) -> bool:
        """Determine the format from the first row. Return whether that row is a header."""
        if is_perf(line):
            self._perf = PerfRows(self.where, self.wanted)
            return False
        self._form = form_of(line)
        self._chosen, _ = columns_of(self._form.names, self.wanted, self.where)
        self._name = "/".join(self._form.names[at] for at in self._chosen)
        return self._form.header

    def _field(self, line: str) -> float:
        fields = self._form.fields(self._form.row(line)) if self._form else []
        numbers = [number(fields[at]) if at < len(fields) else None for at in self._chosen]
        first, second = numbers[0], numbers[-1]
        if first is None or second is None:
            raise NoDataError(f"{self.where}: line {self.lines} holds no number in the column: {line.strip()[:40]!r}")
        if len(numbers) == 1:
            return first
        return first / second if second else float("nan")

    def _checked(self, values: list[float]) -> list[float]:
        """Refuse values that are not finite."""
        for value in values:
            if not abs(value) <= LARGEST:
                raise NoDataError(
                    f"{self.where}: line {self.lines} holds {value:g}: repair it, or take another --column"
                )
        return values
