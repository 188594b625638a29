"""Model power from rates: non-negative watts per count, with an interval.

    watts = base + sum of watts_per * rate

The factors minimise the sum of squares subject to being non-negative. A machine has one model; the model of a state is
shrunk towards it, the more the fewer rows the state has (ridge). The interval is that of rows not used for the fit:
blocks of rows are left out in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray

# Weight of the machine's model in that of a state, in rows.
DRAWN = 20.0
BLOCKS = 5
LATEST_S = 10
# Greatest number of rows for estimating lags and fitting models.
SAMPLE = 6000
LEAST_ROWS = 8


@dataclass(frozen=True)
class PowerModel:
    """Power from rates.

    Attributes:
        base_w: Watts at rate 0.
        watts_per: (counters,) watts for one count per second.
        mean_w: Mean watts of the rows used for the fit.
        low_w: Lower end of the interval that contains 90 % of other rows, relative to the model, in watts.
        high_w: Its upper end, in watts.
    """

    base_w: float
    watts_per: FloatArray
    mean_w: float
    low_w: float
    high_w: float

    def watts(self, rates: FloatArray) -> FloatArray:
        """Return the power (rows,) at rates (rows, counters)."""
        return np.asarray(self.base_w + rates @ self.watts_per)


def fit(rates: FloatArray, watts: FloatArray, towards: PowerModel | None = None) -> PowerModel | None:
    """Fit a model to rows; None if there are too few.

    Args:
        rates: (rows, counters).
        watts: (rows,), NaN where power was not measured.
        towards: The machine's model.
    """
    good = np.flatnonzero(np.isfinite(watts) & np.isfinite(rates).all(axis=1))
    if len(good) < LEAST_ROWS:
        return None
    good = good[:: max(1, len(good) // SAMPLE)]
    x, y = rates[good], watts[good]
    model = _solve(x, y, towards)
    left = np.empty(len(y))
    for block in np.array_split(np.arange(len(y)), min(BLOCKS, len(y))):
        others = np.delete(np.arange(len(y)), block)
        base, per = _solve(x[others], y[others], towards)
        left[block] = y[block] - base - x[block] @ per
    low, high = np.quantile(left, [0.05, 0.95])
    return PowerModel(model[0], model[1], float(y.mean()), float(low), float(high))


def _solve(x: FloatArray, y: FloatArray, towards: PowerModel | None) -> tuple[float, FloatArray]:
    """Return the non-negative factors of least squares."""
    # Imported here: pages and tables use models, but do not fit them.
    from scipy.optimize import nnls

    size = np.maximum(np.abs(x).mean(axis=0), 1e-12)
    weight = np.sqrt(DRAWN if towards else 1e-3 * len(y))
    wanted = np.array([towards.base_w, *(towards.watts_per * size)]) if towards else np.zeros(x.shape[1] + 1)
    table = np.column_stack([np.ones(len(y)), x / size])
    # The base of the machine's model is not shrunk: an idle machine takes power.
    drawn = weight * np.eye(len(wanted))
    if towards is None:
        drawn[0, 0] = 0
    found, _ = nnls(np.vstack([table, drawn]), np.concatenate([y, weight * wanted]))
    return float(found[0]), found[1:] / size


def lag_of(rates: FloatArray, watts: FloatArray, latest: int = LATEST_S) -> int:
    """Return the number of rows by which power lags: the lag at which the machine's model fits best."""
    rows = min(len(watts), SAMPLE)
    x, y = rates[:rows], watts[:rows]
    best, least = 0, np.inf
    for lag in range(min(latest, rows // 4) + 1):
        a, b = x[: rows - latest if rows > 4 * latest else rows - lag], y[lag:]
        b = b[: len(a)]
        good = np.isfinite(b) & np.isfinite(a).all(axis=1)
        if good.sum() < 2 * LEAST_ROWS:
            continue
        base, per = _solve(a[good], b[good], None)
        wrong = float(((b[good] - base - a[good] @ per) ** 2).mean())
        if wrong < least * (1 - 1e-3):
            best, least = lag, wrong
    return best


def moved(watts: FloatArray, lag: int) -> FloatArray:
    """Return power shifted by the lag; the last rows repeat the last measured value."""
    return watts if not lag else np.concatenate([watts[lag:], np.full(min(lag, len(watts)), watts[-1])])
