"""Power from rates: watts that each count costs, none of them below nought, with an interval.

    watts = base + sum of watts_per * rate

The sums of squares are least where every factor is nought at least. A machine has one model; that of a state is drawn
towards it as far as the state's own rows do not say otherwise (ridge). The interval is that of rows which the model
was not made from: blocks of rows are left out in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray

# Rows that the machine's model weighs as, in a state's.
DRAWN = 20.0
BLOCKS = 5
LATEST_S = 10
# Rows that lags are tried on, and models are made from, at most.
SAMPLE = 6000
LEAST_ROWS = 8


@dataclass(frozen=True)
class PowerModel:
    """Power from rates.

    base_w, watts_per (counters,): for a count in a second. mean_w: of the rows that it was made from. low_w, high_w:
    90 % of other rows lie between, as differences from what the model says.
    """

    base_w: float
    watts_per: FloatArray
    mean_w: float
    low_w: float
    high_w: float

    def watts(self, rates: FloatArray) -> FloatArray:
        """Power (rows,) at rates (rows, counters)."""
        return np.asarray(self.base_w + rates @ self.watts_per)


def fit(rates: FloatArray, watts: FloatArray, towards: PowerModel | None = None) -> PowerModel | None:
    """Fit a model to rows; None where there are too few.

    Args:
        rates: (rows, counters).
        watts: (rows,), NaN where nobody measured.
        towards: the machine's model.
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
    """The factors of the least squares that are nought at least."""
    # Pages and tables know models, and fit none.
    from scipy.optimize import nnls

    size = np.maximum(np.abs(x).mean(axis=0), 1e-12)
    weight = np.sqrt(DRAWN if towards else 1e-3 * len(y))
    wanted = np.array([towards.base_w, *(towards.watts_per * size)]) if towards else np.zeros(x.shape[1] + 1)
    table = np.column_stack([np.ones(len(y)), x / size])
    # Of the machine's model, the base is not drawn anywhere: an idle machine takes what it takes.
    drawn = weight * np.eye(len(wanted))
    if towards is None:
        drawn[0, 0] = 0
    found, _ = nnls(np.vstack([table, drawn]), np.concatenate([y, weight * wanted]))
    return float(found[0]), found[1:] / size


def lag_of(rates: FloatArray, watts: FloatArray, latest: int = LATEST_S) -> int:
    """How many rows power comes late by: where a model of the machine explains it best."""
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
    """Power at the rows it is of; the last ones are as the last that was measured."""
    return watts if not lag else np.concatenate([watts[lag:], np.full(min(lag, len(watts)), watts[-1])])
