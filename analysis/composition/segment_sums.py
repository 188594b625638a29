"""Ticks of any segment of a run, from prefix sums. m intervals, c functions, v segments."""

from __future__ import annotations

import numpy as np

from incprof.analysis.composition.episodes import visits_of
from incprof.analysis.composition.inclusive import Inclusive
from incprof.analysis.composition.separation import evenly
from incprof.analysis.phases.likelihood import variance
from incprof.model import FloatArray, IntArray

MAX_LAG = 8
# Pairs of intervals that are enough of a long run.
MOST_PAIRS = 20_000
# Quantiles of a squared normal variable, and of the pairs of intervals that are certainly of one phase.
LOW, LOW_OF_NORMAL = 0.4, 0.275
ALIKE, OF_ALIKE = 0.6, 1.3
# Mean of squared normal variables without the largest, which are changes.
TRIM, OF_TRIMMED = 0.98, 0.93
# Ignore functions with a smaller share, and fewer pairs; larger scatter is not noise.
SEEN, ENOUGH, MOST = 0.02, 6, 60.0
# The scatter of shorter segments is biased, since their boundaries were chosen.
LONG = 4


def at_best_lag(counts: FloatArray, total: FloatArray) -> FloatArray:
    """Return the scatter over counting of each function, (c,), from intervals that lie 1 to 8 apart.

    The lag at which they are most alike is used: behaviour that alternates with a period is alike at that period.
    counts: (n, c) ticks; total: (n,).
    """
    out = np.ones(counts.shape[1])
    if not len(out):
        return out
    best, pick = np.inf, None
    for lag in range(1, min(MAX_LAG, len(counts) // 3) + 1):
        at = evenly(len(counts) - lag, MOST_PAIRS)
        square, expected, share = _pairs(counts, total, at, at + lag)
        usual = float(np.quantile(square.sum(axis=1) / expected.sum(axis=1), 0.25))
        if usual < best:
            best, pick = usual, (square / expected, square.sum(axis=1) / expected.sum(axis=1), share)
    if pick is None:
        return out
    times, together, share = pick
    near = together <= np.quantile(together, ALIKE)
    for column in range(len(out)):
        use = near & (share[:, column] > SEEN)
        if use.sum() >= ENOUGH:
            out[column] = np.quantile(times[use, column], LOW) / LOW_OF_NORMAL * OF_ALIKE
    return np.clip(out, 1.0, MOST)


def inside(counts: FloatArray, total: FloatArray, first: IntArray, end: IntArray) -> FloatArray:
    """Return the scatter over counting of each function, (c,), from neighbours in the same segment.

    Segments go from `first` to before `end`, both (s,). The largest differences are left out.
    """
    out = np.ones(counts.shape[1])
    size = np.repeat(end - first, end - first)
    stretch = np.repeat(np.arange(len(first)), end - first)
    at = np.flatnonzero((np.diff(stretch) == 0) & (size[:-1] >= LONG))
    at = at[evenly(len(at), MOST_PAIRS)]
    if len(at) < ENOUGH:
        return out
    square, expected, share = _pairs(counts, total, at, at + 1)
    for column in range(len(out)):
        use = share[:, column] > SEEN
        if use.sum() >= ENOUGH:
            times = np.sort(square[use, column] / expected[use, column])
            out[column] = times[: max(1, int(np.ceil(TRIM * len(times))))].mean() / OF_TRIMMED
    return np.clip(out, 1.0, MOST)


def _pairs(
    counts: FloatArray, total: FloatArray, one: IntArray, other: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return squared difference, the part due to counting, and common share of pairs of intervals, each (m, c)."""
    a, b, na, nb = counts[one], counts[other], total[one][:, None], total[other][:, None]
    share = (a + b) / (na + nb)
    return (a / na - b / nb) ** 2, variance(share, na + nb) * (1.0 / na + 1.0 / nb), share


class Sums:
    """Ticks of any segment of a run. scatter: (c,) of each function, over counting."""

    def __init__(self, ticks: Inclusive, scatter: FloatArray):
        self.ticks, self.scatter = ticks, scatter
        self._counts = np.vstack([np.zeros(ticks.counts.shape[1]), np.cumsum(ticks.counts, axis=0)])
        self._total = np.concatenate([[0.0], np.cumsum(ticks.total)])

    @staticmethod
    def of(ticks: Inclusive, labels: IntArray) -> Sums:
        """Build the sums of intervals that have ticks, and the scatter of functions within runs of one label, (m,)."""
        visits = visits_of(labels)
        scatter = at_best_lag(ticks.counts, ticks.total)
        if len(visits.first):
            scatter = np.maximum(scatter, inside(ticks.counts, ticks.total, visits.first, visits.end))
        return Sums(ticks, scatter)

    def counts(self, first: IntArray, end: IntArray) -> FloatArray:
        """Return the ticks of each function from `first` to before `end`, both (v,): (v, c)."""
        result: FloatArray = self._counts[end] - self._counts[first]
        return result

    def total(self, first: IntArray, end: IntArray) -> FloatArray:
        """Return all ticks of some segments, (v,)."""
        result: FloatArray = self._total[end] - self._total[first]
        return result
