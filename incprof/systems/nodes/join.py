"""Join the sources of a node into one series: grouped by node and time, their clocks aligned."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray, NodeSeries
from incprof.model.series import canonical_names, stand_ins
from incprof.readers.series.counter_series import rates_of
from incprof.readers.series.node_columns import Table, with_power


@dataclass(frozen=True)
class _Source:
    """The data of one file about one node.

    Attributes:
        where: The file.
        node: Name of the node; None if the file has none.
        series: The rows.
        by_clock: Whether times are on a clock, not since an unknown start.
        lag: Lag of a meter to the counters of its node; None if not estimated.
    """

    where: str
    node: str | None
    series: NodeSeries
    by_clock: bool
    lag: Lag | None = None

    @property
    def is_meter(self) -> bool:
        """Whether it has power and nothing else."""
        return not self.series.counters


def put_together(tables: Sequence[Table]) -> list[NodeSeries]:
    """Return a series for each node and recording.

    Raises:
        NoDataError: a table holds nothing usable.
        UsageError: the node of a meter, or its start time, is unknown.
    """
    sources = [_source(table) for table in tables]
    groups = [_overlapping(group) for group in _by_node(sources)]
    runs = _same_clock([_with_lags(run) for group in groups for run in group])
    return [with_power(_joined(run)) for run in runs]


def _source(table: Table) -> _Source:
    """Return the rates of a table, with the counters renamed to the names common to all files."""
    own = [column.name for column in table.columns]
    names = canonical_names(own)
    columns = tuple(replace(column, name=name) for column, name in zip(table.columns, names, strict=True))
    table = replace(table, columns=columns, notes=(*table.notes, *stand_ins(own, names)))
    try:
        series = rates_of(table, table.node or Path(table.where).stem)
    except ValueError as error:
        raise NoDataError(f"{table.where}{f' ({table.node})' if table.node else ''}: {error}") from None
    return _Source(table.where, table.node, replace(series, named=table.node is not None), table.by_clock)


def _key(sources: Sequence[_Source]) -> Callable[[str], str]:
    """Return the key that identifies nodes: names without the domain, unless names in one file differ only in that."""
    files: dict[str, list[str]] = {}
    for source in sources:
        if source.node is not None:
            files.setdefault(source.where, []).append(source.node)
    twins = any(len(set(names)) > len({_host(name) for name in names}) for names in files.values())
    return (lambda name: name) if twins else _host


def _host(name: str) -> str:
    """Return a name without its domain; addresses are unchanged."""
    return name if re.fullmatch(r"[\d.:]+|.*:.*", name) else name.split(".")[0].lower()


def _by_node(sources: Sequence[_Source]) -> list[list[_Source]]:
    """Return the sources of each node; a meter without a node belongs to the only node."""
    nodes: dict[str, list[_Source]] = {}
    key = _key(sources)
    for source in sources:
        if source.node is not None or not source.is_meter:
            nodes.setdefault(key(source.node or source.series.node), []).append(source)
    for source in sources:
        if source.node is None and source.is_meter:
            if len(nodes) > 1:
                raise UsageError(f"{source.where} does not name its node: add a column node")
            nodes.setdefault(next(iter(nodes), source.series.node), []).append(source)
    return list(nodes.values())


def _overlapping(sources: Sequence[_Source]) -> list[list[_Source]]:
    """Return the sources of one node, grouped by overlapping time; sources without a clock join the only group."""
    counted = sorted((s for s in sources if s.by_clock), key=lambda s: float(s.series.times[0]))
    groups: list[list[_Source]] = []
    end = -np.inf
    for source in counted:
        first, last = float(source.series.times[0]) - source.series.period_s, float(source.series.times[-1])
        if groups and first < end:
            groups[-1].append(source)
        else:
            groups.append([source])
        end = max(end, last)
    for source in (s for s in sources if not s.by_clock):
        if len(groups) > 1:
            raise UsageError(f"{source.where} has no start time, and {source.series.node} has several recordings")
        groups = [[*groups[0], _begun_with(groups[0], source)]] if groups else [[source]]
    return groups


def _begun_with(group: Sequence[_Source], source: _Source) -> _Source:
    """Shift a source without a clock to begin with the others."""
    others = [other for other in group if other.by_clock]
    if not others or source.by_clock:
        return source
    start = min(float(other.series.times[0]) - other.series.period_s for other in others)
    shift = start - (float(source.series.times[0]) - source.series.period_s)
    remark = "has no start time: assumed to have begun with the others"
    series = replace(source.series, times=source.series.times + shift, notes=(*source.series.notes, remark))
    return replace(source, series=series)


def _base(run: Sequence[_Source]) -> _Source:
    """Return the source whose rows are used: the one with most counters, and of those the finest."""
    return max(run, key=lambda source: (len(source.series.counters), -source.series.period_s))


def _with_lags(run: list[_Source]) -> list[_Source]:
    """Estimate the lag of each meter to the counters of its node."""
    base = _base(run)
    if not base.series.counters:
        return run
    return [
        replace(source, lag=lag_of(base.series, with_power(source.series))) if source.is_meter else source
        for source in run
    ]


def _same_clock(runs: list[list[_Source]]) -> list[list[_Source]]:
    """Correct the clocks of meters by their nodes, and those of nodes by a meter that covers several of them."""
    offsets_s = _nodes_ahead(runs)
    return [[_shifted(source, seconds) for source in run] for run, seconds in zip(runs, offsets_s, strict=True)]


def _nodes_ahead(runs: Sequence[Sequence[_Source]]) -> list[float]:
    """Return by how many seconds each node's clock is ahead of the others, according to a meter that has them all."""
    lags: dict[str, dict[int, float]] = {}
    for at, run in enumerate(runs):
        for source in run:
            if source.lag is not None and source.lag.is_sure:
                lags.setdefault(source.where, {})[at] = source.lag.seconds if source.lag.is_shift else 0.0
    offsets_s = [0.0] * len(runs)
    for of_nodes in lags.values():
        if len(of_nodes) > 2:
            usual = float(np.median(list(of_nodes.values())))
            for at, seconds in of_nodes.items():
                difference = seconds - usual
                offsets_s[at] = difference if abs(difference) > _base(runs[at]).series.period_s else 0.0
    return offsets_s


