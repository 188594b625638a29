"""The period of a window by definition, in numpy: what the kernels are checked against."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.systems.periods.pattern_result import PatternOptions
from incprof.systems.periods.scan import UP, Scan

# Distances below this share of the usual one are rounding.
ZERO = 1e-9


def lags(inside: FloatArray, metric: str = "l2") -> FloatArray:
    """Return f(k) for k in 1 .. L, shape (L,). inside: (2 L,)."""
    half = len(inside) // 2
    steps = (inside[half:] - inside[half - k : 2 * half - k] for k in range(1, half + 1))
    if metric == "l1":
        return np.array([np.abs(step).sum() for step in steps])
    return np.array([np.sqrt((step * step).sum()) for step in steps])


def chance(pieces: float) -> float:
    """Return the dip that a window of that many independent values must fall below to be significant."""
    few = min(0.5 * pieces / 15, 0.5)
    return max(few, 1 - 4.35 / math.sqrt(pieces))


def pieces(noisy: float, first: int, half: int) -> float:
    """Return the number of independent values in a window.

    Noise has a new one in each sample, the signal under it only one in `first` samples. noisy: noise as a share of the
    usual distance.
    """
    signal, noise = 1 - noisy * noisy, noisy * noisy
    return half / (signal * signal * first + noise * noise)


def usual(f: FloatArray) -> float:
    """Return the value of f where nothing repeats: its median, or its mean if most of it repeats."""
    shifts = np.sort(f[:-1])
    return float(max(shifts[len(shifts) // 2], f[:-1].sum() / len(shifts)))


def carriers(half: FloatArray) -> float:
    """Return how many values carry the variance of a half window: about L, or 3 for a flat one with a spike."""
    square = (half - half.mean()) ** 2
    fourths = float((square * square).sum())
    return 3 * float(square.sum()) ** 2 / fourths if fourths > 0 else 1.0


def allowed(f: FloatArray, spread: float, noise: float, options: PatternOptions) -> tuple[float, int]:
    """Return the greatest distance that is a dip, and the first shift at which a dip counts."""
    half, reference = len(f), usual(f)
    floor = noise * (2 / math.sqrt(math.pi) * half if options.metric == "l1" else math.sqrt(2 * half))
    floor = min(floor, reference)
    up = np.flatnonzero(f[:-1] >= floor + UP * (reference - floor))
    first = int(up[0]) + 1 if len(up) else half
    if options.theta:
        close = options.theta * reference
    else:
        close = min((floor + reference) / 2, chance(min(pieces(floor / reference, first, half), spread)) * reference)
    return max(close, ZERO * reference), first


@dataclass(frozen=True)
class Limit:
    """The greatest distance that counts as close.

    Attributes:
        distance: Absolute.
        share: As a share of the usual distance.
    """

    distance: float = 0.0
    share: float = 0.0


def base_period(f: FloatArray, spread: float, noise: float, options: PatternOptions) -> tuple[int, Limit]:
    """Return the base period of a window, 0 if it has none, and the limit of closeness.

    Args:
        f: (L,) its distances.
        spread: The carriers of its right half.
        noise: Standard deviation of a sample.
        options: Uses theta, depth, shortest and metric.
    """
    reference = usual(f)
    if not reference > 0:
        return 0, Limit()
    close, first = allowed(f, spread, noise, options)
    limit = Limit(close, close / reference)
    dips = [k for k in range(first, len(f) + 1) if f[k - 1] <= close and _is_dip(f, k, reference)]
    if not dips:
        return 0, limit
    deepest = min(dips, key=lambda k: (f[k - 1], k))
    least = float(f[deepest - 1])
    family = min(least + (1 - options.depth) * (reference - least), close)
    members = [k for k in dips if options.shortest <= k <= deepest and f[k - 1] <= family and _related(k, deepest)]
    return (members[0] if members else 0), limit


def is_close(x: FloatArray, start: int, period: int, half: int, limit: Limit, metric: str) -> bool:
    """Return whether an instance is as close to the period before it as its window, of 2 * half samples, requires.

    It must also be close by its own measure, which excludes flat pieces: as close as the window, or half as close if
    the piece is too long for chance.
    """
    own = max(limit.share, min((limit.share + 1) / 2, 1 - 2 / math.sqrt(period)))
    one, other = x[start : start + period], x[start - period : start]
    step = one - other
    squares = float((step * step).sum())
    unlike = float(((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum())
    if not unlike > 0 or squares > own * own * unlike:
        return False
    if metric == "l1":
        return bool(np.abs(step).sum() * half <= limit.distance * period)
    return squares * half <= limit.distance**2 * period


def _is_dip(f: FloatArray, k: int, reference: float) -> bool:
    """Return whether f has a minimum at shift k; the last shift, without a neighbour, must be an exact copy."""
    falls = k == 1 or f[k - 1] < f[k - 2]
    return bool(falls and (f[k - 1] <= f[k] if k < len(f) else f[k - 1] <= ZERO * reference))


def _related(k: int, deepest: int) -> bool:
    """Return whether the deepest shift is nearly a multiple of k."""
    times = deepest / k
    return abs(times - round(times)) <= 0.05 * times


def scan_by_definition(x: FloatArray, window: int, options: PatternOptions, noise: float) -> Scan:
    """The instances found with a window."""
    instances: list[tuple[int, int]] = []
    slide = options.slide or max(window // 2, 1)
    at = 0
    while at + 2 * window <= len(x):
        inside = x[at : at + 2 * window]
        f = lags(inside, options.metric)
        period, limit = base_period(f, carriers(inside[window:]), noise, options)
        for start in range(at + window, at + window + window // period * period, period) if period else ():
            if is_close(x, start, period, window, limit, options.metric):
                instances.append((start, period))
        at += window // period * period if period else slide
    starts, periods = np.array(instances, dtype=np.int64).reshape(-1, 2).T
    return Scan(window, starts, periods)
