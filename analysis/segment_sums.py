"""Ticks of any segment of a run, and how well groups of intervals are separated."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from incprof.analysis.features import Inclusive
from incprof.analysis.phases.changepoints import least_gain, ratio, variance
from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, IntArray, IntervalProfile

MAX_LAG = 8
# Pairs of intervals that are enough of a long run.
MOST_PAIRS = 20_000
# Quantiles of a squared normal variable, and of the pairs of intervals that are certainly of one phase.
LOW, LOW_OF_NORMAL = 0.4, 0.275
ONE_PHASE, OF_ONE_PHASE = 0.6, 1.3
# Mean of squared normal variables without the largest, which are changes.
TRIM, OF_TRIMMED = 0.98, 0.93
# Ignore functions with a smaller share, and fewer pairs; larger scatter is not noise.
LEAST_SHARE, ENOUGH, MOST = 0.02, 6, 60.0
# The scatter of shorter segments is biased, since their boundaries were chosen.
LONG = 4


def scatter_by_lag(counts: FloatArray, total: FloatArray) -> FloatArray:
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
    similar = together <= np.quantile(together, ONE_PHASE)
    for column in range(len(out)):
        use = similar & (share[:, column] > LEAST_SHARE)
        if use.sum() >= ENOUGH:
            out[column] = np.quantile(times[use, column], LOW) / LOW_OF_NORMAL * OF_ONE_PHASE
    return np.clip(out, 1.0, MOST)


def scatter_in_segments(counts: FloatArray, total: FloatArray, first: IntArray, end: IntArray) -> FloatArray:
    """Return the scatter over counting of each function, (c,), from neighbours in the same segment.

    Segments go from `first` to before `end`, both (s,). The largest differences are left out.
    """
    out = np.ones(counts.shape[1])
    size = np.repeat(end - first, end - first)
    segment = np.repeat(np.arange(len(first)), end - first)
    at = np.flatnonzero((np.diff(segment) == 0) & (size[:-1] >= LONG))
    at = at[evenly(len(at), MOST_PAIRS)]
    if len(at) < ENOUGH:
        return out
    square, expected, share = _pairs(counts, total, at, at + 1)
    for column in range(len(out)):
        use = share[:, column] > LEAST_SHARE
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
        episodes = episodes_of(labels)
        scatter = scatter_by_lag(ticks.counts, ticks.total)
        if len(episodes.first):
            scatter = np.maximum(scatter, scatter_in_segments(ticks.counts, ticks.total, episodes.first, episodes.end))
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
class Episodes:
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


def episodes_of(labels: IntArray) -> Episodes:
    """Return the episodes of labels (n,), in order of time; -1 is unassigned."""
    assigned = np.flatnonzero(labels >= 0)
    group = labels[assigned]
    start = np.flatnonzero(np.diff(group, prepend=-1))
    stop = np.append(start, len(assigned))[1:]
    return Episodes(assigned[start], assigned[stop - 1] + 1, group[start], stop - start)


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
    difference: FloatArray = np.abs(a / na - b / nb)
    normal = difference / np.sqrt(scatter * variance(both / ticks, ticks) * (1.0 / na + 1.0 / nb))
    gain = 2.0 * ratio(np.minimum(a, na), na, np.minimum(b, nb), nb)
    score: FloatArray = np.maximum(normal, np.sqrt(np.maximum(gain, 0.0) / scatter))
    return score, difference


def how_different(
    a: FloatArray,
    a_total: FloatArray,
    b: FloatArray,
    b_total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions = PHASES,
) -> FloatArray:
    """Return how different pairs of segments are, (m,): from 1 on, some function's share differs between them.

    It must differ by `options.named` of the time or more, less `options.surely` standard errors, and pass the test of a
    change point. The arguments are those of `differences`, with one row for each of m pairs.
    """
    out = np.zeros(len(a))
    for first in range(0, len(a) if a.shape[1] else 0, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        out[part] = _largest_difference(a[part], a_total[part], b[part], b_total[part], scatter, options)
    return out


def lower_bound(score: FloatArray, difference: FloatArray, options: PhaseOptions) -> FloatArray:
    """Return the lower bound of differences. score: in standard errors; apart: of the shares."""
    # Only a difference of zero scores zero.
    out: FloatArray = difference * np.maximum(1.0 - options.surely / np.maximum(score, 1e-9), LEAST)
    return out


def _largest_difference(
    a: FloatArray, a_total: FloatArray, b: FloatArray, b_total: FloatArray, scatter: FloatArray, options: PhaseOptions
) -> FloatArray:
    """Return how_different for at least one function, skipping functions that cannot be the most different.

    A function scores at most the difference of its share. So the function whose share differs most is scored first,
    then all whose difference exceeds that score.
    """
    least = np.sqrt(2.0 * least_gain(np.maximum(a_total + b_total, 1.0), a.shape[1], options.penalty))

    def score_pairs(row: IntArray, column: IntArray) -> FloatArray:
        counts = a[row, column][:, None], b[row, column][:, None]
        score, difference = differences(counts[0], a_total[row], counts[1], b_total[row], scatter[column][:, None])
        surely = lower_bound(score, difference, options)
        result: FloatArray = np.minimum(score[:, 0] / np.maximum(least[row], LEAST), surely[:, 0] / options.named)
        return result

    difference = np.abs(a / a_total[:, None] - b / b_total[:, None])
    rows, first = np.arange(len(a)), difference.argmax(axis=1)
    most = score_pairs(rows, first)
    difference[rows, first] = 0.0  # already scored
    row, column = np.nonzero(difference / options.named > most[:, None])
    if len(row):
        np.maximum.at(most, row, score_pairs(row, column))
    return most


# Measures of how well a clustering separates its data, without a ground truth.


SILHOUETTE_SAMPLE = 2000


def evenly(n: int, most: int) -> IntArray:
    """Return at most `most` indices spread evenly over 0..n-1: a sample without random numbers."""
    return np.arange(n, dtype=np.int64) if n <= most else np.linspace(0, n - 1, most).round().astype(np.int64)


def distances(x: FloatArray) -> FloatArray:
    """Return the Euclidean distances between all rows, shape (n, n)."""
    norms = (x**2).sum(axis=1)
    squares = norms[:, None] + norms[None, :] - 2.0 * (x @ x.T)
    np.maximum(squares, 0.0, out=squares)
    np.fill_diagonal(squares, 0.0)
    roots: FloatArray = np.sqrt(squares)
    return roots


def silhouette(distance: FloatArray, labels: IntArray) -> float | None:
    """Return the mean silhouette of labels 0..k-1 over a distance matrix (n, n); None for fewer than two clusters."""
    each = silhouettes(distance, labels)
    return None if each is None else float(each.mean())


def silhouettes(distance: FloatArray, labels: IntArray) -> FloatArray | None:
    """Return the silhouette of each interval, (n,): from 1, deep in its cluster, to -1, in another one; or None.

    A cluster of one interval counts 0, as usual.
    """
    values = np.unique(labels)
    if not 2 <= len(values) < len(labels):
        return None
    member = labels[:, None] == values[None, :]
    size = member.sum(axis=0)
    sums = distance @ member
    own = sums[member]
    own_size = (member * size).sum(axis=1)
    inside = own / np.maximum(own_size - 1, 1)
    means = np.where(member, np.inf, sums / size)
    nearest = means.min(axis=1)
    larger = np.maximum(inside, nearest)
    value = np.divide(nearest - inside, larger, out=np.zeros_like(larger), where=larger > 0)
    silhouette: FloatArray = np.where(own_size > 1, value, 0.0)
    return silhouette


def calinski_harabasz(total: float, inertia: float, n: int, k: int) -> float | None:
    """Return the variance ratio criterion from the inertia for one cluster and for k; None where it is not defined."""
    if not 1 < k < n or inertia <= 0:
        return None
    return ((total - inertia) / (k - 1)) / (inertia / (n - k))


def separation(a: FloatArray, b: FloatArray) -> float:
    """Return Ashman's D of two groups (rows) along the line between their centers; infinite for two points."""
    line = b.mean(axis=0) - a.mean(axis=0)
    length = float(np.sqrt(line @ line))
    if length == 0.0:
        return 0.0
    spread = float(np.var(a @ (line / length)) + np.var(b @ (line / length)))
    return np.sqrt(2.0) * length / np.sqrt(spread) if spread > 0 else np.inf


