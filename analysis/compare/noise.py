"""Noise of what is compared: values with their uncertainty, the change between two, and which changes are significant.

A mean over a run is a ratio: total time of the calls that ended over their number. Its error is that of the mean of
z[t] = sum[t] - mean * count[t] over the intervals t (the delta method). These are not independent draws: a disturbance
lasts for several intervals, and an error that assumes independence is too small.

The long-run variance of z is the mean of the squares of its first v cosine coefficients (EWC, an orthonormal series
estimator), v = 0.4 n^(2/3), and the quantiles are Student's with v degrees of freedom: Lazarus, Lewis, Stock and
Watson, HAR Inference: Recommendations for Practice, J. Business & Economic Statistics 36 (2018). It amounts to batch
means with smooth batches. The stationary bootstrap (Politis and Romano 1994) with the block length of Politis and White
(2004, corrected 2009) was tried and rejected: of 95 % intervals for the difference of two runs whose intervals are
correlated by 0.6, it covered 70 % at 10 intervals, 83 % at 40 and 92 % at 400; EWC 97, 94 and 95 %. Runs often have
only tens of intervals.

`series_mean` is EWC at any number of intervals, for heartbeats. `observed` is for phases, whose few intervals EWC
would give intervals of confidence twice as wide (MANY). From one run: the intervals and episodes of a phase are
observations of its pace, and ticks are counts. One run does not show what differs from run to run (another node,
another placement, page colours); a relative scatter is assumed for that. From several runs of a side: their spread,
whatever its reasons. One run against a history of an application: the spread of that history (`PastRuns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
LEVEL = 0.95  # of intervals of confidence
FALSE_SHARE = 0.05  # of the changes that are called significant
MIN_INTERVALS = 5
NOTHING = 1e-12  # relative: rounding
EXACT = 10_000  # degrees of freedom of an exact count
# From this many intervals on, their slow variation determines the error. With fewer it is unreliable: of 95 % intervals
# for the difference of two runs of 8 intervals, both methods cover 98 % (neighbours correlated by 0.6: 96 and 93 %),
# but those of `_of_few` are half as wide.
MANY = 60


@dataclass(frozen=True)
class Estimate:
    """A value with its uncertainty. Independent estimates can be added.

    Attributes:
        value: the estimate, such as seconds or joules.
        variance: in the square of its unit.
        dof: degrees of freedom of the variance.
    """

    value: float
    variance: float = 0.0
    dof: float = EXACT

    @property
    def relative_error(self) -> float:
        """Standard error over the value, which is above 0."""
        return float(np.sqrt(self.variance)) / self.value

    def __add__(self, other: Estimate) -> Estimate:
        """Return the estimate of the sum (Welch and Satterthwaite)."""
        variance = self.variance + other.variance
        if variance <= 0:
            return Estimate(self.value + other.value)
        parts = (self.variance / variance) ** 2 / self.dof + (other.variance / variance) ** 2 / other.dof
        return Estimate(self.value + other.value, variance, 1.0 / parts)

    def uncertain_by(self, variance: float, dof: float = EXACT) -> Estimate:
        """Return the estimate with a further, independent uncertainty."""
        return self + Estimate(0.0, variance, dof)

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate of a multiple of the value."""
        return Estimate(self.value * factor, self.variance * factor**2, self.dof)


# Of one run: from its intervals.


def series_mean(counts: FloatArray, sums: FloatArray) -> Estimate | None:
    """Return the mean per count; None for fewer than MIN_INTERVALS intervals, or if the sums are 0.

    Args:
        counts: Beats or calls that ended in each interval in which some did, in order of time, all above 0, shape (n,).
        sums: Sum of their durations, shape (n,).
    """
    from scipy import fft  # here: most runs that are compared have no heartbeats

    n = len(counts)
    total, number = float(sums.sum()), float(counts.sum())
    if n < MIN_INTERVALS or total <= 0:
        return None
    dof = max(int(0.4 * n ** (2 / 3)), 1)
    z = (sums - total / number * counts) / total
    coefficients = fft.dct(z - z.mean(), norm="ortho")[1 : dof + 1]
    variance = float(np.mean(coefficients**2)) * n  # of the sum of z, which is n times its mean
    return Estimate(1.0, variance, dof).scaled(total / number)


def observed(counts: FloatArray, sums: FloatArray) -> Estimate | None:
    """Return the total of the sums, with the uncertainty of the mean per count; None for too few intervals.

    Args:
        counts: amount of something known in each interval (calls, wall seconds, episodes), above 0, (n,).
        sums: seconds, for example, (n,).
    """
    n, total = len(counts), float(sums.sum())
    if n >= MANY:
        mean = series_mean(counts, sums)
        return None if mean is None else mean.scaled(float(counts.sum()))
    if n < MIN_INTERVALS or total <= 0:
        return None
    variance, dof = _of_few(sums - total / float(counts.sum()) * counts)
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


