"""Tables as Markdown."""

from __future__ import annotations

import re
from typing import Any

from incprof.model.section import Column, Table
from incprof.report.render.plain import written

SPECIAL = re.compile(r"([\\`*_\[\]#|~<>&@])")
# Columns of a name; the indentation of a nested row, in spaces.
ROOM = 80
BLANK = "&nbsp;"
# Marks of cells that are not bold.
PLAIN = ("", "same", "unsure")


def plain(text: str) -> str:
    """Return text in one line with all markup escaped."""
    return SPECIAL.sub(lambda match: f"&#{ord(match[1])};", " ".join(text.splitlines()))


def markdown_table(table: Table) -> str:
    """Return a table; cells marked as a change are bold."""
    lines = [
        _line([plain(column.head or "") for column in table.shown]),
        "|" + "|".join("---" if column.unit == "" else "--:" for column in table.shown) + "|\n",
    ]
    lines += [_line([_cell(column, row) for column in table.shown]) for row in table.rows]
    return "".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _cell(column: Column, row: Any) -> str:
    if column.fit is not None:
        text = written(column.fit(row, ROOM), "")
        return BLANK * (len(text) - len(text.lstrip(" "))) + plain(text.strip(" "))
    text = plain(written(column.get(row), column.unit))
    return f"**{text}**" if text and column.mark is not None and column.mark(row) not in PLAIN else text
