"""The rows of a node as the paper's method takes them: rates, power, and whether the node is idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.dna.idle import idle_rows, lasting, misses_per_cycle
from incprof.analysis.dna.power import lag_of, moved
from incprof.analysis.dna.rates import counters_of
from incprof.analysis.dna.stretches import PAUSE_S
from incprof.errors import NoDataError
from incprof.model import BoolArray, FloatArray
from incprof.model.nodes import NodeSeries


@dataclass(frozen=True)
class NodeRows:
    """The rows of one recording of a node.

    Attributes:
        node: its name.
        names: of the counters.
        ends_s: (rows,) the end of each row, seconds since 1970.
        rates: (rows, counters) per second.
        watts: (rows,) power, at the rows that it is of; NaN where unknown.
        misses: (rows,) cache misses in a cycle; None where these are not counted.
        idle: (rows,) whether the node is.
        period_s: the usual length of a row.
        lag_s: so late is the meter.
        simulated: power comes from a formula.
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
        """From the first row that is not idle to the last; empty where all are."""
        at = np.flatnonzero(~self.idle)
        return slice(int(at[0]), int(at[-1]) + 1) if len(at) else slice(0, 0)

    @property
    def begins_s(self) -> float:
        """When the first row begins."""
        return float(self.ends_s[0]) - self.period_s

    @property
    def seconds(self) -> float:
        """How long the rows are, in all."""
        return float(self.ends_s[-1]) - self.begins_s

    def energy_j(self, begin: float, end: float) -> float:
        """Return the energy between two parts of the time, from 0 to 1. Unknown power is as the mean of the rest."""
        known = np.isfinite(self.watts)
        watts = np.where(known, self.watts, self.watts[known].mean())
        edges = np.concatenate([[self.begins_s], self.ends_s])
        total = np.concatenate([[0.0], np.cumsum(watts * np.diff(edges))])
        low, high = np.interp(self.begins_s + np.array([begin, end]) * self.seconds, edges, total)
        return float(high - low)


def rows_of(series: NodeSeries, names: Sequence[str], most: FloatArray, beta: float | None) -> NodeRows:
    """Return the rows of a node.

    Args:
        series: of the node.
        names: the counters that are wanted.
        most: (counters,) the greatest rates on all nodes.
        beta: with fewer cache misses in a cycle a row is idle; None: where all rates are small for 10 s.

    Raises:
        NoDataError: there is no power, or beta is given and the two counters are not there.
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
