"""Ticks of any segment of a run, from prefix sums. m intervals, c functions, v segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.composition.features import Inclusive
from incprof.analysis.composition.separation import evenly
from incprof.analysis.phases.likelihood import ratio, variance
from incprof.analysis.thresholds import PHASES, PhaseOptions
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


# Episodes of groups of intervals: unassigned intervals do not end one. n intervals, v episodes.


@dataclass(frozen=True)
class Visits:
    """Episodes.

    Attributes:
        first: (v,) first interval.
        end: (v,) one past the last interval.
        group: (v,) group.
        size: (v,) number of intervals of the group.
    """

    first: IntArray
    end: IntArray
    group: IntArray
    size: IntArray


def visits_of(labels: IntArray) -> Visits:
    """Return the episodes of labels (n,), in order of time; -1 is unassigned."""
    known = np.flatnonzero(labels >= 0)
    group = labels[known]
    start = np.flatnonzero(np.diff(group, prepend=-1))
    stop = np.append(start, len(known))[1:]
    return Visits(known[start], known[stop - 1] + 1, group[start], stop - start)


# Compare two segments of a run: the function whose share differs most, beyond its own scatter.
#
# m pairs of segments, c functions (call paths with all that they call). Counts are ticks.


# Pairs that are compared at once: bounds the memory, which must not grow with the run.
AT_ONCE = 4096
LEAST = 1e-6


def differences(
    a: FloatArray, a_total: FloatArray, b: FloatArray, b_total: FloatArray, scatter: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how far each function's share differs, in standard errors and as a share, both (..., c).

    The score is the root of the likelihood ratio, which is more exact than the normal approximation where ticks are
    few; the larger of both counts.

    Args:
        a: (..., c) ticks of each function in one segment.
        a_total: (...,) all of its ticks.
        b: of the other segment.
        b_total: of the other segment.
        scatter: (c,) or (..., c) factor by which a function's share scatters more than counting explains.
    """
    na, nb = np.asarray(a_total)[..., None], np.asarray(b_total)[..., None]
    both, ticks = a + b, na + nb
    apart: FloatArray = np.abs(a / na - b / nb)
    normal = apart / np.sqrt(scatter * variance(both / ticks, ticks) * (1.0 / na + 1.0 / nb))
    gain = 2.0 * ratio(np.minimum(a, na), na, np.minimum(b, nb), nb)
    score: FloatArray = np.maximum(normal, np.sqrt(np.maximum(gain, 0.0) / scatter))
    return score, apart


def how_different(
    a: FloatArray,
    a_total: FloatArray,
    b: FloatArray,
    b_total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions = PHASES,
    times: FloatArray | float = 1.0,
) -> FloatArray:
    """Return how different pairs of segments are, (m,): from 1 on, some function's share differs between them.

    It must differ by `options.named` (for short segments `times` as much) of the time and by `options.beyond` standard
    errors. The arguments are those of `differences`, with one row for each of m pairs.
    """
    wide = np.broadcast_to(np.asarray(times, dtype=np.float64), (len(a),))
    out = np.zeros(len(a))
    for first in range(0, len(a) if a.shape[1] else 0, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        limit = options.named * wide[part]
        out[part] = _most(a[part], a_total[part], b[part], b_total[part], scatter, options, limit)
    return out


def _most(
    a: FloatArray,
    a_total: FloatArray,
    b: FloatArray,
    b_total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions,
    limit: FloatArray,
) -> FloatArray:
    """Return how_different for at least one function, skipping functions that cannot be the most different.

    A function scores at most the difference of its share. So the function whose share differs most is scored first,
    then all whose difference exceeds that score. limit: (m,).
    """

    def told(row: IntArray, column: IntArray) -> FloatArray:
        counts = a[row, column][:, None], b[row, column][:, None]
        score, apart = differences(counts[0], a_total[row], counts[1], b_total[row], scatter[column][:, None])
        # Only a difference of zero scores zero.
        surely = apart * np.maximum(1.0 - options.surely / np.maximum(score, 1e-9), LEAST)
        result: FloatArray = np.minimum(score[:, 0] / options.beyond, surely[:, 0] / limit[row])
        return result

    apart = np.abs(a / a_total[:, None] - b / b_total[:, None])
    rows, first = np.arange(len(a)), apart.argmax(axis=1)
    most = told(rows, first)
    apart[rows, first] = 0.0  # already scored
    row, column = np.nonzero(apart / limit[:, None] > most[:, None])
    if len(row):
        np.maximum.at(most, row, told(row, column))
    return most