def _shifted(source: _Source, node_ahead: float) -> _Source:
    """Shift a source to the common clock, and add a note."""
    notes, shift = list(source.series.notes), 0.0
    if source.lag is not None:
        shift = source.lag.seconds if source.lag.is_shift else 0.0
        notes.append(_lag_note(source.lag))
    elif not source.is_meter and node_ahead:
        notes.append(
            f"its clock is {abs(node_ahead):.2f} s {'ahead' if node_ahead > 0 else 'behind'} of the other nodes': set"
        )
    times = source.series.times + shift - node_ahead
    return replace(source, series=replace(source.series, times=times, notes=tuple(notes)))


def _lag_note(lag: Lag) -> str:
    """Return a note on a meter's clock."""
    if not lag.is_sure:
        return f"counters explain {lag.explained:.0%} of the changes of its power, too little to set its clock by"
    if not lag.is_shift:
        return f"its clock fits: counters explain {lag.unshifted:.0%} of the changes of its power"
    side = "behind" if lag.seconds > 0 else "ahead, or its readings are late"
    better = f"counters explain {lag.explained:.0%} of the changes of its power then, {lag.unshifted:.0%} before"
    return f"its clock is {abs(lag.seconds):.2f} s {side} (cross-correlation: {better}): corrected"


def _joined(run: Sequence[_Source]) -> NodeSeries:
    """Join all sources of a node into one series."""
    base = _base(run)
    others = [(source.where, source.series) for source in run if source is not base]
    return joined(base.series, others) if others else base.series


# Join several sources of one node into one series: the rows of one source, with the others' means over each row.


# A value needs at least this share of its row.
LEAST_KNOWN = 0.5