# Expected distance between two intervals of the same phase, where ticks are counts.
#
# An interval of N ticks in a phase with shares p has shares x with variance p(1-p)/N per function: that much scatter
# is sampling, not behaviour. Real programs scatter more; `overdispersion` estimates by which factor.


# Intervals with fewer ticks are judged with their neighbours.
ENOUGH_TICKS = 50.0


def sampling_noise(x: FloatArray, ticks: FloatArray) -> FloatArray:
    """Return the squared distance of each interval to its phase's mean that tick counting alone explains.

    Args:
        x: (n, d) shares.
        ticks: (n,) samples per interval.

    Returns:
        Shape (n,).
    """
    # Half a tick more than observed: an interval of a single function must not appear free of noise.
    d, more, smoothed = x.shape[1], 0.5 / (x.shape[1] + 1), ticks + 0.5
    p1, p2 = x.sum(axis=1) * ticks, np.einsum("ij,ij->i", x, x) * ticks**2
    variance = (p1 + d * more) / smoothed - (p2 + 2.0 * more * p1 + d * more**2) / smoothed**2
    result: FloatArray = variance / np.maximum(ticks, 1.0)
    return result


def effective_dimensions(x: FloatArray) -> FloatArray:
    """Return (trace S)^2 / trace(S^2) of each row's multinomial covariance S, shape (n,), at least 1."""
    p1, p2, p3 = x.sum(axis=1), np.einsum("ij,ij->i", x, x), np.einsum("ij,ij,ij->i", x, x, x)
    trace = p1 - p2
    trace_sq = p2 - 2.0 * p3 + p2**2
    ratio = np.divide(trace**2, trace_sq, out=np.ones_like(trace), where=trace_sq > 1e-12)
    result: FloatArray = np.maximum(ratio, 1.0)
    return result


