"""Read node counters from files of any supported format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray, NodeSeries
from incprof.model.series import canonical_names
from incprof.readers.series import LARGEST, parquet_file, plain_time
from incprof.readers.series.counter_series import GAP
from incprof.readers.series.node_columns import TIMES, UNITS, Column, Kind, Table, tables_of, understood
from incprof.readers.series.text_tables import KIND, OWN_KINDS, read_text
from incprof.safe.inputs import read_input
from incprof.safe.printable import parse_json, printable
from incprof.systems.nodes.join import put_together

# Prometheus responses to range queries: `curl '.../api/v1/query_range?query=...&start=...&end=...&step=1s'`.


MOST_BYTES = 1 << 30
# Labels that name the node, in order of preference; the address of the scraped target is the last resort.
NODES = ("nodename", "node", "hostname", "host", "kubernetes_node", "exported_instance", "instance")
LONGEST_NAME = 200
PORT = re.compile(r"(?<=.):\d+$")


def read_prometheus(path: str) -> list[Table]:
    """Read a JSON response.

    Raises:
        NoDataError: it is not a response to a range query, or has no number.
        OSError: it cannot be read.
    """
    try:
        answer = parse_json(read_input(path, MOST_BYTES))
    except ValueError as error:
        raise NoDataError(f"{path}: no JSON: {printable(str(error))[:120]}") from None
    if isinstance(answer, dict) and answer.get("status") == "error":
        raise NoDataError(f"{path}: Prometheus answered: {printable(str(answer.get('error')))[:120]}")
    data = answer.get("data", answer) if isinstance(answer, dict) else None
    results = data.get("result") if isinstance(data, dict) else None
    if not isinstance(results, list) or (isinstance(data, dict) and data.get("resultType", "matrix") != "matrix"):
        raise NoDataError(f"{path}: not an answer of Prometheus to a range query (data.resultType is matrix)")
    nodes: dict[str | None, dict[str, tuple[FloatArray, FloatArray]]] = {}
    for result in results:
        node, name, times, values = _series(result, path)
        if len(times):
            nodes.setdefault(node, {})[name] = (times, values)
    if not nodes:
        raise NoDataError(f"{path}: no number in it")
    return [_table(path, node, series) for node, series in sorted(nodes.items(), key=lambda item: item[0] or "")]


def _series(result: Any, path: str) -> tuple[str | None, str, FloatArray, FloatArray]:
    """Return node, name, times and values of one series."""
    labels = result.get("metric") if isinstance(result, dict) else None
    points = result.get("values") if isinstance(result, dict) else None
    if not isinstance(labels, dict) or not isinstance(points, list):
        raise NoDataError(f"{path}: a result without metric and values: not an answer to a range query")
    try:
        table = np.array([(float(time), float(value)) for time, value in points], dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError):
        raise NoDataError(f"{path}: a value that is not a pair of time and number") from None
    table = table[np.isfinite(table[:, 0]) & (np.abs(table[:, 0]) < LARGEST)]
    table[~(np.abs(table[:, 1]) <= LARGEST), 1] = np.nan
    node = next((PORT.sub("", printable(str(labels[key]))) for key in NODES if labels.get(key)), None)
    shown = {key: value for key, value in labels.items() if key not in (*NODES, "__name__", "job")}
    inside = ",".join(f"{key}={value}" for key, value in sorted(shown.items()))
    name = f"{labels.get('__name__', 'value')}{{{inside}}}" if inside else str(labels.get("__name__", "value"))
    return node, printable(name)[:LONGEST_NAME], table[:, 0], table[:, 1]


def _table(path: str, node: str | None, series: dict[str, tuple[FloatArray, FloatArray]]) -> Table:
    """Merge the series of one node on common times."""
    times = np.unique(np.concatenate([times for times, _ in series.values()]))
    columns = []
    for name, (own, values) in series.items():
        column = np.full(len(times), np.nan)
        column[np.searchsorted(times, own)] = values
        columns.append(_understood(name, column))
    return Table(path, node, times, tuple(columns))


def _understood(name: str, values: FloatArray) -> Column:
    """Return a column; its name determines whether it is a running total."""
    base = name.split("{")[0]
    grows = base.endswith(("_total", "_count", "_sum", "_bucket"))
    column = understood(base, values, Kind.TOTAL if grows else None)
    return Column(name, column.values, column.kind, column.unit)


MOST_NUMBERS = 400_000_000


def read_parquet(path: str) -> list[Table]:
    """Read a Parquet file.

    Raises:
        NoDataError: it is not a Parquet file, or has no row.
        UsageError: no column holds times, or the file is too large.
        IncprofError: pyarrow is not installed.
        OSError: it cannot be read.
    """
    with parquet_file(path) as file:
        schema = file.schema_arrow
        if file.metadata.num_rows * len(schema) > MOST_NUMBERS:
            raise UsageError(f"{path} holds more than {MOST_NUMBERS} numbers: write a file for each node")
        twins = [name for name in schema.names if schema.names.count(name) > 1]
        if twins:
            raise NoDataError(f"{path}: several columns are called {printable(twins[0])[:40]}")
        used = [field.name for field in schema if _is_flat(field.type)]
        table = file.read(columns=used)
        columns = {name: _array(table.column(name)) for name in used}
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
    array: npt.NDArray[Any] = np.asarray(column.to_numpy())
    return array


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
    series_of_nodes = put_together(_continued(_tables(paths)))
    return sorted(series_of_nodes, key=lambda series: (series.node, series.times[0]))


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
    for entry in paths:
        path = Path(entry)
        if path.is_dir():
            files += [str(each) for each in sorted(path.iterdir()) if each.is_file() and ".HEADER" not in each.name]
        elif not path.exists():
            raise NoDataError(f"{path}: no such file")
        else:
            files.append(str(path))
    return files


def _continued(tables: list[Table]) -> list[Table]:
    """Join consecutive tables of one node with the same columns: a log that was rotated."""
    joined: list[Table] = []
    named = [table for table in tables if table.node is not None and table.first_s is None]
    for table in sorted(named, key=lambda table: (str(table.node), _names(table), float(np.nanmin(table.times)))):
        last = joined[-1] if joined else None
        if last is not None and _continues(last, table):
            joined[-1] = _one_table(last, table)
        else:
            joined.append(table)
    return joined + [table for table in tables if table.node is None or table.first_s is not None]


def _names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def _continues(last: Table, table: Table) -> bool:
    """Return whether a table begins where the last one ended."""
    if (last.node, _names(last), last.by_clock) != (table.node, _names(table), table.by_clock):
        return False
    steps = np.diff(np.sort(last.times[np.isfinite(last.times)]))
    gap = float(np.nanmin(table.times)) - float(np.nanmax(last.times))
    return len(steps) > 0 and 0 < gap <= GAP * float(np.median(steps))


def _one_table(last: Table, table: Table) -> Table:
    columns = tuple(
        replace(one, values=np.concatenate([one.values, other.values]), kind=one.kind or other.kind)
        for one, other in zip(last.columns, table.columns, strict=True)
    )
    times = np.concatenate([last.times, table.times])
    return replace(last, times=times, columns=columns, notes=tuple(dict.fromkeys(last.notes + table.notes)))


# Rows of a node's counters as they are written: the text of incprof sample, or other CSV with a line of names.


SEPARATORS = re.compile(r"[,;\t]")


def growing_rows(lines: Iterator[str], where: str, names: Sequence[str]) -> Iterator[tuple[float, FloatArray]]:
    """Yield the time of each row and the rates of the named counters (counters,), NaN where a number is missing.

    A row's length is the time since the previous row; so the first row is omitted.

    Raises:
        NoDataError: the line of names, the time or a counter is missing.
    """
    kinds: dict[str, Kind] = {}
    header: list[str] | None = None
    meter: _Meter | None = None
    for line in lines:
        if line.startswith("#") or not line.strip():
            if match := KIND.match(line.rstrip("\r\n")):
                kinds[match[1]] = OWN_KINDS[match[2]]
            continue
        cells = [cell.strip().strip('"') for cell in SEPARATORS.split(line.rstrip("\r\n"))]
        if header is None:
            header, meter = cells, _Meter(cells, where, names, kinds)
        elif meter is not None and len(cells) == len(header) and (row := meter.row(cells)) is not None:
            yield row


class _Meter:
    """Converts the cells of rows to rates."""

    def __init__(self, header: Sequence[str], where: str, names: Sequence[str], kinds: dict[str, Kind]):
        time = next((at for at, name in enumerate(header) if plain_time(name) in TIMES), None)
        if time is None:
            raise NoDataError(f"{where}: its first line names no column of times, such as time_s")
        called = canonical_names(header)
        missing = [name for name in names if name not in called]
        if missing:
            raise NoDataError(f"{where}: no column {missing[0]}, which the alphabet was learnt with")
        self._time, self._columns = time, [called.index(name) for name in names]
        own = [header[at] for at in self._columns]
        columns = [understood(name, np.zeros(1), kinds.get(name)) for name in own]
        self._amount = np.array([column.kind is Kind.AMOUNT for column in columns])
        self._total = np.array([column.kind is Kind.TOTAL for column in columns])
        self._before: tuple[float, FloatArray] | None = None

    def row(self, cells: Sequence[str]) -> tuple[float, FloatArray] | None:
        """Return the time and the rates of a row; None for the first, and for one that is incomplete or not later."""
        time_s = _number(cells[self._time])
        time_s *= next((unit for limit, unit in UNITS if time_s > limit), 1.0)
        values = np.array([_number(cells[at]) for at in self._columns])
        before, has_time = self._before, time_s == time_s
        if not has_time or (before is not None and time_s <= before[0]):
            return None
        self._before = (time_s, values)
        if before is None:
            return None
        length = time_s - before[0]
        grown = np.where(values >= before[1], values - before[1], np.nan)
        return time_s, np.where(self._amount, values / length, np.where(self._total, grown / length, values))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
