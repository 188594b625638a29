"""The rows of a node as input of the paper's method: rates, power, and whether the node is idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.errors import NoDataError
from incprof.model import BoolArray, FloatArray
from incprof.model.nodes import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import counters_of
from incprof.systems.nodes.analyse.idle import idle_rows, lasting, misses_per_cycle
from incprof.systems.nodes.analyse.power import lag_of, moved
from incprof.systems.nodes.analyse.state_segments import PAUSE_S


@dataclass(frozen=True)
class NodeRows:
    """The rows of one recording of a node.

    Attributes:
        node: Name of the node.
        names: Names of the counters.
        ends_s: (rows,) end of each row, seconds since 1970.
        rates: (rows, counters) per second.
        watts: (rows,) power, shifted by the lag; NaN where unknown.
        misses: (rows,) cache misses per cycle; None if they were not counted.
        idle: (rows,) whether the node is idle.
        period_s: Usual length of a row, in seconds.
        lag_s: Delay of the meter, in seconds.
        simulated: Whether power comes from a formula.
    """

    node: str
    names: tuple[str, ...]
    ends_s: FloatArray
    rates: FloatArray
    watts: FloatArray
    misses: FloatArray | None
    idle: BoolArray
    period_s: float
    lag_s: float
    simulated: bool

    def __getitem__(self, part: slice) -> NodeRows:
        """Return some of the rows."""
        misses = None if self.misses is None else self.misses[part]
        return NodeRows(
            self.node, self.names, self.ends_s[part], self.rates[part], self.watts[part], misses, self.idle[part],
            self.period_s, self.lag_s, self.simulated,
        )  # fmt: skip

    @property
    def busy(self) -> slice:
        """Slice from the first row that is not idle to the last; empty if all are idle."""
        at = np.flatnonzero(~self.idle)
        return slice(int(at[0]), int(at[-1]) + 1) if len(at) else slice(0, 0)

    @property
    def begins_s(self) -> float:
        """Begin of the first row, seconds since 1970."""
        return float(self.ends_s[0]) - self.period_s

    @property
    def seconds(self) -> float:
        """Total duration of the rows."""
        return float(self.ends_s[-1]) - self.begins_s

    def energy_j(self, begin: float, end: float) -> float:
        """Return the energy between two shares of the duration, from 0 to 1. Unknown power counts as the mean."""
        known = np.isfinite(self.watts)
        watts = np.where(known, self.watts, self.watts[known].mean())
        edges = np.concatenate([[self.begins_s], self.ends_s])
        total = np.concatenate([[0.0], np.cumsum(watts * np.diff(edges))])
        low, high = np.interp(self.begins_s + np.array([begin, end]) * self.seconds, edges, total)
        return float(high - low)


def rows_of(series: NodeSeries, names: Sequence[str], most: FloatArray, beta: float | None) -> NodeRows:
    """Return the rows of a node.

    Args:
        series: Recording of the node.
        names: Names of the wanted counters.
        most: (counters,) the greatest rates on all nodes.
        beta: Cache misses per cycle below which a row is idle; None: all rates are small for 10 s.

    Raises:
        NoDataError: power is missing, or beta is given and the two counters are missing.
    """
    if series.watts is None or not np.isfinite(series.watts).any():
        raise NoDataError(f"{series.node}: no power was measured, by which the paper tells letters")
    rates = counters_of(series, names)
    misses = misses_per_cycle(rates, names)
    if beta is not None and misses is None:
        raise NoDataError(f"{series.node}: no cache-misses and cycles, by which the paper tells an idle node")
    lag = lag_of(rates, series.watts)
    if beta is not None and misses is not None:
        idle: BoolArray = misses < beta
    else:
        idle = lasting(idle_rows(names, rates, most), max(1, round(PAUSE_S / series.period_s)))
    return NodeRows(
        series.node, tuple(names), series.times, rates, moved(series.watts, lag), misses, idle, series.period_s,
        lag * series.period_s, series.simulated,
    )  # fmt: skip
