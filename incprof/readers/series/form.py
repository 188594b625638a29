"""The format of a text table, from its first line: separator, header and column names."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass

from incprof.safe.printable import printable

# If a line contains a comma and one of these, the comma is not a separator.
SEPARATORS = ("\t", ";", ",")
# A line this long is not a row of a table.
LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class Form:
    """The format of a table.

    Attributes:
        separator: None stands for blanks.
        header: the first line holds names; without one, names count from 1.
    """

    separator: str | None
    header: bool
    names: tuple[str, ...]

    def fields(self, line: str) -> list[str]:
        """Return the fields of a row without blanks and quotation marks around them."""
        return split(line, self.separator)

    def row(self, line: str) -> str:
        """Return a row with points for decimal commas, which spreadsheets write if semicolons separate fields."""
        return line.replace(",", ".") if self.separator == ";" else line


def form_of(line: str) -> Form:
    """Return the format of the table that begins with this line."""
    separator = next((sign for sign in SEPARATORS if sign in line), None)
    fields = split(line, separator)
    header = any(number(field.replace(",", ".") if separator == ";" else field) is None for field in fields)
    names = tuple(printable(field) for field in fields) if header else tuple(map(str, range(1, len(fields) + 1)))
    return Form(separator, header, names)


def split(line: str, separator: str | None) -> list[str]:
    """Return the fields of a line."""
    if separator is not None and '"' in line:
        try:
            return [field.strip() for field in next(csv.reader([line.strip()], delimiter=separator))]
        except csv.Error:  # a field of hundreds of kilobytes
            pass
    return [field.strip().strip('"') for field in line.rstrip("\r\n").split(separator)]


def number(text: str) -> float | None:
    """Return a number; NaN for an empty field, None for text that is not a number."""
    try:
        return None if "_" in text else float(text) if text else math.nan
    except ValueError:
        return None
