"""Combine files about the same nodes: group them by node and time, align their clocks, and join them into series."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model import NodeSeries
from incprof.model.counter_names import canonical_names, stand_ins
from incprof.readers.nodes.counter_rates import rates_of
from incprof.readers.nodes.power import with_power
from incprof.readers.nodes.tables import Table
from incprof.systems.nodes.clocks import Lag, lag_of
from incprof.systems.nodes.join import joined


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
    groups = [_at_the_same_time(group) for group in _by_node(sources)]
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


def _at_the_same_time(sources: Sequence[_Source]) -> list[list[_Source]]:
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
    said = "has no start time: taken to have begun with the others"
    series = replace(source.series, times=source.series.times + shift, notes=(*source.series.notes, said))
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
    ahead = _nodes_ahead(runs)
    return [[_shifted(source, seconds) for source in run] for run, seconds in zip(runs, ahead, strict=True)]


def _nodes_ahead(runs: Sequence[Sequence[_Source]]) -> list[float]:
    """Return by how many seconds each node's clock is ahead of the others, according to a meter that has them all."""
    lags: dict[str, dict[int, float]] = {}
    for at, run in enumerate(runs):
        for source in run:
            if source.lag is not None and source.lag.is_sure:
                lags.setdefault(source.where, {})[at] = source.lag.seconds if source.lag.is_shift else 0.0
    ahead = [0.0] * len(runs)
    for of_nodes in lags.values():
        if len(of_nodes) > 2:
            usual = float(np.median(list(of_nodes.values())))
            for at, seconds in of_nodes.items():
                apart = seconds - usual
                ahead[at] = apart if abs(apart) > _base(runs[at]).series.period_s else 0.0
    return ahead


def _shifted(source: _Source, node_ahead: float) -> _Source:
    """Shift a source to the common clock, and add a note."""
    notes, shift = list(source.series.notes), 0.0
    if source.lag is not None:
        shift = source.lag.seconds if source.lag.is_shift else 0.0
        notes.append(_said(source.lag))
    elif not source.is_meter and node_ahead:
        notes.append(
            f"its clock is {abs(node_ahead):.2f} s {'ahead' if node_ahead > 0 else 'behind'} of the other nodes': set"
        )
    times = source.series.times + shift - node_ahead
    return replace(source, series=replace(source.series, times=times, notes=tuple(notes)))


def _said(lag: Lag) -> str:
    """Return a note on a meter's clock."""
    if not lag.is_sure:
        return f"counters explain {lag.explained:.0%} of the changes of its power, too little to set its clock by"
    if not lag.is_shift:
        return f"its clock fits: counters explain {lag.unshifted:.0%} of the changes of its power"
    side = "behind" if lag.seconds > 0 else "ahead, or its readings are late"
    better = f"counters explain {lag.explained:.0%} of the changes of its power then, {lag.unshifted:.0%} before"
    return f"its clock is {abs(lag.seconds):.2f} s {side} (cross-correlation: {better}): set"


def _joined(run: Sequence[_Source]) -> NodeSeries:
    """Join all sources of a node into one series."""
    base = _base(run)
    others = [(source.where, source.series) for source in run if source is not base]
    return joined(base.series, others) if others else base.series
