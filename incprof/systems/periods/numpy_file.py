"""Series from .npy and .parquet files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import FloatArray
from incprof.readers.series.columns import Series, Wanted, cannot_read, columns_of, series_from, shown
from incprof.safe.inputs import HOSTILE, open_input


def read_npy(path: str, wanted: Wanted) -> Series:
    """Read a one-dimensional array, or one column of a two-dimensional array by number. Only that range is loaded.

    Raises: as read_series.
    """
    try:
        with open_input(path) as file, warnings.catch_warnings():  # numpy maps a file only by its name
            warnings.simplefilter("ignore")  # numpy advises to save arrays of Python 2 again
            array = np.load(f"/proc/self/fd/{file.fileno()}", mmap_mode="r", allow_pickle=False)
    except HOSTILE as error:
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
    with np.errstate(all="ignore"):  # numbers beyond the range of float64 become infinite
        columns = [np.asarray(table[part, at], dtype=np.float64) for at in chosen]
        time_s = None if time is None else np.asarray(table[part, time], dtype=np.float64)
    return series_from(columns, time_s, wanted.column or "values", path, wanted)


def read_parquet(path: str, wanted: Wanted) -> Series:
    """Read a column of numbers; a column of time stamps may serve as the time.

    Raises: as read_series.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise IncprofError(f"{path} needs pyarrow: pip install 'incprof[parquet]'") from None
    try:
        with open_input(path) as raw, parquet.ParquetFile(raw) as file:
            numeric = [field.name for field in file.schema_arrow if _is_number(field.type)]
            if not numeric:
                raise NoDataError(f"{path}: no column of numbers")
            _refuse_too_many(file.metadata.num_rows, path, wanted)
            chosen, time = columns_of(numeric, wanted, path)
            used = [numeric[at] for at in chosen] + ([numeric[time]] if time is not None else [])
            _refuse_twins(used, file.schema_arrow.names, path)
            table = file.read(columns=list(dict.fromkeys(used)))
            columns = [_numbers(table.column(name))[wanted.first : wanted.last] for name in used]
    except (OSError, ValueError, MemoryError, pyarrow.ArrowException) as error:
        raise cannot_read(path, "a Parquet file", error) from None
    time_s = columns[-1] if time is not None else None
    return series_from(columns[: len(chosen)], time_s, "/".join(used[: len(chosen)]), path, wanted)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_timestamp)
    return any(one(kind) for one in numbers)


def _numbers(column: Any) -> FloatArray:
    """Return a column as numbers, time stamps as seconds since 1970."""
    import pyarrow

    if not pyarrow.types.is_timestamp(column.type):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    ticks = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    return np.asarray(column.cast(pyarrow.int64()).to_numpy(), dtype=np.float64) / ticks


def _refuse_twins(used: Sequence[str], names: Sequence[str], path: str) -> None:
    """Refuse a column whose name is not unique."""
    for name in used:
        if list(names).count(name) > 1:
            raise NoDataError(f"{path}: several columns are called {shown(name)}: write them with other names")


def _refuse_too_many(rows: int, path: str, wanted: Wanted) -> None:
    """Check the length before anything is loaded."""
    count = len(range(*slice(wanted.first, wanted.last).indices(rows)))
    if count > wanted.most:
        raise UsageError(
            f"{path} holds {count} samples, more than {wanted.most}: take a part with --range A:B, or raise --most"
        )
