"""Tables as lines of plain text, and the text of each cell by its column's unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from rich.cells import cell_len

from incprof.analysis.views.tracks import badge
from incprof.model.section import MISSING, Table
from incprof.report.words.formatting import (
    decimal_size,
    duration,
    elapsed,
    joules,
    padded,
    pct,
    percent,
    rate,
    seconds,
    size,
)
from incprof.safe.printable import printable

FORMATS: dict[str, Callable[[float], str]] = {
    "": rate,
    "number": rate,
    "count": lambda value: str(int(value)),
    "phase": lambda value: badge(int(value)),
    # 1.23 ms; the same up to a minute, then 2 min 5 s; 3.2 s, 2 min 5 s.
    "s": seconds,
    "elapsed": elapsed,
    "duration": duration,
    # A share of 1: "61 %", and "61.3" where the heading has the percent sign.
    "%": percent,
    "percent": pct,
    # Powers of 1024, and of 1000.
    "B": lambda value: size(int(value)),
    "kB": decimal_size,
    "kB/s": lambda value: f"{decimal_size(value)}/s",
    "J": joules,
}


def written(value: object, unit: str) -> str:
    """Return a value formatted for people, without control characters."""
    if value is None:
        return "" if unit == "phase" else MISSING
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and unit == "":
        return str(value)
    if isinstance(value, int | float):
        return FORMATS[unit](value) if unit in FORMATS else f"{rate(value)} {unit}"
    if isinstance(value, tuple | list):
        return ", ".join(written(one, unit) for one in value)
    raise TypeError(f"a cell of a table holds {type(value).__name__}")


# Tables as lines of plain text, without colours or a terminal.


GAP = 2
# Columns of the names at least.
LEAST_NAME = 16


def plain_table(table: Table, width: int = 0) -> list[str]:
    """Return a line of headings, and a line for each row: texts left-aligned, all other columns right-aligned.

    A column with `fit` is shortened until the table has `width` columns, but not below 16.
    """
    columns = table.shown
    cells = [[column.head or "", *(written(column.get(row), column.unit) for row in table.rows)] for column in columns]
    rooms = [max(map(cell_len, column)) for column in cells]
    for at, column in enumerate(columns):
        if column.fit is not None:
            rooms[at] = min(rooms[at], max(width - sum(rooms) + rooms[at] - GAP * (len(rooms) - 1), LEAST_NAME))
            names = [written(column.fit(row, rooms[at]), "") for row in table.rows]
            cells[at] = [column.head or "", *names]
    lines = [
        [padded(cell, room, right=column.unit != "") for cell, room, column in zip(row, rooms, columns, strict=True)]
        for row in zip(*cells, strict=True)
    ]
    return [(" " * GAP).join(line).rstrip() for line in lines]


def write_plain(table: Table, out: TextIO) -> None:
    """Write the lines of a table."""
    out.writelines(f"{line}\n" for line in plain_table(table))
