"""Convert a run to the paper's letters of fixed length: each 15 s get the letter of their most frequent phase.

The phases are those of Algorithm 1 (section 4.2: the alphabet is made by it, and all letters have the same duration).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.errors import NoDataError
from incprof.model import BoolArray, FloatArray, IntArray
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import counters_of
from incprof.systems.nodes.analyse.node_states import PAUSE_S
from incprof.systems.nodes.analyse.paper import Letter, Phase, as_set
from incprof.systems.nodes.analyse.power import idle_rows, lag_of, long_idle, misses_per_cycle, moved

# A last piece of a run that is shorter than this share of a letter is dropped.
LEAST = 0.5


@dataclass(frozen=True)
class Spelling:
    """A run in letters.

    Attributes:
        application: Name of the application.
        source: The source file.
        letters: (n,) one for each period of fixed length, None is XXX.
        seconds: (n,) recorded time in each.
        joules: (n,) energy of that time.
        rows: Rows of the run, from the first to the last that is not idle.
    """

    application: str
    source: str
    letters: tuple[Letter, ...]
    seconds: FloatArray
    joules: FloatArray
    rows: NodeRows

    @property
    def sequence(self) -> tuple[Letter, ...]:
        """Letters between the idle states in which a system begins and ends (section 3)."""
        return (None, *self.letters, None)


def windows(ends_s: FloatArray, period_s: float, length_s: float) -> IntArray:
    """Return for each row the number of the period of fixed length that contains it, (rows,), from 0.

    A row belongs to the period that contains its middle. Rows of a last piece shorter than half a period are -1.
    """
    since = ends_s - period_s / 2 - (ends_s[0] - period_s)
    at = np.floor(since / length_s + 1e-9).astype(np.int64)
    total_s = float(ends_s[-1] - ends_s[0]) + period_s
    last = int(at[-1])
    short = last > 0 and total_s - last * length_s < LEAST * length_s
    return np.where(at == last, -1, at) if short else at


def spell(application: str, source: str, rows: NodeRows, phases: Sequence[Phase], length_s: float) -> Spelling:
    """Convert a run to letters of a fixed length, from the phases of its rows; the first of equally frequent ones."""
    at = windows(rows.ends_s, rows.period_s, length_s)
    phase = np.repeat(np.arange(len(phases)), [each.last - each.first for each in phases])
    spans = np.minimum(np.diff(rows.ends_s, prepend=rows.begins_s), 2 * rows.period_s)
    usual = float(np.nanmean(rows.watts))
    letters: list[Letter] = []
    seconds, joules = [], []
    for number in range(int(at.max()) + 1):
        own = np.flatnonzero(at == number)
        if not len(own):
            continue  # nothing was recorded in this period
        counts: dict[Letter, int] = {}
        for each in phase[own].tolist():
            counts[phases[each].letter] = counts.get(phases[each].letter, 0) + 1
        letters.append(max(counts, key=lambda letter: counts[letter]))
        watts = rows.watts[own]
        mean = float(np.nanmean(watts)) if np.isfinite(watts).any() else usual
        seconds.append(float(spans[own].sum()))
        joules.append(mean * seconds[-1])
    return Spelling(application, source, tuple(letters), np.array(seconds), np.array(joules), rows)


def as_sets(runs: Sequence[Spelling]) -> list[Spelling]:
    """Unify letters with the same four counters: each becomes the first of them to occur."""
    first: dict[int, int] = {}
    return [replace(run, letters=tuple(one_of_set(letter, first) for letter in run.letters)) for run in runs]


def one_of_set(letter: Letter, first: dict[int, int]) -> Letter:
    """Return the first letter that had the same four counters; `first` records letters by their set of counters."""
    return None if letter is None else first.setdefault(as_set(letter), letter)


# The rows of a node as input of the paper's method: rates, power, and whether the node is idle.


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
        measured = np.isfinite(self.watts)
        watts = np.where(measured, self.watts, self.watts[measured].mean())
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
        raise NoDataError(f"{series.node}: no power was measured, by which the paper distinguishes letters")
    rates = counters_of(series, names)
    misses = misses_per_cycle(rates, names)
    if beta is not None and misses is None:
        raise NoDataError(f"{series.node}: no cache-misses and cycles, by which the paper recognises an idle node")
    lag = lag_of(rates, series.watts)
    if beta is not None and misses is not None:
        idle: BoolArray = misses < beta
    else:
        idle = long_idle(idle_rows(names, rates, most), max(1, round(PAUSE_S / series.period_s)))
    return NodeRows(
        series.node, tuple(names), series.times, rates, moved(series.watts, lag), misses, idle, series.period_s,
        lag * series.period_s, series.simulated,
    )  # fmt: skip
