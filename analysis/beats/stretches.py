"""When within a run a heartbeat was slow against its own past: intervals beyond nearly all of the past's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from incprof.analysis.beats.results import BeatSeries, FloatArray

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
BEYOND = 0.99
BRIDGE = 1  # so many intervals between two slow ones do not part them
CHANCE = 0.01


@dataclass(frozen=True)
class Stretch:
    """Time in which intervals were slow: seconds since the start of the run, slow intervals, their mean duration."""

    start_s: float
    end_s: float
    intervals: int
    mean_s: float


@dataclass(frozen=True)
class Slow:
    """What of a heartbeat was slow.

    Attributes:
        id: Of the heartbeat.
        name: Of the heartbeat.
        limit_s: Mean duration beyond which an interval is slow.
        intervals: Intervals of this run in which a beat ended.
        slow: How many of them are slow; of as many in a run like the past ones, 1 % would be.
        stretches: When, in order of time.
    """

    id: int
    name: str | None
    limit_s: float
    intervals: int
    slow: int
    stretches: tuple[Stretch, ...]

    @property
    def notable(self) -> bool:
        """Whether there are more of them, or more in a row, than 1 % scattered over the run would be."""
        by_chance = float(special.bdtrc(self.slow - 1, self.intervals, 1 - BEYOND)) if self.slow else 1.0
        return by_chance < CHANCE or any(stretch.intervals > 1 for stretch in self.stretches)


def quantiles(series: BeatSeries) -> FloatArray:
    """Return the QUANTILES of the means of the intervals in which beats ended, shape (9,); NaN where there are none."""
    some = series.counts > 0
    if not some.any():
        return np.full(len(QUANTILES), np.nan)
    return np.quantile(series.sums_s[some] / series.counts[some], QUANTILES)


def limit(p99: Sequence[float]) -> float:
    """Return the past's p99 from that of each run: their median, so that a poor run does not raise it."""
    return float(np.median(p99))


def slow_stretches(number: int, name: str | None, series: BeatSeries, limit_s: float, interval_s: float) -> Slow:
    """Return the intervals whose mean is above a limit, merged.

    Args:
        number: Id of the heartbeat.
        name: Its name.
        series: The heartbeat over time.
        limit_s: The limit.
        interval_s: Length that an interval was meant to have.
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