# Of two runs together: how much the seconds for the same work vary along them.
#
# Where both runs did the same number of calls, call number i of one corresponds to call number i of the other. Causes
# that make some calls more expensive (a mesh that grows, solvers that converge) are then in both and are not noise.
# Otherwise the calls of each run by themselves show how much the time for one varies.


# Numbers of calls that differ by more than this share are not the same work.
SAME_WORK = 0.01
MOST_BLOCKS = 64


def pace(
    calls_a: FloatArray, seconds_a: FloatArray, calls_b: FloatArray, seconds_b: FloatArray
) -> tuple[Estimate, Estimate] | None:
    """Return the seconds of both runs, with the uncertainty of their pace; None for too few intervals.

    Args:
        calls_a: calls in each interval of one run in order of time, (n,).
        seconds_a: (n,).
        calls_b: the same of the other run, (m,).
        seconds_b: (m,).
    """
    some = [(calls > 0) | (seconds > 0) for calls, seconds in ((calls_a, seconds_a), (calls_b, seconds_b))]
    calls_a, seconds_a, calls_b, seconds_b = (
        calls_a[some[0]], seconds_a[some[0]], calls_b[some[1]], seconds_b[some[1]],
    )  # fmt: skip
    total = float(calls_a.sum()), float(calls_b.sum())
    if min(len(calls_a), len(calls_b)) < MIN_INTERVALS or min(total) <= 0:
        return None
    found = observed(calls_a, seconds_a), observed(calls_b, seconds_b)
    if found[0] is None or found[1] is None:
        return None
    if abs(total[0] - total[1]) <= SAME_WORK * max(total):
        paired = _paired(calls_a, seconds_a, calls_b, seconds_b)
        if paired is not None:
            return paired
    return found[0], found[1]


def _paired(
    calls_a: FloatArray, seconds_a: FloatArray, calls_b: FloatArray, seconds_b: FloatArray
) -> tuple[Estimate, Estimate] | None:
    """Return the seconds with the error of their ratio, half of its variance each."""
    blocks = min(len(calls_a), len(calls_b), MOST_BLOCKS)
    one, other = _in_blocks(calls_a, seconds_a, blocks), _in_blocks(calls_b, seconds_b, blocks)
    if not (one > 0).all():
        return None
    found = observed(one, other)
    if found is None:
        return None
    # Of two halves: their sum has found.dof again.
    half = Estimate(1.0, found.variance / found.value**2 / 2, found.dof / 2)
    return half.scaled(float(seconds_a.sum())), half.scaled(float(seconds_b.sum()))


def _in_blocks(calls: FloatArray, seconds: FloatArray, blocks: int) -> FloatArray:
    """Return the seconds of equal parts of the calls, (blocks,)."""
    done = np.concatenate([[0.0], np.cumsum(calls)])
    spent = np.concatenate([[0.0], np.cumsum(seconds)])
    # Time without calls belongs to the last of equal positions.
    last = np.append(np.diff(done) > 0, True)
    at = np.interp(np.linspace(0.0, done[-1], blocks + 1), done[last], spent[last])
    at[0], at[-1] = 0.0, spent[-1]
    return np.diff(at)


# From estimates to a change.


@dataclass(frozen=True)
class Change:
    """Factor by which a value changed.

    Attributes:
        low: lower end of its confidence interval.
        high: upper end.
        p_value: of no change.
    """

    low: float
    high: float
    p_value: float


def change(a: Estimate, b: Estimate, level: float = LEVEL) -> Change:
    """Return the change from a to b: confidence interval of the factor between them (Welch), and the p-value of 1."""
    errors = a.relative_error, b.relative_error
    error, difference = float(np.hypot(*errors)), float(np.log(b.value)) - float(np.log(a.value))
    if error <= NOTHING:  # nothing varies: any difference is significant
        factor = float(np.exp(difference))
        return Change(factor, factor, 1.0 if abs(difference) <= NOTHING else 0.0)
    # As shares of the error: its fourth power may underflow to zero.
    dof = 1 / ((errors[0] / error) ** 4 / a.dof + (errors[1] / error) ** 4 / b.dof)
    reach = float(special.stdtrit(dof, 0.5 + level / 2)) * error
    low, high = np.exp(np.clip([difference - reach, difference + reach], -700, 700)).tolist()
    return Change(low, high, float(2 * special.stdtr(dof, -abs(difference) / error)))


