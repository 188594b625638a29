"""How far apart two intervals of the same phase lie, when ticks are counts.

An interval of N ticks in a phase with shares p has shares x with variance p(1-p)/N per function: that much scatter
is sampling, not behaviour. Real programs scatter more; `overdispersion` estimates by which factor.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.features import BoolArray
from incprof.model import FloatArray

MAX_LAG = 8
# A neighbour further away than this many noise widths belongs to another behaviour.
FAR = 9.0


def sampling_noise(x: FloatArray, ticks: FloatArray) -> FloatArray:
    """Return the squared distance of each interval to its phase's mean that tick counting alone explains.

    Args:
        x: (n, d) shares.
        ticks: (n,) samples per interval.

    Returns:
        Shape (n,).
    """
    # One tick more than was seen: an interval of one function alone must not claim to be free of noise.
    smoothed = (x * ticks[:, None] + 0.5 / max(x.shape[1], 1)) / (ticks[:, None] + 0.5)
    variance = np.clip(smoothed * (1.0 - smoothed), 0.0, None).sum(axis=1)
    result: FloatArray = variance / np.maximum(ticks, 1.0)
    return result


def effective_dimensions(x: FloatArray) -> FloatArray:
    """Return (trace S)^2 / trace(S^2) of each row's multinomial covariance S, shape (n,), at least 1."""
    p2, p3 = (x**2).sum(axis=1), (x**3).sum(axis=1)
    p1 = x.sum(axis=1)
    trace = p1 - p2
    trace_sq = p2 - 2.0 * p3 + p2**2
    return np.maximum(np.divide(trace**2, trace_sq, out=np.ones_like(trace), where=trace_sq > 1e-12), 1.0)


def chi2_quantile(dof: FloatArray, z: float) -> FloatArray:
    """Return the quantile at normal score z of a chi-squared variable over its degrees of freedom (Wilson-Hilferty)."""
    spread = 2.0 / (9.0 * dof)
    result: FloatArray = np.maximum(1.0 - spread + z * np.sqrt(spread), 0.05) ** 3
    return result


def overdispersion(x: FloatArray, noise: FloatArray) -> float:
    """Return the factor (>= 1) by which intervals of one phase scatter more than tick counting explains.

    From differences of intervals that lie 1..8 apart, at the lag where they are smallest: a quarter of the pairs
    belongs to one phase there unless more than four phases alternate at random, and the lower quartile sees only those.
    """
    n = len(x)
    scale = chi2_quantile(effective_dimensions(x), -0.6745)
    best = np.inf
    for lag in range(1, min(MAX_LAG, n // 3) + 1):
        distance = ((x[lag:] - x[:-lag]) ** 2).sum(axis=1)
        expected = (noise[lag:] + noise[:-lag]) * np.minimum(scale[lag:], scale[:-lag])
        best = min(best, float(np.quantile(distance / expected, 0.25)))
    return max(best, 1.0) if np.isfinite(best) else 1.0


def transitions(x: FloatArray, noise: FloatArray, limit: float = 0.2) -> BoolArray:
    """Mark border intervals: mixtures of a steady neighbour before and a different one after. Shape (n,).

    An interval counts when its neighbours are far apart, one of them is steady, and it lies between the two. When
    more than `limit` of the run would be borders, the program alternates faster than the interval: none is one.
    """
    n = len(x)
    mark = np.zeros(n, dtype=np.bool_)
    if n < 4:
        return mark
    step = ((x[1:] - x[:-1]) ** 2).sum(axis=1) / (noise[1:] + noise[:-1])
    for i in range(1, n - 1):
        before, after = x[i - 1], x[i + 1]
        gap = after - before
        gap_sq = float(gap @ gap)
        steady = (i >= 2 and step[i - 2] < FAR) or (i + 2 < n and step[i + 1] < FAR)
        if not steady or gap_sq < FAR * (noise[i - 1] + noise[i + 1]):
            continue
        t = float((x[i] - before) @ gap) / gap_sq
        off = x[i] - before - t * gap
        mark[i] = 0.1 < t < 0.9 and float(off @ off) < FAR * noise[i] + 0.05 * gap_sq
    return mark if mark.mean() <= limit else np.zeros(n, dtype=np.bool_)
