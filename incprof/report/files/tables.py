"""pandas tables as files for other tools: CSV and Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, TextIO

from incprof.report.files.csv_cells import write_rows

if TYPE_CHECKING:
    import pandas as pd


def write_csv(rows: pd.DataFrame, out: TextIO) -> None:
    """Write the rows below a header line; missing values are empty."""
    write_rows(rows.round(9), out)


def write_parquet(rows: pd.DataFrame, out: BinaryIO) -> None:
    """Write the rows as a Parquet file.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.Schema.from_pandas(rows, preserve_index=False)
    for place, field in enumerate(schema):
        # A column without a single value would have no type.
        if pa.types.is_null(field.type):
            schema = schema.set(place, pa.field(field.name, pa.string()))
    pq.write_table(pa.Table.from_pandas(rows, schema=schema, preserve_index=False), out)