def compared(a: Sequence[Estimate], b: Sequence[Estimate], run_noise: float) -> Change | None:
    """Return the change from the runs of a to those of b; None if one side has none of it.

    The relative scatter from run to run is that of both sides.

    Args:
        a: one estimate for each run of a side, at least one.
        b: likewise.
        run_noise: relative standard deviation from run to run, assumed where each side has one run.
    """
    sides = [np.array([e.value for e in side]) for side in (a, b)]
    if any(not values.mean() > 0 for values in sides):
        return None
    runs = len(a) + len(b)
    squares = sum(float(((values / values.mean() - 1) ** 2).sum()) for values in sides)
    means = []
    for side, values in zip((a, b), sides, strict=True):
        within = _within(side)
        if runs == 2:
            means.append(within.uncertain_by((run_noise * within.value) ** 2))
            continue
        # At least the uncertainty of each run by itself: few runs may agree by chance.
        error = float(np.sqrt(squares / (runs - 2) / len(values)))
        # Each side has its part of them, so that both together have runs - 2 again.
        dof = (runs - 2) * (runs - len(values)) / runs
        if within.relative_error > error:
            error, dof = within.relative_error, max(within.dof, dof)
        means.append(Estimate(1.0, error**2, dof).scaled(float(values.mean())))
    return change(means[0], means[1])


def _within(side: Sequence[Estimate]) -> Estimate:
    """Return the mean of the runs of a side, with the uncertainty within each of them."""
    total = side[0]
    for one in side[1:]:
        total = total + one
    return total.scaled(1 / len(side))


# Of several changes: which of them are significant.


def adjusted(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for multiple tests (Benjamini and Hochberg, J. Royal Stat. Soc. B 57, 1995).

    Of those below q, a share q is false on average; if all null hypotheses hold, any is below q with probability at
    most q. None, for what cannot be tested, stays None and does not count.
    """
    tested = [at for at, value in enumerate(p_values) if value is not None]
    m = len(tested)
    p = np.array([p_values[at] for at in tested], dtype=np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * m / np.arange(1, m + 1)
    result = np.empty(m)
    result[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    out: list[float | None] = [None] * len(p_values)
    for at, value in zip(tested, result.tolist(), strict=True):
        out[at] = min(value, 1.0)
    return out


def verdict(p_adjusted: float, difference: float, within_noise: str) -> str:
    """Return `slower` or `faster` for a significant difference, else `within_noise`."""
    return within_noise if p_adjusted > FALSE_SHARE else "slower" if difference > 0 else "faster"


# Of one run and the past ones.
#
# A value is judged by its logarithm (disturbances multiply) against median and MAD of the past runs. Both are stable
# until half of the past runs are poor, so poor runs need not be found and removed from the history: mean and standard
# deviation would be shifted by them and hide the next one. The MAD times 1.4826 estimates the standard deviation of
# normal values, but less efficiently: it is worth 0.37 times as many runs (Huber and Ronchetti, Robust Statistics,
# 2009, 5.1). With 5 past runs, 1 in 17 quiet runs exceeds 3.5 such deviations, the usual bound. So the deviation is
# judged by Student's distribution with 0.37 n degrees of freedom, after division by sqrt(1 + pi / 2n), the
# uncertainty of the median. tests/unit/incprof/systems/heartbeats/test_history.py verifies this.


LEAST_SPREAD = 0.01  # no machine is more reproducible; and with zero spread any change would be poor
MAD_TO_SD = 1.4826
MAD_EFFICIENCY = 0.37


@dataclass(frozen=True)
class PastRuns:
    """A value in the past runs.

    Attributes:
        runs: Number of past runs with it.
        log_median: Logarithm of the median.
        spread: 1.4826 MAD of the logarithms, about the relative deviation.
        low: Lowest value.
        high: Highest value.
    """

    runs: int
    log_median: float
    spread: float
    low: float
    high: float

    @property
    def median(self) -> float:
        """Median, in the value's unit."""
        return float(np.exp(self.log_median))

    def deviations(self, value: float) -> float:
        """Return by how many spreads a value is above the median."""
        return (float(np.log(value)) - self.log_median) / max(self.spread, LEAST_SPREAD)


def past_runs(values: Sequence[float]) -> PastRuns:
    """Summarise the values of past runs, at least one, all above 0."""
    logs = np.log(np.asarray(values))
    middle = float(np.median(logs))
    spread = MAD_TO_SD * float(np.median(np.abs(logs - middle)))
    return PastRuns(len(values), middle, spread, min(values), max(values))


def p_of(deviations: float, n: int) -> float:
    """Return the probability that a quiet run is this many spreads or more above the median of n past runs."""
    return float(special.stdtr(MAD_EFFICIENCY * n, -deviations / np.sqrt(1 + np.pi / (2 * n))))
