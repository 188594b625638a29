"""Confidence of a mean duration where neighbouring intervals are correlated, and of many heartbeats at once.

The mean over a run is a ratio: total time of the beats that ended over their number. Its error is that of the mean of
z[t] = sum[t] - mean * count[t] over the intervals t (the delta method). These are not independent draws: a disturbance
lasts for several intervals, and an error that assumes independence is too small.

The long-run variance of z is the mean of the squares of its first v cosine coefficients (EWC, an orthonormal series
estimator), v = 0.4 n^(2/3), and the quantiles are Student's with v degrees of freedom: Lazarus, Lewis, Stock and
Watson, HAR Inference: Recommendations for Practice, J. Business & Economic Statistics 36 (2018). It amounts to batch
means with smooth batches. The stationary bootstrap (Politis and Romano 1994) with the block length of Politis and White
(2004, corrected 2009) was tried and rejected: of 95 % intervals for the difference of two runs whose intervals are
correlated by 0.6, it covered 70 % at 10 intervals, 83 % at 40 and 92 % at 400; EWC 97, 94 and 95 %. Runs often have
only tens of intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
MIN_INTERVALS = 5
NOTHING = 1e-12  # relative: rounding


@dataclass(frozen=True)
class LogMean:
    """Logarithm of a run's mean duration.

    Attributes:
        value: the logarithm.
        error: its standard error.
        dof: degrees of freedom of the error.
        intervals: number of intervals behind it.
    """

    value: float
    error: float
    dof: float
    intervals: int


def log_mean(counts: FloatArray, sums_s: FloatArray) -> LogMean | None:
    """Return the logarithm of the mean duration; None for fewer than MIN_INTERVALS intervals, or without duration.

    Args:
        counts: Beats that ended in each interval in which some did, in order of time, all above 0, shape (n,).
        sums_s: Sum of their durations, shape (n,).
    """
    from scipy import fft  # here: most runs that are compared have no heartbeats

    n = len(counts)
    total, beats = float(sums_s.sum()), float(counts.sum())
    if n < MIN_INTERVALS or total <= 0:
        return None
    dof = max(int(0.4 * n ** (2 / 3)), 1)
    z = (sums_s - total / beats * counts) / total
    coefficients = fft.dct(z - z.mean(), norm="ortho")[1 : dof + 1]
    variance = float(np.mean(coefficients**2)) * n  # of the sum of z, which is n times its mean
    return LogMean(float(np.log(total / beats)), float(np.sqrt(variance)), dof, n)


@dataclass(frozen=True)
class Change:
    """Factor by which a mean changed.

    Attributes:
        low: lower end of its confidence interval.
        high: upper end.
        p_value: of no change.
    """

    low: float
    high: float
    p_value: float


def change(a: LogMean, b: LogMean, level: float = 0.95) -> Change:
    """Return the change from a to b: confidence interval of the factor between them (Welch), and the p-value of 1."""
    error, difference = float(np.hypot(a.error, b.error)), b.value - a.value
    if error <= NOTHING:  # nothing varies: any difference is significant
        factor = float(np.exp(difference))
        return Change(factor, factor, 1.0 if abs(difference) <= NOTHING else 0.0)
    # As shares of the error: its fourth power may underflow to zero.
    dof = 1 / ((a.error / error) ** 4 / a.dof + (b.error / error) ** 4 / b.dof)
    reach = float(special.stdtrit(dof, 0.5 + level / 2)) * error
    low, high = np.exp(np.clip([difference - reach, difference + reach], -700, 700)).tolist()
    return Change(low, high, float(2 * special.stdtr(dof, -abs(difference) / error)))


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple tests (Benjamini and Hochberg, J. Royal Stat. Soc. B 57, 1995).

    Of those below q, a share q is false on average; if all null hypotheses hold, any is below q with probability at
    most q.
    """
    m = len(p_values)
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * m / np.arange(1, m + 1)
    result = np.empty(m)
    result[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return [min(value, 1.0) for value in result.tolist()]
