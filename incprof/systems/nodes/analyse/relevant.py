"""Select the counters that correlate with power over some rows: the paper's two methods."""

from __future__ import annotations

import numpy as np
from scipy import stats

from incprof.model import FloatArray

LEVEL = 0.05


def by_correlation(rates: FloatArray, watts: FloatArray, count: int = 4) -> tuple[int, ...]:
    """Return the columns whose rates correlate most with power, the strongest first; ties by number.

    Correlation is Pearson's, without its sign. Columns that do not vary are omitted, so there may be fewer than
    `count`; none if power does not vary, or if there are fewer than three rows.
    """
    good = np.isfinite(watts)
    if good.sum() < 3:
        return ()
    x, y = rates[good].astype(np.float64), watts[good].astype(np.float64)
    x, y = x - x.mean(axis=0), y - y.mean()
    size = np.sqrt((x**2).sum(axis=0))
    total = np.sqrt((y**2).sum())
    scale = np.abs(rates[good]).max(axis=0)
    varies = size > 1e-9 * np.sqrt(len(y)) * np.maximum(scale, 1e-300)
    if total <= 1e-12 * max(float(np.abs(watts[good]).max()), 1e-300) * np.sqrt(len(y)) or not varies.any():
        return ()
    strength = np.where(varies, np.abs(y @ x) / np.where(varies, size, 1) / total, -1.0)
    # Values equal up to rounding are ties.
    order = np.lexsort((np.arange(len(strength)), -np.round(strength, 12)))
    return tuple(int(at) for at in order[:count] if varies[at])


def by_regression(rates: FloatArray, watts: FloatArray, level: float = LEVEL) -> tuple[int, ...]:
    """Return the columns whose factors in a linear model of power are significant at the given level.

    The most significant comes first. Of redundant columns no factor is significant: the paper reports bad results.
    """
    good = np.isfinite(watts)
    varies = np.flatnonzero(np.ptp(rates[good], axis=0) > 0) if good.any() else np.empty(0, dtype=int)
    freedom = int(good.sum()) - len(varies) - 1
    if not len(varies) or freedom < 1:
        return ()
    x = rates[good][:, varies].astype(np.float64)
    x = np.column_stack([np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)])
    y = watts[good].astype(np.float64)
    inverse = np.linalg.pinv(x.T @ x)
    factors = inverse @ x.T @ y
    wrong = float(((y - x @ factors) ** 2).sum()) / freedom
    error = np.sqrt(np.maximum(np.diag(inverse) * wrong, 1e-300))
    chance = 2 * stats.t.sf(np.abs(factors / error), freedom)[1:]
    order = np.argsort(chance, kind="stable")
    return tuple(int(varies[at]) for at in order if chance[at] < level)
