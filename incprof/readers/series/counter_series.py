"""All columns of a file of counters: output of `incprof sample`, another table with times, or `perf stat -I`."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model import WATTS, FloatArray, IntArray, NodeSeries
from incprof.model.series import CounterSeries, Power
from incprof.readers.series import LARGEST, counts_by_event, is_perf, time_among
from incprof.readers.series.node_columns import UNITS, Column, Kind, Table, understood, with_power
from incprof.readers.series.text_tables import LONGEST_LINE, SIMULATED, form_of, number
from incprof.safe.inputs import open_series
from incprof.safe.printable import printable

BEGUN = re.compile(r"# begun: (\d{1,12}\.\d{6}) s since 1970 on (\S+)")
NOTE = re.compile(r"# note: (.*)")
# A day at five milliseconds, in as many columns.
MOST_NUMBERS = 200_000_000
MOST_NOTES = 20


def power_of(series: CounterSeries, simulated: str | None) -> Power | None:
    """Return the power of the node; None if no column has it.

    series: r rows. simulated: the formula that computed its power, from the file.
    """
    columns = [understood(name, series.values[:, at]) for at, name in enumerate(series.names)]
    sensors = tuple(each for each in columns if each.unit == WATTS and np.isfinite(each.values).any())
    if not sensors:
        return None
    begun = float(series.start_s[0])
    table = Table("", None, series.end_s, sensors, by_clock=False, first_s=begun, is_whole=True)
    try:
        node = with_power(rates_of(table, ""))
    except ValueError:
        return None  # a counter of joules that was read once
    if node.power is None or node.watts is None:
        return None
    return Power(node.power, node.watts, tuple(each.name for each in sensors), simulated, node.notes)


def read_counters(path: str) -> CounterSeries:
    """Read a file of counters.

    Raises:
        NoDataError: there is no such file, it has no row, or time does not increase.
        UsageError: no column holds times, or it is too large.
    """
    if not Path(path).is_file():
        raise NoDataError(f"{path}: no such file")
    try:
        with io.TextIOWrapper(io.BufferedReader(open_series(path)), encoding="utf-8-sig", errors="replace") as text:
            return _read(iter(lambda: text.readline(LONGEST_LINE), ""), path)
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror or error}") from None


def _read(lines: Iterator[str], where: str) -> CounterSeries:
    """Read the lines of a file."""
    comments: list[str] = []
    rows = _without_comments(lines, comments)
    first = next(rows, None)
    if first is None:
        raise NoDataError(f"{where}: empty")
    names, time, values = (
        counts_by_event(itertools.chain([first], rows)) if is_perf(first) else _table(first, rows, where)
    )
    if not len(time):
        raise NoDataError(f"{where}: no row of counters")
    if not (np.isfinite(time).all() and (np.diff(time) > 0).all()):
        raise NoDataError(f"{where}: its times do not increase: sort the rows")
    begun, host = next(((float(m[1]), m[2]) for line in comments if (m := BEGUN.match(line))), (None, None))
    notes = [printable(m[1]) for line in comments if (m := NOTE.match(line))]
    step = float(np.median(np.diff(time))) if len(time) > 1 else float(time[0])
    unit = next((unit for limit, unit in UNITS if time[0] > limit), None)
    if begun is None and unit is not None and len(time) > 1:
        # Times since 1970: of a meter, or of another tool.
        begun = (float(time[0]) - step) * unit
        time, step = time * unit - begun, step * unit
    # Counts before the first row start with sampling, unless the times are those of a clock.
    start = np.concatenate([[0.0 if time[0] < 2 * step else time[0] - step], time[:-1]])
    simulated = next((printable(m[1]) for line in comments if (m := SIMULATED.match(line))), None)
    series = CounterSeries(tuple(names), values, start, time, begun, host, tuple(notes[:MOST_NOTES]))
    return replace(series, power=power_of(series, simulated))


def _without_comments(lines: Iterable[str], comments: list[str]) -> Iterator[str]:
    """Yield the rows; comments go into `comments`."""
    for line in lines:
        if line.startswith("#"):
            comments.append(line.rstrip("\r\n"))
        elif line.strip():
            yield line


def _table(first: str, rows: Iterator[str], where: str) -> tuple[list[str], FloatArray, FloatArray]:
    """Read a table: its names, times (r,) and other columns (r, m)."""
    form = form_of(first)
    time = time_among(form.names)
    if not form.header or time is None:
        raise UsageError(f"{where}: no column of times (time_s): counters need the time of each row")
    keep = [at for at in range(len(form.names)) if at != time]
    values: list[list[float]] = []
    for line in rows:
        fields = form.fields(form.row(line))
        if len(fields) < len(form.names):
            continue  # the last row of a file that is still being written
        values.append([_finite(fields[at]) for at in (time, *keep)])
        if len(values) * len(form.names) > MOST_NUMBERS:
            raise UsageError(f"{where} holds more than {MOST_NUMBERS} numbers: record a part, or longer intervals")
    table = np.array(values, dtype=np.float64).reshape(len(values), 1 + len(keep))
    return [form.names[at] for at in keep], table[:, 0], table[:, 1:]


def _finite(field: str) -> float:
    """Return a number, NaN if it is not a finite one."""
    value = number(field)
    return value if value is not None and abs(value) <= LARGEST else float("nan")


# Convert a file's rows to rates per second: counters that wrap or restart, missing rows, times in any order.


# Ranges, in bits, at which counters wrap: of programs, of processors' registers, of kernels.
MODULI = tuple(2.0**bits for bits in (32, 48, 64))
# A wrap that implies growth at more than this multiple of the fastest growth is rejected: the counter restarted.
MOST_FASTER = 10.0
# Distances of rows that vary by less belong to one rate; a longer one is a gap.
GAP = 2.5
# Number of rows after which a column that never decreased is a counter that only grows.
MANY = 8
SHOWN = 6


def rates_of(table: Table, node: str) -> NodeSeries:
    """Return the rows of a table as rates.

    Raises: ValueError if no row has a time, or no column a number.
    """
    notes = list(table.notes)
    order = _in_time(table, notes)
    times = table.times[order]
    if not len(times):
        raise ValueError("no row with a time")
    period = float(np.median(np.diff(times))) if len(times) > 1 else _first_length(table, times)
    starts = np.concatenate([[table.first_s if _is_before(table, times) else times[0] - period], times[:-1]])
    gaps = np.flatnonzero(np.diff(times) > GAP * period) + 1
    if table.is_whole and len(gaps):
        notes.append(f"{len(gaps)} rows cover more than {GAP * period:.3g} s")
        gaps = gaps[:0]
    columns = [_rate(column, column.values[order], times - starts, period, gaps, notes) for column in table.columns]
    kept = [(column, values) for column, values in columns if np.isfinite(values).any()]
    _add_note(notes, "without a number", [column.name for column, values in columns if not np.isfinite(values).any()])
    column_pairs = zip(table.columns, columns, strict=True)
    grow = [before.name for before, (now, _) in column_pairs if before.kind is None and now.kind is Kind.TOTAL]
    _add_note(notes, "treated as counters, because they only grow", grow)
    if not kept:
        raise ValueError("no column with a number")
    values = np.stack([values for _, values in kept], axis=1)
    times, values = _with_gaps(times, values, gaps, period, notes)
    if table.simulated is not None:
        notes.append(f"power is simulated: {table.simulated}")
    return NodeSeries(
        node,
        times,
        tuple(column.name for column, _ in kept),
        tuple(column.unit for column, _ in kept),
        values,
        simulated=table.simulated is not None,
        notes=tuple(notes),
    )


def _first_length(table: Table, times: FloatArray) -> float:
    """Return the length of the only row."""
    return float(times[0] - table.first_s) if _is_before(table, times) and table.first_s is not None else 1.0


def _is_before(table: Table, times: FloatArray) -> bool:
    return table.first_s is not None and table.first_s < times[0]


def _in_time(table: Table, notes: list[str]) -> IntArray:
    """Return the rows in order of time, each time once: its last row."""
    timed = np.flatnonzero(np.isfinite(table.times))
    order = timed[np.argsort(table.times[timed], kind="stable")]
    times = table.times[order]
    last = np.concatenate([times[1:] > times[:-1], [True]]) if len(times) else np.zeros(0, dtype=np.bool_)
    if len(timed) < len(table.times):
        notes.append(f"{len(table.times) - len(timed)} rows without a time are left out")
    if (np.diff(table.times[timed]) < 0).any():
        notes.append("rows were not in the order of their times: sorted")
    if not last.all():
        notes.append(f"{int((~last).sum())} rows have the time of another one: the last of them counts")
    distinct: IntArray = order[last]
    return distinct


def _rate(
    column: Column, values: FloatArray, lengths: FloatArray, period: float, gaps: IntArray, notes: list[str]
) -> tuple[Column, FloatArray]:
    """Return a column, with its final kind, and its rates."""
    kind = column.kind or (Kind.TOTAL if _only_grows(values) else column.otherwise)
    if kind is Kind.GAUGE:
        return column, values
    unit = column.unit if "/" in column.unit or column.unit in ("W", "cpus") else f"{column.unit or '1'}/s"
    column = replace(column, unit=unit, kind=kind)
    if kind is Kind.AMOUNT:
        # The counts of missing rows are in no other row.
        spans = np.array(lengths)
        spans[gaps] = period
        return column, values / spans
    rates = _growth(column.name, values, lengths, notes)
    rates[gaps] = np.nan  # the gap itself as well
    return column, rates


def _only_grows(values: FloatArray) -> bool:
    """Return whether a column of unknown kind is a counter: it grows, and hardly ever decreases."""
    finite = values[np.isfinite(values)]
    steps = np.diff(finite)
    down = int((steps < 0).sum())
    return (
        len(finite) >= MANY and bool((steps > 0).any()) and down <= max(1, len(steps) // 100) and down * 4 < len(steps)
    )


def _growth(name: str, values: FloatArray, lengths: FloatArray, notes: list[str]) -> FloatArray:
    """Return the growth of a counter per second, NaN in the first row and where it restarted.

    Rows without a reading get the average up to the next reading.
    """
    rates = np.full(len(values), np.nan)
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) < 2:
        return rates
    ends = np.cumsum(lengths)
    grown, spans = np.diff(values[finite]), np.diff(ends[finite])
    fell = grown < 0
    if fell.any():
        fastest = float((grown[~fell] / spans[~fell]).max()) if (~fell).any() else 0.0
        turned = _wrapped_growth(values[finite], grown, spans, fastest)
        round_ = int((fell & np.isfinite(turned)).sum())
        anew = int(fell.sum()) - round_
        grown = np.where(fell, turned, grown)
        if round_:
            notes.append(f"{name} wrapped around {round_} times: corrected")
        if anew:
            notes.append(f"{name} restarted {anew} times: no value there")
    # A reading covers all rows since the one before.
    row_of = np.searchsorted(finite, np.arange(finite[0] + 1, finite[-1] + 1))
    rates[finite[0] + 1 : finite[-1] + 1] = (grown / spans)[row_of - 1]
    return rates


def _wrapped_growth(values: FloatArray, grown: FloatArray, spans: FloatArray, fastest: float) -> FloatArray:
    """Return the growth of each step if the counter wrapped, NaN where that is impossible."""
    growth = np.full(len(grown), np.nan)
    for modulus in MODULI:
        if values.max() < modulus:
            by_turn = grown + modulus
            likely = (by_turn >= 0) & (by_turn <= MOST_FASTER * fastest * spans)
            growth = np.where(np.isnan(growth) & likely, by_turn, growth)
    return growth


def _with_gaps(
    times: FloatArray, values: FloatArray, gaps: IntArray, period: float, notes: list[str]
) -> tuple[FloatArray, FloatArray]:
    """Return the rows with an extra NaN row for each gap, before the row that ends it."""
    if not len(gaps):
        return times, values
    missing = times[gaps] - times[gaps - 1] - period
    notes.append(f"{len(gaps)} gaps, {missing.sum():.4g} s in all: no value there")
    return np.insert(times, gaps, times[gaps] - period), np.insert(values, gaps, np.nan, axis=0)


def _add_note(notes: list[str], what: str, names: list[str]) -> None:
    """Add a note on columns, if there are any, of at most one line."""
    if names:
        notes.append(f"{what}: {', '.join(names[:SHOWN])}{', ...' * (len(names) > SHOWN)}")
