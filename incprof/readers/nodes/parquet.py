"""Parquet files with a column of times, perhaps one of nodes, and columns of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.inputs import open_input
from incprof.printable import printable
from incprof.readers.nodes.named import tables_of
from incprof.readers.nodes.tables import Table

MOST_NUMBERS = 400_000_000


def read_parquet(path: str) -> list[Table]:
    """Read a Parquet file.

    Raises:
        NoDataError: it is none, or has no row.
        UsageError: no column holds times, or there is too much.
        IncprofError: pyarrow is not installed.
        OSError: it cannot be read.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise IncprofError(f"{path} needs pyarrow: pip install 'incprof[parquet]'") from None
    try:
        with open_input(path) as raw, parquet.ParquetFile(raw) as file:
            schema = file.schema_arrow
            if file.metadata.num_rows * len(schema) > MOST_NUMBERS:
                raise UsageError(f"{path} holds more than {MOST_NUMBERS} numbers: write a file for each node")
            twins = [name for name in schema.names if schema.names.count(name) > 1]
            if twins:
                raise NoDataError(f"{path}: several columns are called {printable(twins[0])[:40]}")
            used = [field.name for field in schema if _is_flat(field.type)]
            table = file.read(columns=used)
            columns = {name: _array(table.column(name)) for name in used}
    except (ValueError, MemoryError, OverflowError, pyarrow.ArrowException) as error:
        said = str(error).splitlines()
        raise NoDataError(f"{path}: not a Parquet file: {printable(said[0])[:120] if said else 'damaged'}") from None
    return tables_of(path, columns)


def _is_flat(kind: Any) -> bool:
    from pyarrow import types

    usable = (
        types.is_integer, types.is_floating, types.is_boolean, types.is_timestamp, types.is_string,
        types.is_large_string, types.is_dictionary, types.is_decimal,
    )  # fmt: skip
    return any(one(kind) for one in usable)


def _array(column: Any) -> npt.NDArray[Any]:
    """Return a column as numpy has it; what is missing is NaN, NaT or None."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_decimal(column.type) or types.is_boolean(column.type):
        column = column.cast("float64")
    found: npt.NDArray[Any] = np.asarray(column.to_numpy())
    return found
