"""The power that a node's rates explain, and the rows in which it is idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import BoolArray, FloatArray

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
    residual = np.empty(len(y))
    for block in np.array_split(np.arange(len(y)), min(BLOCKS, len(y))):
        others = np.delete(np.arange(len(y)), block)
        base, per = _solve(x[others], y[others], towards)
        residual[block] = y[block] - base - x[block] @ per
    low, high = np.quantile(residual, [0.05, 0.95])
    return PowerModel(model[0], model[1], float(y.mean()), float(low), float(high))


def _solve(x: FloatArray, y: FloatArray, towards: PowerModel | None) -> tuple[float, FloatArray]:
    """Return the non-negative factors of least squares."""
    # Imported here: pages and tables use models, but do not fit them.
    from scipy.optimize import nnls

    size = np.maximum(np.abs(x).mean(axis=0), 1e-12)
    weight = np.sqrt(DRAWN if towards else 1e-3 * len(y))
    target = np.array([towards.base_w, *(towards.watts_per * size)]) if towards else np.zeros(x.shape[1] + 1)
    table = np.column_stack([np.ones(len(y)), x / size])
    # The base of the machine's model is not shrunk: an idle machine takes power.
    drawn = weight * np.eye(len(target))
    if towards is None:
        drawn[0, 0] = 0
    factors, _ = nnls(np.vstack([table, drawn]), np.concatenate([y, weight * target]))
    return float(factors[0]), factors[1:] / size


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


# Detect idle rows of a node: by the paper's cache misses per cycle, or by rates that are all small.


# A node is idle while all rates are below this share of the counter's greatest rate on these nodes.
IDLE = 0.01
# A tenth of one processor: background activity of any machine.
PROCESSOR = {"cycles": 3e8, "instructions": 3e8, "cpu": 0.15, "task-clock": 0.15, "cpu-clock": 0.15}
# Background traffic of any machine, in bytes per second.
QUIET = 1e6


def is_idle(names: Sequence[str], rates: FloatArray, most: FloatArray) -> bool:
    """Return whether a node is idle at the given rates (counters,); the arguments are those of `idle_rows`."""
    return bool(idle_rows(names, rates[None], most)[0])


def idle_rows(names: Sequence[str], rates: FloatArray, most: FloatArray) -> BoolArray:
    """Return the rows (rows,) in which a node is idle: all significant rates are small.

    Args:
        names: Names of the counters.
        rates: (rows, counters).
        most: (counters,) the greatest rates on all recorded nodes.
    """
    counted = {name: at for at, name in enumerate(names) if most[at] > 0}
    small = {name: rates[:, at] < IDLE * most[at] for name, at in counted.items()}
    working = [name for name in PROCESSOR if name in counted]
    moved = [name for name in counted if name.startswith(("net-", "disk-")) and name.endswith("-bytes")]
    if working or moved:
        small = {
            name: small[name] | (rates[:, counted[name]] < PROCESSOR.get(name, QUIET)) for name in (*working, *moved)
        }
    idle: BoolArray = np.ones(len(rates), dtype=np.bool_)
    for each in small.values():
        idle &= each
    return idle


def long_idle(idle: BoolArray, least: int) -> BoolArray:
    """Return the idle rows (rows,) in runs of at least `least` rows, or in runs at the start or the end."""
    first = np.concatenate([[0], np.flatnonzero(np.diff(idle)) + 1, [len(idle)]])
    length = np.diff(first)
    kept = length >= least
    kept[[0, -1]] = True
    return idle & np.repeat(kept, length)


def misses_per_cycle(rates: FloatArray, names: Sequence[str]) -> FloatArray | None:
    """Return cache misses per cycle (rows,), the paper's measure of idle nodes; None if they were not counted.

    0 in rows in which no processor ran.
    """
    if not {"cache-misses", "cycles"} <= set(names):
        return None
    misses, cycles = (rates[:, names.index(name)] for name in ("cache-misses", "cycles"))
    return np.divide(misses, cycles, out=np.zeros(len(rates)), where=cycles >= 1)


def idle_below(share: FloatArray) -> float:
    """Return the threshold beta of cache misses per cycle from an idle recording: mean plus 3 standard deviations.

    The paper does not define it.
    """
    return float(share.mean() + 3 * share.std())