def mean_over(times: FloatArray, values: FloatArray, first_s: float, ends: FloatArray) -> FloatArray:
    """Return the means of rows over other rows.

    times: (r,) ends of the rows, the first of which is first_s long. values: (r, m), NaN where unknown. ends: (q,) ends
    of the wanted rows; the first is as long as the second. Returns (q, m), NaN where less than half is known.
    """
    edges = np.concatenate([[times[0] - first_s], times])
    new_edges = np.concatenate([[ends[0] - (ends[1] - ends[0] if len(ends) > 1 else first_s)], ends])
    lengths = np.diff(edges)[:, None]
    measured = np.isfinite(values)
    return np.stack([
        _mean(edges, np.where(measured, values, 0)[:, at] * lengths[:, 0], measured[:, at] * lengths[:, 0], new_edges)
        for at in range(values.shape[1])
    ], axis=1) if values.shape[1] else np.zeros((len(ends), 0))  # fmt: skip


def _mean(edges: FloatArray, amounts: FloatArray, spans: FloatArray, new_edges: FloatArray) -> FloatArray:
    """Return amounts per known time, between the wanted edges."""
    amount = np.diff(np.interp(new_edges, edges, np.concatenate([[0.0], np.cumsum(amounts)])))
    span = np.diff(np.interp(new_edges, edges, np.concatenate([[0.0], np.cumsum(spans)])))
    enough = span >= LEAST_KNOWN * np.diff(new_edges) * (1 - 1e-9)
    means: FloatArray = np.full(len(amount), np.nan)
    np.divide(amount, span, out=means, where=enough & (span > 0))
    return means


def joined(base: NodeSeries, others: Sequence[tuple[str, NodeSeries]]) -> NodeSeries:
    """Return a series with the columns of others added, on its rows. others: files and their series."""
    names, units, parts = list(base.names), list(base.units), [base.values]
    notes = list(base.notes)
    simulated = base.simulated
    for where, other in others:
        stem = Path(where).stem
        for name, unit in zip(other.names, other.units, strict=True):
            names.append(_new_name(name, stem, names))
            units.append(unit)
        parts.append(mean_over(other.times, other.values, other.period_s, base.times))
        notes += [f"{where}: {note}" for note in other.notes]
        if other.period_s > 1.2 * base.period_s:
            notes.append(f"{where}: a row every {other.period_s:.3g} s, held over rows of {base.period_s:.3g} s")
        elif other.period_s * 1.2 < base.period_s:
            notes.append(f"{where}: a row every {other.period_s:.3g} s, its mean over rows of {base.period_s:.3g} s")
        simulated = simulated or other.simulated
    values = np.concatenate(parts, axis=1)
    return NodeSeries(
        base.node, base.times, tuple(names), tuple(units), values, None, simulated, tuple(notes), base.named
    )  # fmt: skip


def _new_name(name: str, stem: str, taken: Sequence[str]) -> str:
    """Return a name that no other column has."""
    number, new = 2, name
    while new in taken:
        new = f"{stem}:{name}" if f"{stem}:{name}" not in taken else f"{stem}-{number}:{name}"
        number += 1
    return new


# Estimate the difference between the clocks of a meter and a node: where power follows the node's counters best.


MOST_LAG_S = 120.0
# Number of rows whose means are compared with those of as many rows before: unlike levels, changes at one time are
# independent of changes at others.
WIDTH = 2
# Of unrelated series of n rows and 8 or 16 counters, one in a hundred is explained by more than about 140 / n at some
# shift (60 to 900 rows, 150 pairs each); of related ones that were correctly aligned, few by less than 0.2.
LEAST_EXPLAINED, CHANCE = 0.2, 150.0
# Least improvement in explained variance that justifies a shift.
LEAST_BETTER = 0.05
RIDGE = 0.01
# Three weeks at 1 s: enough to estimate a clock, and a limit of memory for times that are far apart.
MOST_ROWS = 2_000_000


