"""Tables of named columns of nodes, from any tool: their times, nodes, power and units (docs/reference/nodes.md)."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError, UsageError
from incprof.model import WATTS, FloatArray, NodeSeries
from incprof.model.series import canonical
from incprof.readers.series import LARGEST, TIME_NAMES, listed, plain_time
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
        column_list = listed(names, range(len(names)))
        raise UsageError(f"{where}: no column of times, such as time_s or timestamp: there are {column_list}")
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
    tables = []
    for node, rows in _nodes(columns[at_node] if at_node else None, len(times), where):
        if not usable[rows].any():
            continue  # a node that was off
        columns_of_node = tuple(understood(printable(name), values[name][rows]) for name in kept)
        tables.append(
            Table(where, node, times[rows], columns_of_node, by_clock, simulated=simulated, notes=notes + of_times)
        )
    return tables


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
        raise UsageError(f"{where}: {len(names)} nodes: that column does not name nodes")
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
        values = column.astype(np.float64)
        values[~(np.abs(values) <= LARGEST)] = np.nan
    return values


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
            date = datetime.fromisoformat(str(text).strip())
        except ValueError:
            continue
        without_zone += date.tzinfo is None
        times[at] = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return times, True, ("its times have no time zone: assuming UTC",) if without_zone else ()


# Infer from column names which tool wrote them, the kind of their numbers, and the unit.


NODES = ("node", "host", "hostname", "nodename", "instance", "producername", "server", "machine")
# Columns of incprof sample, and of perf.
LEVELS = {
    "cpu": "cpus", "user": "cpus", "system": "cpus", "iowait": "cpus", "active-cpus": "cpus", "ipc": "1",
    "ipc-ref": "1", "running-threads": "threads", "run-queue": "threads", "rss-bytes": "B", "memory-bytes": "B",
}  # fmt: skip
AMOUNTS = {
    "cycles", "instructions", "cache-references", "cache-misses", "stalled-cycles-frontend",
    "stalled-cycles-backend", "bus-cycles", "ref-cycles", "branches", "branch-misses",
    "context-switches", "page-faults", "minor-faults", "major-faults", "cpu-migrations", "interrupts", "read-bytes",
    "write-bytes", "disk-read-bytes", "disk-write-bytes", "net-rx-bytes", "net-tx-bytes", "net-rx-packets",
    "net-tx-packets", "net-lo-bytes", "llc-load-misses", "llc-loads",
}  # fmt: skip
# As a whole word of a name: "power_w", "Power (W)", "node_power_watts", but neither "powercap" nor "power_state".
NOT_POWER = re.compile(r"(cap|limit|state|status|factor|budget|max|min|threshold|supply_online)", re.IGNORECASE)
JOULES = (
    (re.compile(r"microjoules?|(^|[_\W])uJ($|[_\W])", re.IGNORECASE), 1e-6),
    (re.compile(r"millijoules?|(^|[_\W])mJ($|[_\W])"), 1e-3),
    (re.compile(r"kWh", re.IGNORECASE), 3.6e6),
    (re.compile(r"(^|[_\W\d])Wh($|[_\W])|watt_?hours", re.IGNORECASE), 3600.0),
    (re.compile(r"joules?|energy-(pkg|cores|ram|gpu|psys)|energy_j|\(J\)|\[J\]", re.IGNORECASE), 1.0),
)
WATT = (
    (re.compile(r"(^|[_\W])(mW|milliwatts?)($|[_\W])", re.IGNORECASE), 1e-3),
    (re.compile(r"(^|[_\W])(kW|kilowatts?)($|[_\W])", re.IGNORECASE), 1e3),
    (re.compile(r"(^|[_\W])(W|watts?|power\d*|pdu\d*|power_(usage|draw))($|[_\W])", re.IGNORECASE), 1.0),
)
LEVEL = re.compile(
    r"temp|celsius|percent|pct|%|util|freq|mhz|ghz|load|volt|amp|fan|speed|free|used|avail|cached|buffers|resident|rss|"
    r"size|running|queue|active|ratio|memtotal",
    re.IGNORECASE,
)
PER_SECOND = re.compile(r"(/s|_per_s(ec(ond)?)?|\.rate(#.*)?|_rate)$", re.IGNORECASE)
BYTES = re.compile(r"bytes?|(^|[_\W])B($|[_\W])", re.IGNORECASE)


def understood(name: str, values: FloatArray, kind: Kind | None = None) -> Column:
    """Return a column with the kind and unit that its name implies; energy and power in joules and watts."""
    plain = canonical(name) or name.lower().split(":")[0]
    if (scale := _scale(JOULES, name)) is not None:
        return Column(name, values * scale, kind, WATTS, Kind.AMOUNT)
    if (scale := _scale(WATT, name)) is not None and not NOT_POWER.search(name):
        return Column(name, values * scale, Kind.GAUGE, WATTS)
    if plain in LEVELS and kind is Kind.GAUGE:
        return Column(name, values, kind, LEVELS[plain])
    if plain in ("task-clock", "cpu-clock"):
        return Column(name, values / 1e3, kind or Kind.AMOUNT, "cpus")  # milliseconds, as perf prints them
    unit = "B" if BYTES.search(plain) else ""
    if PER_SECOND.search(name):
        return Column(name, values, Kind.GAUGE, f"{unit or '1'}/s")
    if plain in AMOUNTS:
        return Column(name, values, kind, f"{unit or '1'}/s", Kind.AMOUNT)
    if kind in (Kind.AMOUNT, Kind.TOTAL):
        return Column(name, values, kind, f"{unit or '1'}/s")
    if LEVEL.search(name):
        return Column(name, values, kind or Kind.GAUGE, unit)
    return Column(name, values, kind, unit)


def own_kind(name: str) -> Kind:
    """Return the kind of a column of incprof sample, in files that do not record it."""
    return Kind.GAUGE if name in LEVELS else Kind.AMOUNT


def _scale(words: tuple[tuple[re.Pattern[str], float], ...], name: str) -> float | None:
    """Return the scale of the unit in a name."""
    return next((scale for pattern, scale in words if pattern.search(name)), None)


# Choose the column that is a node's power.


# In order of preference: measured at the plug, measured on the node by its maker, then parts.
WHOLE = (
    r"pdu|wall|plug|outlet", r"ipmi|bmc|dcmi", r"cray-node", r"power-meter", r"psys",
    r"node|total|system|chassis|board", r"battery",
)  # fmt: skip
PART = re.compile(r"rapl|package|pkg|dram|core|cpu|gpu|memory|uncore|accel", re.IGNORECASE)
RAPL = re.compile(r"rapl-package-\d+(-die-\d+)?(-dram)?-watts|energy-(pkg|ram)|(^|[/_-])(package|pkg|dram)([/_\d-]|$)")
SUM = "rapl-watts"


def with_power(series: NodeSeries) -> NodeSeries:
    """Return a series with its power column set, and the reason in its notes; a sum becomes a column of its own."""
    watts = [name for name, unit in zip(series.names, series.units, strict=True) if unit == WATTS]
    if not watts:
        return series
    for words in WHOLE:
        candidates = [name for name in watts if re.search(words, name, re.IGNORECASE) and not _is_part(name, words)]
        if candidates:
            return _with_power_column(series, candidates[0], watts)
    parts = [name for name in watts if RAPL.search(name) and "core" not in name]
    if len(parts) > 1 and SUM not in series.names:
        total: FloatArray = np.sum([series.column(name) for name in parts], axis=0)
        series = replace(
            series,
            names=(*series.names, SUM),
            units=(*series.units, WATTS),
            values=np.concatenate([series.values, total[:, None]], axis=1),
            notes=(*series.notes, f"{SUM} is {' + '.join(parts)}: processors and memory, not the whole node"),
        )
        return replace(series, power=SUM)
    return _with_power_column(series, watts[0], watts)


def _is_part(name: str, words: str) -> bool:
    """Return whether a name contains "total", but of something smaller than a node."""
    return words.startswith("node") and PART.search(name) is not None


def _with_power_column(series: NodeSeries, name: str, watts: list[str]) -> NodeSeries:
    notes = list(series.notes)
    if len(watts) > 1 or PART.search(name):
        notes.append(f"power is {name}" + (", a part of the node" if PART.search(name) else ""))
    return replace(series, power=name, notes=tuple(notes))


# Contents of a file with counters of nodes, before conversion to rates.


class Kind(enum.Enum):
    """The meaning of a column's numbers."""

    AMOUNT = "what was added since the row before"
    TOTAL = "a counter that only grows"
    GAUGE = "what it is at the moment, or per second already"


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        values: (rows,).
        kind: None if unknown: a counter if it only grows, else `otherwise`.
        unit: of its rate, or of the value itself.
    """

    name: str
    values: FloatArray
    kind: Kind | None = None
    unit: str = ""
    otherwise: Kind = Kind.GAUGE


@dataclass(frozen=True)
class Table:
    """The rows of one node in one file.

    Attributes:
        node: None if the file does not name it.
        times: (rows,) seconds, since the epoch if `by_clock`, else since some start, in any order.
        first_s: when the first row began, if known.
        is_whole: each row covers all the time since the row before it, however long that is.
        simulated: the formula that computed power.
    """

    where: str
    node: str | None
    times: FloatArray
    columns: tuple[Column, ...]
    by_clock: bool = True
    first_s: float | None = None
    is_whole: bool = False
    simulated: str | None = None
    notes: tuple[str, ...] = ()
