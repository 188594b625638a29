"""Tables of named columns, from any tool: find the columns of times and of nodes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray
from incprof.readers.nodes.column_origin import NODES, understood
from incprof.readers.nodes.tables import Table
from incprof.readers.series.columns import LARGEST, TIME_NAMES, listed, plain_time
from incprof.safe.printable import printable

# Columns of any type by their names.
Columns = dict[str, npt.NDArray[Any]]

TIMES = (*TIME_NAMES, "date", "datetime", "ts", "epoch", "unix_time", "time_ms", "time_ns", "_time")
# Larger numbers are seconds, milliseconds, microseconds or nanoseconds since the epoch: from 1973 on.
UNITS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (1e8, 1.0))
# Columns of LDMS that are not counters.
NO_COUNTERS = {"time_usec", "component_id", "compid", "job_id", "app_id", "dt", "dt_usec", "flag"}
MOST_NODES = 100_000


def tables_of(
    where: str, columns: Columns, *, simulated: str | None = None, notes: tuple[str, ...] = ()
) -> list[Table]:
    """Return a table for each node of a file.

    Raises:
        NoDataError: no row has a time, or no column a number.
        UsageError: no column holds times.
    """
    names = list(columns)
    at_time = next((name for name in names if plain_time(name) in TIMES), None)
    if at_time is None:
        there = listed(names, range(len(names)))
        raise UsageError(f"{where}: no column of times, such as time_s or timestamp: there are {there}")
    times, by_clock, of_times = times_of(columns[at_time])
    if (micros := columns.get("Time_usec")) is not None and at_time == "Time":
        # Some versions of LDMS write microseconds as well, after the decimal point.
        times = np.floor(times) + numbers(micros) * 1e-6
    at_node = next((name for name in names if name.strip().lower() in NODES), None)
    counters = [name for name in names if name not in (at_time, at_node) and is_counter(name, names)]
    values = {name: numbers(columns[name]) for name in counters}
    kept = [name for name in counters if np.isfinite(values[name]).any()]
    usable = np.isfinite(times) & (sum(np.isfinite(values[name]) for name in kept) > np.zeros(len(times)))
    if not usable.any():
        raise NoDataError(f"{where}: no row with a time and a number")
    found = []
    for node, rows in _nodes(columns[at_node] if at_node else None, len(times), where):
        if not usable[rows].any():
            continue  # a node that was off
        mine = tuple(understood(printable(name), values[name][rows]) for name in kept)
        found.append(Table(where, node, times[rows], mine, by_clock, simulated=simulated, notes=notes + of_times))
    return found


def is_counter(name: str, names: list[str]) -> bool:
    """Return whether a column may be a counter: LDMS also writes identifiers, and rates beside the counters."""
    base = name.replace(".rate", "", 1)
    return name.strip().lower() not in NO_COUNTERS and not (".rate" in name and base in names)


def _nodes(column: npt.NDArray[Any] | None, rows: int, where: str) -> list[tuple[str | None, npt.NDArray[np.intp]]]:
    """Return the names of the nodes and the rows of each, sorted by name."""
    if column is None:
        return [(None, np.arange(rows))]
    import pandas as pd

    codes, names = pd.factorize(pd.Series(column).astype("string"))
    if len(names) > MOST_NODES:
        raise UsageError(f"{where}: {len(names)} nodes: that column is no name of nodes")
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], np.arange(len(names) + 1))
    parts = {printable(str(name)): order[first[at] : first[at + 1]] for at, name in enumerate(names)}
    return [(name, parts[name]) for name in sorted(parts)]


def numbers(column: npt.NDArray[Any]) -> FloatArray:
    """Return numbers; NaN for entries that are not numbers, or not finite."""
    import pandas as pd

    if column.dtype.kind not in "biuf":
        column = pd.to_numeric(pd.Series(column), errors="coerce").to_numpy()
    if column.dtype.kind not in "biuf":
        return np.full(len(column), np.nan)
    with np.errstate(all="ignore"):
        found = column.astype(np.float64)
        found[~(np.abs(found) <= LARGEST)] = np.nan
    return found


def times_of(column: npt.NDArray[Any]) -> tuple[FloatArray, bool, tuple[str, ...]]:
    """Return times in seconds, whether they are relative to the epoch, and notes on them."""
    if column.dtype.kind == "M":
        times = column.astype("datetime64[ns]").astype(np.float64) / 1e9
        times[np.isnat(column)] = np.nan
        return times, True, ()
    times = numbers(column)
    if not np.isfinite(times).any() and column.dtype.kind not in "biuf":
        return _from_dates(column)
    largest = float(np.nanmax(np.abs(times), initial=0.0))
    unit = next((unit for limit, unit in UNITS if largest > limit), None)
    if unit is None:
        return times, False, ()
    return times * unit, True, ()


def _from_dates(column: npt.NDArray[Any]) -> tuple[FloatArray, bool, tuple[str, ...]]:
    """Parse dates such as 2026-11-23T08:00:00Z; without a zone they are UTC, regardless of the local zone."""
    times = np.full(len(column), np.nan)
    without_zone = 0
    for at, text in enumerate(column):
        try:
            found = datetime.fromisoformat(str(text).strip())
        except ValueError:
            continue
        without_zone += found.tzinfo is None
        times[at] = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return times, True, ("its times name no zone: taken as UTC",) if without_zone else ()