@dataclass(frozen=True)
class Lag:
    """A shift of a meter's clock.

    Attributes:
        seconds: To be added to its times.
        explained: Share of the variance of power's changes that the counters explain, after the shift.
        unshifted: The same share without the shift.
        rows: Number of rows common to both.
    """

    seconds: float
    explained: float
    unshifted: float
    rows: int

    @property
    def is_sure(self) -> bool:
        """Whether the correlation is significant."""
        return self.explained >= max(LEAST_EXPLAINED, CHANCE / self.rows)

    @property
    def is_shift(self) -> bool:
        """Whether the shift improves the fit significantly."""
        return self.is_sure and self.explained - self.unshifted >= LEAST_BETTER


def lag_of(counters: NodeSeries, meter: NodeSeries, most_s: float = MOST_LAG_S) -> Lag | None:
    """Return the shift at which a linear combination of the counters explains most of the meter's power.

    None if there are too few common rows, or if one of them does not vary.
    """
    step = max(min(counters.period_s, meter.period_s), 1e-3)
    width = round(WIDTH * max(counters.period_s, meter.period_s) / step)
    first, last = max(counters.times[0], meter.times[0]), min(counters.times[-1], meter.times[-1])
    rows = min(int((last - first) / step), MOST_ROWS)
    if meter.watts is None or rows < CHANCE:
        return None
    edges = first + step * np.arange(rows + 1)
    names = [at for at, name in enumerate(counters.names) if name in counters.counters]
    power = _changes(mean_over(meter.times, meter.watts[:, None], meter.period_s, edges), width)
    other = _changes(mean_over(counters.times, counters.values[:, names], counters.period_s, edges), width)
    if not power.shape[1] or not other.shape[1]:
        return None
    most = min(int(most_s / step), rows // 4)
    return _best(_explained(other, power[:, 0], most), step, most, round(rows * WIDTH / width))


def _changes(values: FloatArray, width: int) -> FloatArray:
    """Return the changes between means of `width` rows, with mean 0 and variance 1; 0 where unknown.

    Columns that never change are omitted.
    """
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(np.nan_to_num(values), axis=0)])
    missing = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(np.isnan(values), axis=0)])
    mean, lacks = (sums[width:] - sums[:-width]) / width, missing[width:] - missing[:-width] > 0
    changes = np.where(lacks[width:] | lacks[:-width], 0.0, mean[width:] - mean[:-width])
    changes -= changes.mean(axis=0)
    spread = changes.std(axis=0)
    kept = spread > 1e-9 * np.maximum(np.abs(mean).max(axis=0), 1e-300)
    standard: FloatArray = changes[:, kept] / spread[kept]
    return standard


def _correlations(one: FloatArray, other: FloatArray, most: int) -> FloatArray:
    """Return sum over t of one[t] * other[t - lag] for lags from -most to most, per row."""
    length = 1 << int(len(one) + most).bit_length()
    product = np.fft.irfft(np.fft.rfft(one, length) * np.conj(np.fft.rfft(other, length)), length)
    return np.concatenate([product[length - most :], product[: most + 1]]) / len(one)


def _explained(counters: FloatArray, power: FloatArray, most: int) -> FloatArray:
    """Return the share of power's variance that a combination of counters explains, for each lag."""
    crossed = np.stack([_correlations(column, power, most) for column in counters.T])
    covariance = counters.T @ counters / len(counters) + RIDGE * np.eye(counters.shape[1])
    explained: FloatArray = np.einsum("kl,kl->l", crossed, np.linalg.solve(covariance, crossed))
    return explained


def _best(explained: FloatArray, step: float, most: int, rows: int) -> Lag:
    """Return the lag that explains most; of several nearly as good, as for periodic series, the smallest."""
    lags = np.arange(-most, most + 1)
    padded = np.pad(explained, 1)
    is_peak = (explained >= padded[:-2]) & (explained >= padded[2:])
    good = np.flatnonzero(is_peak & (explained >= explained.max() - LEAST_BETTER))
    at = int(good[np.argmin(np.abs(lags[good]))])
    part = 0.0
    if 0 < at < 2 * most:
        left, middle, right = (float(each) for each in explained[at - 1 : at + 2])
        bend = left - 2 * middle + right
        part = float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend < 0 else 0.0
    return Lag(float((lags[at] + part) * step), float(explained[at]), float(explained[most]), rows)
