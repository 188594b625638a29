"""Tables as lines of plain text, without colours or a terminal."""

from __future__ import annotations

from typing import TextIO

from incprof.model.section import Table
from incprof.report.render.formats import written
from incprof.report.words.formatting import cell_len, padded

GAP = 2
# Columns of the names at least.
NAME = 16


def plain_table(table: Table, width: int = 0) -> list[str]:
    """Return a line of headings, and a line for each row: texts left-aligned, all other columns right-aligned.

    A column with `fit` is shortened until the table has `width` columns, but not below 16.
    """
    columns = table.shown
    cells = [[column.head or "", *(written(column.get(row), column.unit) for row in table.rows)] for column in columns]
    rooms = [max(map(cell_len, column)) for column in cells]
    for at, column in enumerate(columns):
        if column.fit is not None:
            rooms[at] = min(rooms[at], max(width - sum(rooms) + rooms[at] - GAP * (len(rooms) - 1), NAME))
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
