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
from incprof.model import WATTS, FloatArray
from incprof.model.series import CounterSeries, Power
from incprof.readers.nodes.column_origin import understood
from incprof.readers.nodes.counter_rates import rates_of
from incprof.readers.nodes.named import UNITS
from incprof.readers.nodes.power import with_power
from incprof.readers.nodes.tables import Table
from incprof.readers.nodes.text_tables import SIMULATED
from incprof.readers.series.columns import LARGEST, time_among
from incprof.readers.series.form import LONGEST_LINE, form_of, number
from incprof.readers.series.perf import counts_by_event, is_perf
from incprof.safe.inputs import open_series
from incprof.safe.printable import printable

BEGUN = re.compile(r"# begun: (\d{1,12}\.\d{6}) s since 1970 on (\S+)")
NOTE = re.compile(r"# note: (.*)")
# A day at five milliseconds, in as many columns.
MOST_NUMBERS = 200_000_000
MOST_NOTES = 20


def power_of(series: CounterSeries, simulated: str | None) -> Power | None:
    """Return the power of the node; None if no column has it.

    Args:
        series: r rows.
        simulated: the formula that computed its power, from the file.
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
    said: list[str] = []
    rows = _without_comments(lines, said)
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
    begun, host = next(((float(m[1]), m[2]) for line in said if (m := BEGUN.match(line))), (None, None))
    notes = [printable(m[1]) for line in said if (m := NOTE.match(line))]
    step = float(np.median(np.diff(time))) if len(time) > 1 else float(time[0])
    unit = next((unit for limit, unit in UNITS if time[0] > limit), None)
    if begun is None and unit is not None and len(time) > 1:
        # Times since 1970: of a meter, or of another tool.
        begun = (float(time[0]) - step) * unit
        time, step = time * unit - begun, step * unit
    # Counts before the first row start with sampling, unless the times are those of a clock.
    start = np.concatenate([[0.0 if time[0] < 2 * step else time[0] - step], time[:-1]])
    simulated = next((printable(m[1]) for line in said if (m := SIMULATED.match(line))), None)
    series = CounterSeries(tuple(names), values, start, time, begun, host, tuple(notes[:MOST_NOTES]))
    return replace(series, power=power_of(series, simulated))


def _without_comments(lines: Iterable[str], said: list[str]) -> Iterator[str]:
    """Yield the rows; comments go into `said`."""
    for line in lines:
        if line.startswith("#"):
            said.append(line.rstrip("\r\n"))
        elif line.strip():
            yield line


def _table(first: str, rows: Iterator[str], where: str) -> tuple[list[str], FloatArray, FloatArray]:
    """Read a table: its names, times (r,) and other columns (r, m)."""
    form = form_of(first)
    time = time_among(form.names)
    if not form.header or time is None:
        raise UsageError(f"{where}: no column of times (time_s): counters need the time of each row")
    keep = [at for at in range(len(form.names)) if at != time]
    found: list[list[float]] = []
    for line in rows:
        fields = form.fields(form.row(line))
        if len(fields) < len(form.names):
            continue  # the last row of a file that is still being written
        found.append([_finite(fields[at]) for at in (time, *keep)])
        if len(found) * len(form.names) > MOST_NUMBERS:
            raise UsageError(f"{where} holds more than {MOST_NUMBERS} numbers: record a part, or longer intervals")
    table = np.array(found, dtype=np.float64).reshape(len(found), 1 + len(keep))
    return [form.names[at] for at in keep], table[:, 0], table[:, 1:]


def _finite(field: str) -> float:
    """Return a number, NaN if it is not a finite one."""
    value = number(field)
    return value if value is not None and abs(value) <= LARGEST else float("nan")
