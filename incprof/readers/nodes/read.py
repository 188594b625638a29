"""Reads files of counters of nodes, of any kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.errors import NoDataError
from incprof.model import NodeSeries
from incprof.printable import printable
from incprof.readers.nodes.parquet import read_parquet
from incprof.readers.nodes.prometheus import read_prometheus
from incprof.readers.nodes.rates import GAP
from incprof.readers.nodes.tables import Table
from incprof.readers.nodes.text import read_text
from incprof.readers.nodes.together import put_together

READERS: dict[str, Callable[[str], list[Table]]] = {
    ".parquet": read_parquet, ".pq": read_parquet, ".json": read_prometheus,
}  # fmt: skip


def read_nodes(paths: Iterable[str | os.PathLike[str]]) -> list[NodeSeries]:
    """Read counters and power of nodes from files, or from all files of directories (docs/nodes.md).

    Files of one node that were recorded at the same time become one series: on the rows of the counters, with the clock
    of a meter set by what its power follows. Files of the same node at other times are series of their own.

    Returns the series in the order of their nodes, and of time.

    Raises:
        NoDataError: there is no such file, or nothing usable in one.
        UsageError: no column holds times, or it is not known of which node a meter tells.
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
        raise NoDataError("no file of counters: give what incprof sample --system wrote, or see docs/nodes.md")
    return tables


def first_line(error: Exception) -> str:
    """What is wrong, of libraries that say it in many lines."""
    return printable(next(iter(str(error).splitlines()), type(error).__name__))[:120]


def _files(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files, those of directories in the order of their names, without LDMS's files of names."""
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
    """Put together tables of one node and the same columns that follow each other: a log that was rotated."""
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
    """Whether a table begins where the last one ended."""
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
