"""Tables as CSV: a line of keys, then raw values; no cell can be read as a formula."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any, TextIO

from incprof.model.section import Table
from incprof.report.render.json import json_value

if TYPE_CHECKING:
    import pandas as pd

# A formula begins with one of these in a spreadsheet, which ignores a leading tab.
FORMULA = ("=", "+", "-", "@", "\t")


class Lines:
    """Lines that end with a newline, of a writer that ends them with CR LF, and therefore quotes both."""

    def __init__(self, out: TextIO):
        self._out = out

    def write(self, row: str) -> int:
        """Write a row."""
        return self._out.write(row.removesuffix("\r\n") + "\n")


def write_rows(rows: pd.DataFrame, out: TextIO) -> None:
    """Write the rows of a table below a header line; missing values are empty."""
    with_text_cells(rows).to_csv(Lines(out), index=False, lineterminator="\r\n")


def cell(text: str) -> str:
    """Return a text as spreadsheets show it: an apostrophe precedes anything that would be read as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def with_text_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which every text is a cell; numbers and missing values stay as they are."""
    text = [name for name, kind in rows.dtypes.items() if str(kind) in ("object", "str", "category")]
    return rows.assign(**{name: rows[name].astype("object").map(cell, na_action="ignore") for name in text})


def write_csv(table: Table, out: TextIO) -> None:
    """Write the columns that have a key. None becomes an empty cell; lists and mappings become JSON."""
    writer = csv.writer(Lines(out))
    writer.writerow([cell(column.key) for column in table.keyed])
    for row in table.rows:
        writer.writerow([_cell(column.get(row)) for column in table.keyed])


def _cell(value: Any) -> Any:
    """Return a value in the form that the writer takes."""
    value = json_value(value)
    if isinstance(value, list | dict):
        return json.dumps(value)
    return cell(value) if isinstance(value, str) else value
