"""By how much each function's share scatters beyond counting, where nothing changes.

N ticks of which a part p falls on a function have p scatter with variance p(1-p)/N. Real programs scatter more: their
iterations are as long as an interval, their steps last as long as they like. How much more is measured, per function.
n intervals, c functions.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.phases.difference import tick_variance
from incprof.analysis.phases.separation import evenly
from incprof.model import FloatArray, IntArray

MAX_LAG = 8
# Of a long run, so many pairs of intervals tell.
MOST_PAIRS = 20_000
# Quantiles of a squared normal variable, and of the pairs of intervals that are surely of one phase.
LOW, LOW_OF_NORMAL = 0.4, 0.275
ALIKE, OF_ALIKE = 0.6, 1.3
# A mean of all but the largest of squared normal variables, which are changes.
TRIM, OF_TRIMMED = 0.98, 0.93
# A function with less of the interval tells nothing; fewer pairs neither; more scatter is no noise.
SEEN, ENOUGH, MOST = 0.02, 6, 60.0
# Stretches of fewer intervals are as they are because they were chosen.
LONG = 4


def at_best_lag(counts: FloatArray, total: FloatArray) -> FloatArray:
    """Return the scatter over counting of each function, (c,), from intervals that lie 1 to 8 apart.

    That lag counts at which they are most alike: what alternates with a period is alike at its period. counts: (n, c)
    ticks; total: (n,).
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
    """Return the scatter over counting of each function, (c,), from neighbours in the same stretch.

    Stretches go from `first` to before `end`, both (s,). The largest differences are left out.
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
    """Return squared difference, what counting explains of it, and common share of pairs of intervals, each (m, c)."""
    a, b, na, nb = counts[one], counts[other], total[one][:, None], total[other][:, None]
    share = (a + b) / (na + nb)
    return (a / na - b / nb) ** 2, tick_variance(share, na + nb) * (1.0 / na + 1.0 / nb), share
