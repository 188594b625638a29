"""Heartbeats as tables for other tools: CSV, Parquet, SQLite (docs/use/heartbeats.md)."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from numpy.typing import NDArray

from incprof.report.files.csv_cells import with_text_cells

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, NDArray[Any]]

BATCH = 50_000
TYPES = {"i": "INTEGER", "b": "INTEGER", "f": "REAL", "O": "TEXT", "U": "TEXT"}
KEYS = {
    "processes": ("process",),
    "beats": ("id",),
    "intervals": ("process", "interval"),
    "rows": ("process", "interval", "thread", "id"),
}


def write_csv(rows: pd.DataFrame, out: TextIO) -> None:
    """Write the rows under a line of names; NaN is empty."""
    with_text_cells(rows).to_csv(out, index=False, lineterminator="\n")


def write_parquet(rows: pd.DataFrame, out: BinaryIO) -> None:
    """Write the rows as a Parquet file.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Without an explicit type, a column with no name at all would have none.
    schema = pa.Schema.from_pandas(rows, preserve_index=False)
    schema = schema.set(schema.get_field_index("name"), pa.field("name", pa.string()))
    pq.write_table(pa.Table.from_pandas(rows, schema=schema, preserve_index=False), out)


def write_sqlite(tables: Mapping[str, Columns], out: BinaryIO) -> None:
    """Write an SQLite database with these tables.

    Args:
        tables: Tables named as in KEYS, in that order; each as columns of equal length.
        out: The output stream.
    """
    with tempfile.TemporaryDirectory(prefix="incprof-") as directory:
        path = Path(directory) / "heartbeats.sqlite"
        with closing(sqlite3.connect(path)) as database:
            # The file is discarded if this fails, so it needs no journal.
            database.execute("PRAGMA journal_mode = OFF")
            for name, columns in tables.items():
                _add_table(database, name, columns)
            database.commit()
        with path.open("rb") as raw:
            shutil.copyfileobj(raw, out, 1 << 20)


def _add_table(database: sqlite3.Connection, name: str, columns: Columns) -> None:
    """Create a table and fill it."""
    declared = [f'"{column}" {TYPES[values.dtype.kind]}' for column, values in columns.items()]
    key = ", ".join(f'"{column}"' for column in KEYS[name])
    database.execute(f'CREATE TABLE "{name}" ({", ".join(declared)}, PRIMARY KEY ({key})) WITHOUT ROWID')
    places = ", ".join("?" * len(columns))
    database.executemany(f'INSERT INTO "{name}" VALUES ({places})', _rows(columns))


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table as Python values; SQLite stores NaN as NULL."""
    length = len(next(iter(columns.values())))
    for begin in range(0, length, BATCH):
        yield from zip(*(values[begin : begin + BATCH].tolist() for values in columns.values()), strict=True)