def chi2_quantile(dof: FloatArray, z: float) -> FloatArray:
    """Return the quantile at normal score z of a chi-squared variable over its degrees of freedom (Wilson-Hilferty)."""
    spread = 2.0 / (9.0 * dof)
    result: FloatArray = np.maximum(1.0 - spread + z * np.sqrt(spread), 0.05) ** 3
    return result


def local_shares(x: FloatArray, ticks: FloatArray) -> FloatArray:
    """Return x (n, d) averaged over neighbours until there are about 50 ticks behind each row.

    The scatter of an interval is estimated from its shares; those of five ticks are too coarse for that.
    """
    half = int(np.ceil(ENOUGH_TICKS / max(float(np.median(ticks)), 1.0))) // 2
    if half == 0:
        return x
    total = np.vstack([np.zeros(x.shape[1]), np.cumsum(x * ticks[:, None], axis=0)])
    count = np.concatenate([[0.0], np.cumsum(ticks)])
    low = np.maximum(np.arange(len(x)) - half, 0)
    high = np.minimum(np.arange(len(x)) + half + 1, len(x))
    averaged: FloatArray = (total[high] - total[low]) / (count[high] - count[low])[:, None]
    return averaged


def overdispersion(x: FloatArray, ticks: FloatArray) -> float:
    """Return the factor (>= 1) by which intervals of one phase scatter more than tick counting explains.

    From differences of intervals 1..8 apart, at the lag where they are smallest. There a quarter of the pairs belongs
    to one phase unless more than four phases alternate at random, and the lower quartile depends on those pairs alone.
    """
    n, local = len(x), local_shares(x, ticks)
    best = np.inf
    for lag in range(1, min(MAX_LAG, n // 3) + 1):
        one = evenly(n - lag, MOST_PAIRS)
        noise = [sampling_noise(local[at], ticks[at]) for at in (one, one + lag)]
        scale = [chi2_quantile(effective_dimensions(local[at]), -0.6745) for at in (one, one + lag)]
        distance = ((x[one + lag] - x[one]) ** 2).sum(axis=1)
        best = min(best, float(np.quantile(distance / ((noise[0] + noise[1]) * np.minimum(*scale)), 0.25)))
    return max(best, 1.0) if np.isfinite(best) else 1.0


def usual_scatter(x: FloatArray, labels: IntArray, ticks: FloatArray) -> float | None:
    """Return the median distance of intervals to the mean of their phase, over what tick counting explains.

    A rare step does not move the median. labels: (n,), -1 is no phase. None without a phase.
    """
    times = []
    for phase in np.unique(labels[labels >= 0]).tolist():
        members = x[labels == phase]
        center = members.mean(axis=0, keepdims=True)
        expected = sampling_noise(np.broadcast_to(center, members.shape), ticks[labels == phase])
        members -= center
        times.append(
            np.einsum("ij,ij->i", members, members) / (expected * chi2_quantile(effective_dimensions(center), 0.0))
        )
    return float(np.median(np.concatenate(times))) if times else None


# Number of intervals to pool so that each pool holds enough samples to show what it does.
#
# Where no interval has more than one sample, an interval without one is not necessarily one of waiting.


# Rounding of seconds that are whole numbers of ticks.
SLACK = 1e-6


def ticks_of(profile: IntervalProfile) -> FloatArray:
    """Return the samples of each interval, in ticks, (n,)."""
    return np.asarray(profile.self_s.sum(axis=1), dtype=np.float64).ravel() * profile.metadata.rate_hz


def usual_ticks(ticks: FloatArray) -> float:
    """Return the number of samples in the interval of the median sample: half of all samples are in larger intervals.

    Intervals of waiting, however many, do not count. ticks: (n,). Zero without samples.
    """
    order = np.sort(ticks)
    done = np.cumsum(order)
    return float(order[np.searchsorted(done, done[-1] / 2)]) if len(order) and done[-1] > 0 else 0.0


def pooled_by(profile: IntervalProfile, options: PhaseOptions = PHASES) -> int:
    """Return how many intervals to pool: 1, 2, 5, 10, ... the fewest that usually hold enough samples.

    All of them if even that is too few; 1 without samples.
    """
    return pooled_by_ticks(ticks_of(profile), options)


def pooled_by_ticks(ticks: FloatArray, options: PhaseOptions = PHASES) -> int:
    """Return how many intervals to pool, from the samples of each, in ticks, (n,)."""
    if not ticks.sum() > 0:
        return 1
    for number in count():
        by = (1, 2, 5)[number % 3] * int(10 ** (number // 3))
        at = np.arange(0, len(ticks), by)
        if len(at) <= 1 or usual_ticks(np.add.reduceat(ticks, at)) >= options.samples - SLACK:
            return by
    raise AssertionError("unreachable: by grows beyond any run")
