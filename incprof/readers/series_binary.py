"""Series from .npy and .parquet files."""

from __future__ import annotations

from typing import Any

import numpy as np

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.readers.series import Series, Wanted, cannot_read, columns_of, series_from


def read_npy(path: str, wanted: Wanted) -> Series:
    """Read an array of one dimension, or a column, given by its number, of one of two. Only what is meant is loaded.

    Raises: as read_series.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError, OverflowError) as error:
        raise cannot_read(path, "an array of numbers", error) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise NoDataError(f"{path}: expected real numbers in one or two dimensions")
    table = array.reshape(len(array), -1) if array.size else array.reshape(len(array), array.size)
    names = [str(at + 1) for at in range(table.shape[1])]
    if not names:
        raise NoDataError(f"{path}: empty")
    chosen, time = columns_of(names, wanted, path)
    _refuse_too_many(len(table), path, wanted)
    part = slice(wanted.first, wanted.last)
    columns = [np.asarray(table[part, at], dtype=np.float64) for at in chosen]
    time_s = None if time is None else np.asarray(table[part, time], dtype=np.float64)
    return series_from(columns, time_s, wanted.column or "values", path, wanted)


def read_parquet(path: str, wanted: Wanted) -> Series:
    """Read a column of numbers.

    Raises: as read_series.
    """
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise IncprofError(f"{path} needs pyarrow: pip install 'incprof[parquet]'") from None
    try:
        with parquet.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            numeric = [name for name in names if _is_number(file.schema_arrow.field(name).type)]
            if not numeric:
                raise NoDataError(f"{path}: no column of numbers")
            _refuse_too_many(file.metadata.num_rows, path, wanted)
            chosen, time = columns_of(numeric, wanted, path)
            used = [numeric[at] for at in chosen] + ([numeric[time]] if time is not None else [])
            table = file.read(columns=list(dict.fromkeys(used)))
    except (OSError, ValueError, MemoryError) as error:
        raise cannot_read(path, "a Parquet file", error) from None
    columns = [np.asarray(table.column(name).to_numpy(), dtype=np.float64)[wanted.first : wanted.last] for name in used]
    time_s = columns[-1] if time is not None else None
    return series_from(columns[: len(chosen)], time_s, "/".join(used[: len(chosen)]), path, wanted)


def _is_number(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind))


def _refuse_too_many(rows: int, path: str, wanted: Wanted) -> None:
    """Look at the length before anything is loaded."""
    count = len(range(*slice(wanted.first, wanted.last).indices(rows)))
    if count > wanted.most:
        raise UsageError(
            f"{path} holds {count} samples, more than {wanted.most}: take a part with --range A:B, or raise --most"
        )
