"""Prometheus responses to range queries: `curl '.../api/v1/query_range?query=...&start=...&end=...&step=1s'`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.nodes.column_origin import understood
from incprof.readers.nodes.tables import Column, Kind, Table
from incprof.readers.series.columns import LARGEST
from incprof.safe.inputs import read_input
from incprof.safe.jsontext import parse_json
from incprof.safe.printable import printable

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
        raise NoDataError(f"{path}: no answer of Prometheus to a range query (data.resultType is matrix)")
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
        raise NoDataError(f"{path}: a result without metric and values: no answer to a range query")
    try:
        table = np.array([(float(time), float(value)) for time, value in points], dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError):
        raise NoDataError(f"{path}: a value that is no pair of time and number") from None
    table = table[np.isfinite(table[:, 0]) & (np.abs(table[:, 0]) < LARGEST)]
    table[~(np.abs(table[:, 1]) <= LARGEST), 1] = np.nan
    node = next((PORT.sub("", printable(str(labels[key]))) for key in NODES if labels.get(key)), None)
    told = {key: value for key, value in labels.items() if key not in (*NODES, "__name__", "job")}
    inside = ",".join(f"{key}={value}" for key, value in sorted(told.items()))
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
