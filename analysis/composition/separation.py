"""Measures of how well a clustering separates its data, without a ground truth."""

from __future__ import annotations

from itertools import count

import numpy as np

from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, IntArray, IntervalProfile

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
    found: FloatArray = np.where(own_size > 1, value, 0.0)
    return found


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


MAX_LAG = 8
# Intervals with fewer ticks are judged with their neighbours.
ENOUGH_TICKS = 50.0
# Pairs of intervals that are enough of a long run.
MOST_PAIRS = 20_000


def sampling_noise(x: FloatArray, ticks: FloatArray) -> FloatArray:
    """Return the squared distance of each interval to its phase's mean that tick counting alone explains.

    Args:
        x: (n, d) shares.
        ticks: (n,) samples per interval.

    Returns:
        Shape (n,).
    """
    # Half a tick more than observed: an interval of a single function must not appear free of noise.
    d, more, whole = x.shape[1], 0.5 / (x.shape[1] + 1), ticks + 0.5
    p1, p2 = x.sum(axis=1) * ticks, np.einsum("ij,ij->i", x, x) * ticks**2
    variance = (p1 + d * more) / whole - (p2 + 2.0 * more * p1 + d * more**2) / whole**2
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


def local_shares(x: FloatArray, ticks: FloatArray, enough: float = ENOUGH_TICKS) -> FloatArray:
    """Return x (n, d) averaged over neighbours until there are about 50 ticks behind each row.

    The scatter of an interval is estimated from its shares; those of five ticks are too coarse for that.
    """
    half = int(np.ceil(enough / max(float(np.median(ticks)), 1.0))) // 2
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
        mine = x[labels == phase]
        center = mine.mean(axis=0, keepdims=True)
        expected = sampling_noise(np.broadcast_to(center, mine.shape), ticks[labels == phase])
        mine -= center
        times.append(np.einsum("ij,ij->i", mine, mine) / (expected * chi2_quantile(effective_dimensions(center), 0.0)))
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
