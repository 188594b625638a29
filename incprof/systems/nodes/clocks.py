"""Estimate the difference between the clocks of a meter and a node: where power follows the node's counters best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, NodeSeries
from incprof.systems.nodes.join import mean_over

MOST_LAG_S = 120.0
# Number of rows whose means are compared with those of as many rows before: unlike levels, changes at one time are
# independent of changes at others.
WIDTH = 2
# Of unrelated series of n rows and 8 or 16 counters, one in a hundred is explained by more than about 140 / n at some
# shift (60 to 900 rows, 150 pairs each); of related ones that were correctly aligned, few by less than 0.2.
LEAST_EXPLAINED, CHANCE = 0.2, 150.0
# Least improvement in explained variance that justifies a shift.
LEAST_BETTER = 0.05
RIDGE = 0.01
# Three weeks at 1 s: enough to estimate a clock, and a limit of memory for times that are far apart.
MOST_ROWS = 2_000_000


@dataclass(frozen=True)
class Lag:
    """A shift of a meter's clock.

    Attributes:
        seconds: To be added to its times.
        explained: Share of the variance of power's changes that the counters explain, after the shift.
        unshifted: The same share without the shift.
        rows: Number of rows common to both.
    """

    seconds: float
    explained: float
    unshifted: float
    rows: int

    @property
    def is_sure(self) -> bool:
        """Whether the correlation is significant."""
        return self.explained >= max(LEAST_EXPLAINED, CHANCE / self.rows)

    @property
    def is_shift(self) -> bool:
        """Whether the shift improves the fit significantly."""
        return self.is_sure and self.explained - self.unshifted >= LEAST_BETTER


def lag_of(counters: NodeSeries, meter: NodeSeries, most_s: float = MOST_LAG_S) -> Lag | None:
    """Return the shift at which a linear combination of the counters explains most of the meter's power.

    None if there are too few common rows, or if one of them does not vary.
    """
    step = max(min(counters.period_s, meter.period_s), 1e-3)
    width = round(WIDTH * max(counters.period_s, meter.period_s) / step)
    first, last = max(counters.times[0], meter.times[0]), min(counters.times[-1], meter.times[-1])
    rows = min(int((last - first) / step), MOST_ROWS)
    if meter.watts is None or rows < CHANCE:
        return None
    edges = first + step * np.arange(rows + 1)
    names = [at for at, name in enumerate(counters.names) if name in counters.counters]
    power = _changes(mean_over(meter.times, meter.watts[:, None], meter.period_s, edges), width)
    other = _changes(mean_over(counters.times, counters.values[:, names], counters.period_s, edges), width)
    if not power.shape[1] or not other.shape[1]:
        return None
    most = min(int(most_s / step), rows // 4)
    return _best(_explained(other, power[:, 0], most), step, most, round(rows * WIDTH / width))


def _changes(values: FloatArray, width: int) -> FloatArray:
    """Return the changes between means of `width` rows, with mean 0 and variance 1; 0 where unknown.

    Columns that never change are omitted.
    """
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(np.nan_to_num(values), axis=0)])
    gone = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(np.isnan(values), axis=0)])
    mean, lacks = (sums[width:] - sums[:-width]) / width, gone[width:] - gone[:-width] > 0
    changes = np.where(lacks[width:] | lacks[:-width], 0.0, mean[width:] - mean[:-width])
    changes -= changes.mean(axis=0)
    spread = changes.std(axis=0)
    kept = spread > 1e-9 * np.maximum(np.abs(mean).max(axis=0), 1e-300)
    standard: FloatArray = changes[:, kept] / spread[kept]
    return standard


def _correlations(one: FloatArray, other: FloatArray, most: int) -> FloatArray:
    """Return sum over t of one[t] * other[t - lag] for lags from -most to most, per row."""
    length = 1 << int(len(one) + most).bit_length()
    product = np.fft.irfft(np.fft.rfft(one, length) * np.conj(np.fft.rfft(other, length)), length)
    return np.concatenate([product[length - most :], product[: most + 1]]) / len(one)


def _explained(counters: FloatArray, power: FloatArray, most: int) -> FloatArray:
    """Return the share of power's variance that a combination of counters explains, for each lag."""
    crossed = np.stack([_correlations(column, power, most) for column in counters.T])
    within = counters.T @ counters / len(counters) + RIDGE * np.eye(counters.shape[1])
    explained: FloatArray = np.einsum("kl,kl->l", crossed, np.linalg.solve(within, crossed))
    return explained


def _best(explained: FloatArray, step: float, most: int, rows: int) -> Lag:
    """Return the lag that explains most; of several nearly as good, as for periodic series, the smallest."""
    lags = np.arange(-most, most + 1)
    beside = np.pad(explained, 1)
    is_peak = (explained >= beside[:-2]) & (explained >= beside[2:])
    good = np.flatnonzero(is_peak & (explained >= explained.max() - LEAST_BETTER))
    at = int(good[np.argmin(np.abs(lags[good]))])
    part = 0.0
    if 0 < at < 2 * most:
        left, middle, right = (float(each) for each in explained[at - 1 : at + 2])
        bend = left - 2 * middle + right
        part = float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend < 0 else 0.0
    return Lag(float((lags[at] + part) * step), float(explained[at]), float(explained[most]), rows)
