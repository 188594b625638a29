"""Likelihood ratio of two binomial shares against one, for each category of two sets of samples.

Also estimates how much shares scatter more than counting explains. c categories. Counts are samples.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from incprof.model import FloatArray, IntArray

# Half a sample more than observed: a category with all of a segment, or nothing, is not free of noise.
PRIOR = 0.5


def ratio(one: FloatArray, one_total: FloatArray, other: FloatArray, other_total: FloatArray) -> FloatArray:
    """Return the log likelihood ratio of two shares against one, (..., c). Totals: (..., 1)."""
    both, total = one + other, one_total + other_total
    result: FloatArray = _log(one, one_total) + _log(other, other_total) - _log(both, total)
    return result


def _log(count: FloatArray, total: FloatArray) -> FloatArray:
    result: FloatArray = xlogy(count, count / total) + xlogy(total - count, (total - count) / total)
    return result


def variance(share: FloatArray, total: float | FloatArray) -> FloatArray:
    """Return the variance of one sample of categories with these shares of `total` samples, (..., c)."""
    result: FloatArray = np.maximum(share * (1.0 - share), PRIOR / (total + 1.0))
    return result


# Size of a block of samples; fewest blocks; largest distance of two blocks that are compared.
BLOCK, FEWEST, LAGS = 24, 8, 8
# At the best lag, a quarter of the pairs is of one phase; a chi-squared variable is below EXPECTED with that
# probability.
QUANTILE, EXPECTED = 0.25, 0.1015


def overdispersion(category: IntArray, c: int) -> FloatArray:
    """Return the factor by which the share of each category scatters more than counting explains, (c,), at least 1.

    The lag at which blocks differ least is used: where phases alternate, most pairs are of one phase at that lag.

    Args:
        category: (n,) of the samples in order of time.
        c: number of categories.
    """
    blocks = len(category) // BLOCK
    if blocks < FEWEST:
        return np.ones(c)
    row = np.repeat(np.arange(blocks), BLOCK)
    count = np.bincount(row * c + category[: blocks * BLOCK], minlength=blocks * c).reshape(blocks, c).astype(float)
    out = np.full(c, np.inf)
    for lag in range(1, min(LAGS, blocks // 3) + 1):
        one, other = count[lag:], count[:-lag]
        expected = 2.0 * BLOCK * variance((one + other) / (2.0 * BLOCK), 2.0 * BLOCK)
        out = np.minimum(out, _quantile((one - other) ** 2 / expected) / EXPECTED)
    result: FloatArray = np.maximum(out, 1.0)
    return result


def _quantile(values: FloatArray) -> FloatArray:
    """Return the QUANTILE of each column, (c,). On so few values numpy's own takes a tenth of the time of `phases`."""
    place = QUANTILE * (len(values) - 1)
    low = int(place)
    ordered = np.sort(values, axis=0)
    result: FloatArray = ordered[low] + (place - low) * (ordered[min(low + 1, len(values) - 1)] - ordered[low])
    return result
