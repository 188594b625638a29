"""Series from text: tables with commas, semicolons, tabs or blanks, with or without a header, and `perf stat -I`."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from typing import TextIO

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.series.columns import Series, Wanted, columns_of, series_from
from incprof.readers.series.form import LONGEST_LINE, Form, form_of
from incprof.readers.series.perf import is_perf, read_perf

# Rows per batch.
PIECE = 1 << 16


class Lines:
    """The lines of a text without comments and empty ones; `number` is that of the latest line, from 1."""

    def __init__(self, text: TextIO, where: str):
        self.text, self.where, self.number = text, where, 0

    def __iter__(self) -> Iterator[str]:
        """Return self."""
        return self

    def __next__(self) -> str:
        """Return the next line that is neither empty nor a comment."""
        while True:
            line = self.text.readline(LONGEST_LINE)
            if not line:
                raise StopIteration
            self.number += 1
            if len(line) >= LONGEST_LINE:
                raise NoDataError(
                    f"{self.where}: line {self.number} is longer than {LONGEST_LINE} characters: no table"
                )
            if (kept := line.strip()) and not kept.startswith("#"):
                return line


def read_text(text: TextIO, where: str, wanted: Wanted) -> Series:
    """Read a table, or the output of `perf stat -I`.

    Raises: as read_series.
    """
    lines = Lines(text, where)
    try:
        first = next(lines, None)
        if first is None:
            raise NoDataError(f"{where}: empty")
        if is_perf(first):
            return read_perf(itertools.chain([first], lines), where, wanted)
        return _read_table(first, lines, where, wanted)
    except OSError as error:
        raise NoDataError(f"{where}: cannot be read: {error.strerror or error}") from None


def _read_table(first: str, lines: Lines, where: str, wanted: Wanted) -> Series:
    """Read a table whose first line has been read."""
    form = form_of(first)
    chosen, time = columns_of(form.names, wanted, where)
    rows = lines if form.header else itertools.chain([first], lines)
    use = [*chosen, *([time] if time is not None else [])]
    try:
        table = _numbers(map(form.row, rows), form, use, wanted)
    except (ValueError, IndexError) as error:
        raise NoDataError(_what_is_wrong(str(error), lines, form, use, time)) from None
    columns = [table[:, at] for at in range(len(use))]
    name = "/".join(form.names[at] for at in chosen)
    return series_from(columns[: len(chosen)], columns[-1] if time is not None else None, name, where, wanted)


def _numbers(rows: Iterator[str], form: Form, use: list[int], wanted: Wanted) -> FloatArray:
    """Return the columns `use` of the wanted rows, (n, len(use)), read in batches.

    numpy allocates memory for the maximum number of rows before it has read one.

    Raises: ValueError, IndexError if a row is malformed.
    """
    parts: list[FloatArray] = []
    skip, left = wanted.first, max(wanted.rows - wanted.first, 0)
    while True:
        most = min(PIECE, left)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*input contained no data")  # series_from reports an empty table
            part = np.loadtxt(
                rows, delimiter=form.separator, usecols=use, ndmin=2, comments=None, quotechar='"', skiprows=skip,
                max_rows=most,
            )  # fmt: skip
        if len(part) or not parts:
            parts.append(part)
        skip, left = 0, left - len(part)
        if len(part) < most or not left:
            return np.concatenate(parts)


def _what_is_wrong(message: str, lines: Lines, form: Form, use: list[int], time: int | None) -> str:
    """Return an error message about a row that numpy refused."""
    where = f"{lines.where}: line {lines.number}"
    if match := re.search(r"could not convert string (.*) to float64 at row \d+, column (\d+)", message, re.DOTALL):
        column = int(match[2]) - 1
        name = form.names[column][:40] if column < len(form.names) else match[2]
        what = "--time none" if column == time else "another --column"
        return f"{where}: {match[1][:40]} is no number (column {name}): take {what}, or a --range without it"
    if "column" in message:
        return f"{where} has fewer than {max(use) + 1} columns: the file is torn, or no table"
    return f"{where} is no row of numbers"
