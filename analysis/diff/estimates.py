"""Uncertainty of a number of seconds measured in one run, or in several.

From one run: the intervals and episodes of a phase are observations of its pace, and ticks are counts. One run does not
show what differs from run to run (another node, another placement, page colours); a relative scatter is assumed for
that. From several runs of a side: their spread, whatever its reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.compare.log_mean import MIN_INTERVALS, Change, LogMean, change, log_mean
from incprof.model import FloatArray

SURE = 10_000  # degrees of freedom of an exact count
# From this many intervals on, their slow variation determines the error. With fewer it is unreliable: of 95 % intervals
# for the difference of two runs of 8 intervals, both methods cover 98 % (neighbours correlated by 0.6: 96 and 93 %),
# but those of `_of_few` are half as wide.
MANY = 60


@dataclass(frozen=True)
class Estimate:
    """Seconds with their uncertainty. Independent estimates can be added.

    Attributes:
        seconds: the estimate.
        variance: of the seconds, s^2.
        dof: degrees of freedom of the variance.
    """

    seconds: float
    variance: float = 0.0
    dof: float = SURE

    def __add__(self, other: Estimate) -> Estimate:
        """Return the estimate of the sum (Welch and Satterthwaite)."""
        variance = self.variance + other.variance
        if variance <= 0:
            return Estimate(self.seconds + other.seconds)
        parts = (self.variance / variance) ** 2 / self.dof + (other.variance / variance) ** 2 / other.dof
        return Estimate(self.seconds + other.seconds, variance, 1.0 / parts)

    def uncertain_by(self, variance: float, dof: float = SURE) -> Estimate:
        """Return the estimate with a further, independent uncertainty."""
        return self + Estimate(0.0, variance, dof)


def observed(counts: FloatArray, seconds: FloatArray) -> Estimate | None:
    """Return the sum of seconds, with the uncertainty of the mean per count; None for too few intervals.

    Args:
        counts: amount of something known in each interval (calls, wall seconds, visits), above 0, (n,).
        seconds: (n,).
    """
    n, total = len(counts), float(seconds.sum())
    if n >= MANY:
        found = log_mean(counts, seconds)
        return None if found is None else Estimate(total, (found.error * total) ** 2, found.dof)
    if n < MIN_INTERVALS or total <= 0:
        return None
    variance, dof = _of_few(seconds - total / float(counts.sum()) * counts)
    return Estimate(total, variance, dof)


def _of_few(z: FloatArray) -> tuple[float, float]:
    """Return the variance of a sum, and its degrees of freedom, from the correlation of neighbours.

    Correlated values are worth fewer independent ones. The correlation in a sample is too small on average, by (1 + 4
    r) / n (Kendall 1954; Zwiers and von Storch, J. Climate 8, 1995); a negative one is treated as 0.
    """
    n = len(z)
    z = z - z.mean()
    squares = float(z @ z)
    if squares <= 0:
        return 0.0, float(n - 1)
    r = float(z[1:] @ z[:-1]) / squares
    r = min(max(r + (1 + 4 * r) / n, 0.0), 0.9)
    worth = max(n * (1 - r) / (1 + r), 2.0)
    variance = squares / max(n - n / worth, 1.0)
    return variance / worth * n**2, max(worth - 1, 1.0)


def counted(seconds: float, tick_s: float, dispersion: float) -> Estimate:
    """Return seconds with the uncertainty of a number of ticks, at least one."""
    ticks = max(seconds / tick_s, 1.0)
    return Estimate(seconds, dispersion * ticks * tick_s**2)


def compared(a: Sequence[Estimate], b: Sequence[Estimate], run_noise: float) -> Change | None:
    """Return the change from the seconds of a to those of b; None if one side has none.

    Args:
        a: one estimate for each run of a side, at least one.
        b: likewise.
        run_noise: relative standard deviation from run to run, assumed where each side has one run.
    """
    one, other = _means(a, b, run_noise)
    return None if one is None or other is None else change(one, other)


def _means(a: Sequence[Estimate], b: Sequence[Estimate], run_noise: float) -> tuple[LogMean | None, LogMean | None]:
    """Return the logarithm of the mean of each side. The relative scatter from run to run is that of both sides."""
    sides = [np.array([e.seconds for e in side]) for side in (a, b)]
    if any(not values.mean() > 0 for values in sides):
        return None, None
    runs = len(a) + len(b)
    squares = sum(float(((values / values.mean() - 1) ** 2).sum()) for values in sides)
    out = []
    for side, values in zip((a, b), sides, strict=True):
        within = _within(side)
        if runs == 2:
            found = within.uncertain_by((run_noise * within.seconds) ** 2)
            error, dof = np.sqrt(found.variance) / found.seconds, found.dof
        else:
            # At least the uncertainty of each run by itself: few runs may agree by chance.
            error = np.sqrt(squares / (runs - 2) / len(values))
            # Each side has its part of them, so that both together have runs - 2 again.
            dof = (runs - 2) * (runs - len(values)) / runs
            sampling = np.sqrt(within.variance) / within.seconds
            if sampling > error:
                error, dof = sampling, max(within.dof, dof)
        out.append(LogMean(float(np.log(values.mean())), float(error), dof, len(values)))
    return out[0], out[1]


def _within(side: Sequence[Estimate]) -> Estimate:
    """Return the mean of the runs of a side, with the uncertainty within each of them."""
    total = side[0]
    for one in side[1:]:
        total = total + one
    return Estimate(total.seconds / len(side), total.variance / len(side) ** 2, total.dof)
