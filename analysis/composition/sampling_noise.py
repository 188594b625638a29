"""Expected distance between two intervals of the same phase, where ticks are counts.

An interval of N ticks in a phase with shares p has shares x with variance p(1-p)/N per function: that much scatter is
sampling, not behaviour. Real programs scatter more; `overdispersion` estimates by which factor.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.composition.separation import evenly
from incprof.model import FloatArray, IntArray

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
