"""Find segments in which a heartbeat was slow relative to its own past: intervals above nearly all past ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from incprof.analysis.heartbeats.summaries import BeatSeries, FloatArray

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
BEYOND = 0.99
BRIDGE = 1  # this many intervals between two slow ones do not separate them
CHANCE = 0.01


@dataclass(frozen=True)
class Stretch:
    """A segment of slow intervals.

    Attributes:
        start_s: Seconds since the start of the run.
        end_s: Seconds since the start of the run.
        intervals: Number of slow intervals.
        mean_s: Their mean duration, in seconds.
    """

    start_s: float
    end_s: float
    intervals: int
    mean_s: float


@dataclass(frozen=True)
class Slow:
    """The slow segments of a heartbeat.

    Attributes:
        id: Id of the heartbeat.
        name: Name of the heartbeat.
        limit_s: Mean duration above which an interval is slow, in seconds.
        intervals: Number of intervals of this run in which a beat ended.
        slow: Number of slow ones among them; 1 % is expected in a run like the past ones.
        stretches: The segments, in order of time.
    """

    id: int
    name: str | None
    limit_s: float
    intervals: int
    slow: int
    stretches: tuple[Stretch, ...]

    @property
    def notable(self) -> bool:
        """Whether there are more slow intervals, or more in a row, than 1 % scattered at random."""
        by_chance = float(special.bdtrc(self.slow - 1, self.intervals, 1 - BEYOND)) if self.slow else 1.0
        return by_chance < CHANCE or any(stretch.intervals > 1 for stretch in self.stretches)


def quantiles(series: BeatSeries) -> FloatArray:
    """Return the QUANTILES of the means of intervals in which beats ended, shape (9,); NaN without any."""
    some = series.counts > 0
    if not some.any():
        return np.full(len(QUANTILES), np.nan)
    return np.quantile(series.sums_s[some] / series.counts[some], QUANTILES)


def limit(p99: Sequence[float]) -> float:
    """Return the past p99: the median of that of each run, so that a poor run does not raise it."""
    return float(np.median(p99))


def slow_stretches(number: int, name: str | None, series: BeatSeries, limit_s: float, interval_s: float) -> Slow:
    """Return the intervals whose mean is above a limit, merged to segments.

    Args:
        number: Id of the heartbeat.
        name: Its name.
        series: The heartbeat over time.
        limit_s: The limit, in seconds.
        interval_s: Nominal length of an interval, in seconds.
    """
    some = series.counts > 0
    cells, counts, sums = series.at[some], series.counts[some], series.sums_s[some]
    at = np.flatnonzero(sums / counts > limit_s)
    parts = np.split(at, np.flatnonzero(np.diff(at) > BRIDGE + 1) + 1) if at.size else []
    stretches = []
    for part in parts:
        end = float(series.end_s[cells[part[-1]]])
        first = int(cells[part[0]])
        start = float(series.end_s[first]) - interval_s
        if first and series.end_s[first] - series.end_s[first - 1] < 1.5 * interval_s:
            start = float(series.end_s[first - 1])
        mean = float(sums[part].sum() / counts[part].sum())
        stretches.append(Stretch(max(start, 0.0), end, len(part), mean))
    return Slow(number, name, limit_s, len(cells), len(at), tuple(stretches))
