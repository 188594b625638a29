"""Tables as CSV: a line of keys, then raw values; no cell can be read as a formula."""

from __future__ import annotations

import csv
import json
from typing import Any, TextIO

from incprof.model.section import Table
from incprof.report.files.csv_files import Lines, cell
from incprof.report.render.json import json_value


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
