"""Read node counters from files of any supported format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import NodeSeries
from incprof.readers.nodes.counter_rates import GAP
from incprof.readers.nodes.named import tables_of
from incprof.readers.nodes.tables import Table
from incprof.readers.nodes.text_tables import read_text
from incprof.safe.inputs import open_input
from incprof.safe.printable import printable
from incprof.systems.nodes.prometheus import read_prometheus
from incprof.systems.nodes.together import put_together

MOST_NUMBERS = 400_000_000


def read_parquet(path: str) -> list[Table]:
    """Read a Parquet file.

    Raises:
        NoDataError: it is not a Parquet file, or has no row.
        UsageError: no column holds times, or the file is too large.
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
    """Return a column as a numpy array; missing values are NaN, NaT or None."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_decimal(column.type) or types.is_boolean(column.type):
        column = column.cast("float64")
    found: npt.NDArray[Any] = np.asarray(column.to_numpy())
    return found


READERS: dict[str, Callable[[str], list[Table]]] = {
    ".parquet": read_parquet, ".pq": read_parquet, ".json": read_prometheus,
}  # fmt: skip


def read_nodes(paths: Iterable[str | os.PathLike[str]]) -> list[NodeSeries]:
    """Read counters and power of nodes from files, or from all files of directories (docs/reference/nodes.md).

    Files of one node that were recorded at the same time become one series: on the rows of the counters, with the clock
    of a meter corrected so that its power follows them. Files of the same node at other times are separate series.

    Returns the series by node, then by time.

    Raises:
        NoDataError: a file does not exist, or holds nothing usable.
        UsageError: no column holds times, or the node of a meter is unknown.
        IncprofError: pyarrow is needed and not installed.
    """
    found = put_together(_continued(_tables(paths)))
    return sorted(found, key=lambda series: (series.node, series.times[0]))


def _tables(paths: Iterable[str | os.PathLike[str]]) -> list[Table]:
    """Read all files."""
    tables: list[Table] = []
    for path in _files(paths):
        try:
            tables += READERS.get(Path(path).suffix.lower(), read_text)(path)
        except OSError as error:
            raise NoDataError(f"{path}: cannot be read: {error.strerror or first_line(error)}") from None
    if not tables:
        raise NoDataError("no file of counters: give what incprof sample --system wrote, or see nodes.md")
    return tables


def first_line(error: Exception) -> str:
    """Return the first line of an error; some libraries report many."""
    return printable(next(iter(str(error).splitlines()), type(error).__name__))[:120]


def _files(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files; those of directories by name, without LDMS's header files."""
    files: list[str] = []
    for given in paths:
        path = Path(given)
        if path.is_dir():
            files += [str(each) for each in sorted(path.iterdir()) if each.is_file() and ".HEADER" not in each.name]
        elif not path.exists():
            raise NoDataError(f"{path}: no such file")
        else:
            files.append(str(path))
    return files


def _continued(tables: list[Table]) -> list[Table]:
    """Join consecutive tables of one node with the same columns: a log that was rotated."""
    found: list[Table] = []
    named = [table for table in tables if table.node is not None and table.first_s is None]
    for table in sorted(named, key=lambda table: (str(table.node), _names(table), float(np.nanmin(table.times)))):
        last = found[-1] if found else None
        if last is not None and _goes_on(last, table):
            found[-1] = _one_table(last, table)
        else:
            found.append(table)
    return found + [table for table in tables if table.node is None or table.first_s is not None]


def _names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def _goes_on(last: Table, table: Table) -> bool:
    """Return whether a table begins where the last one ended."""
    if (last.node, _names(last), last.by_clock) != (table.node, _names(table), table.by_clock):
        return False
    steps = np.diff(np.sort(last.times[np.isfinite(last.times)]))
    apart = float(np.nanmin(table.times)) - float(np.nanmax(last.times))
    return len(steps) > 0 and 0 < apart <= GAP * float(np.median(steps))


def _one_table(last: Table, table: Table) -> Table:
    columns = tuple(
        replace(one, values=np.concatenate([one.values, other.values]), kind=one.kind or other.kind)
        for one, other in zip(last.columns, table.columns, strict=True)
    )
    times = np.concatenate([last.times, table.times])
    return replace(last, times=times, columns=columns, notes=tuple(dict.fromkeys(last.notes + table.notes)))
