"""The detector of the period of magnitudes in plain numpy: what `dpd_values` is checked against.

Every distance is summed from the samples each time, by the definition: O(N M) a sample.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incprof.systems.periods.dpd_values import FloatArray

AS_DEEP, BETWEEN, ROUNDING, ERRORS, WORSE, BURST = 0.2, 0.1, 1e-9, 3, 4, 0.3
RIVAL, RISE = 0.4, 0.3
GROWTH, GROWTH_FLOOR, UNSEEN = 1.6, 0.05, 1.6


class DpdValuesReference:
    """One series; the arguments are those of `DpdValues`."""

    def __init__(
        self, window: int = 100, *, lags: int | None = None, every: int | None = None, confidence: float = 2.5
    ) -> None:
        self.window, self.lags, self.least = window, lags or window, confidence
        self.every = every or 1 + (self.window + self.lags - 1) // 64
        self.past = np.zeros(0)  # the latest first
        self.count = self.period = self.to_start = 0
        self.ratio = 0.0

    def resize(self, window: int, lags: int | None = None) -> None:
        """Set N and M."""
        self.window, self.lags = window, lags or window
        self.past = self.past[: self.window + self.lags]
        self.period = self.period if self.period < self.lags else 0

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Return sums of distances for lags 1 .. M-1 over as many samples as there are, and their numbers of terms."""
        terms = np.clip(len(self.past) - np.arange(1, self.lags), 0, self.window)
        pairs = [(self.past[:n], self.past[lag : lag + n]) for lag, n in enumerate(terms.tolist(), start=1)]
        return np.asarray([np.abs(a - b).sum() for a, b in pairs]), terms.astype(np.float64)

    def sample(self, value: float) -> tuple[int, bool, float]:
        """Feed one sample; return the period or 0, whether the sample is the first one of one, and the confidence."""
        self.past = np.concatenate([[value], self.past])[: self.window + self.lags]
        self.count += 1
        start = self.period != 0 and self.to_start == 0
        if self.period:
            self.to_start = (self.period if start else self.to_start) - 1
        if self.count % self.every == 0:
            self._look()
        return self.period, start, self.ratio if self.period else 0.0

    def _residual(self, lag: int) -> FloatArray:
        n = min(len(self.past) - lag, self.window)
        return self.past[:n] - self.past[lag : lag + n]

    def _look(self) -> None:
        was = self.period
        n = min(len(self.past) // 2, self.lags - 1)
        d, terms = self.sums()
        # Where all lags have the same number of terms, sums will do.
        d = d[:n] if len(self.past) - self.window >= n else d[:n] / terms[:n]
        self.period = search(d, self.least, int(terms[n - 1]) if n else 0, self._residual)
        if self.period:
            low = float(d[self.period - 1])
            self.ratio = float(d.max()) / low if low > 0 else np.inf
        if was == 0 or abs(self.period - was) > max(was // 16, 1):
            self.to_start = 0


def search(d: FloatArray, least: float, terms: int, residual: Callable[[int], FloatArray]) -> int:
    """Return the period that a series shows, or 0.

    Args:
        d: d(1) .. d(n), shape (n,).
        least: ratio of the largest d before a minimum to that at it.
        terms: distances of which each d is the mean.
        residual: of a lag: the series less itself so many samples before, the latest first.
    """
    minima = [lag for lag in range(2, len(d) + 1) if _is_minimum(d, lag) and _is_after_a_rise(d, lag, least)]
    if not minima:
        return 0
    lowest = min(minima, key=lambda lag: (d[lag - 1], lag))
    most = float(d.max())
    period = _fundamental(d, lowest, least, terms, residual)
    if _grows(d, period, most, least):
        return 0
    if d[lowest - 1] > ROUNDING * most:
        off = _beside(d, period, most) or _elsewhere(d, period, most, minima)
        if off and _is_structured(residual(period), off):
            return 0
    return period


def _fundamental(d: FloatArray, lowest: int, least: float, terms: int, residual: Callable[[int], FloatArray]) -> int:
    """Return the period of which the lag with the lowest minimum is a multiple."""
    most, floor = float(d.max()), float(d[lowest - 1])
    exact, noise = ROUNDING * most, ERRORS / np.sqrt(terms)
    limit = floor + (exact if floor <= exact else AS_DEEP * (most - floor))
    for parts in range(lowest, 1, -1):
        lag = (2 * lowest + parts) // (2 * parts)
        if (
            lag >= 2
            and d[lag - 1] <= limit
            and _is_after_a_rise(d, lag, least)
            and _repeats(d, lowest, parts, limit)
            and (
                _lies_between(d, lag, lowest, parts, noise, floor + BETWEEN * (most - floor))
                or not _is_worse(residual(lag), residual(lowest))
            )
        ):
            low = lag - lag // 8
            return low + int(np.argmin(d[low - 1 : lag + lag // 8]))
    return lowest


def _is_minimum(d: FloatArray, lag: int) -> bool:
    """Whether d is below its neighbours'; of equal ones the first."""
    if not d[lag - 1] < d[lag - 2]:
        return False
    other = np.flatnonzero(d[lag:] != d[lag - 1])
    return bool(d[lag + other[0]] > d[lag - 1]) if len(other) else bool(d[lag - 1] == 0)


def _is_after_a_rise(d: FloatArray, lag: int, least: float) -> bool:
    return bool(d[: lag - 1].max() >= least * d[lag - 1])


def _repeats(d: FloatArray, lowest: int, parts: int, limit: float) -> bool:
    """Whether d is low at or near every multiple of a part of `lowest`."""
    slack = lowest // parts // 8
    lags = [(2 * i * lowest + parts) // (2 * parts) for i in range(1, parts)]
    return all(d[lag - slack - 1 : lag + slack].min() <= limit for lag in lags)


def _lies_between(d: FloatArray, lag: int, lowest: int, parts: int, noise: float, limit: float) -> bool:
    """Whether d comes to a point, as low as noise allows, where `lowest` / parts lies beside a lag."""
    value, difference = float(d[lag - 1]), float(d[lag - 2] - d[lag])
    slope, off = max(float(d[lag - 2]), float(d[lag])) - value, lowest / parts - lag
    low = value - abs(difference) / 2 <= (1 + 2 * noise) * d[lowest - 1]
    return bool(value <= limit and low and abs(difference / 2 - off * slope) <= slope / 4)


def _is_worse(residual: FloatArray, other: FloatArray) -> bool:
    """Whether a lag leaves more than chance would of a series of which another one leaves nothing but noise."""
    more = np.abs(residual[: len(other)]) - np.abs(other)
    related = float(other[1:] @ other[:-1]) >= ERRORS / np.sqrt(len(other)) * float(other @ other)
    return bool(more.sum() > WORSE * np.sqrt(more @ more)) and not related


def _grows(d: FloatArray, period: int, most: float, least: float) -> bool:
    """Two frequencies close to each other are twice as far apart after twice the lag."""
    if 2 * period > len(d):
        return bool(most < UNSEEN * least * d[period - 1])
    slack = period // 8 + 1
    twice = d[2 * period - slack - 1 : 2 * period + slack].min()
    return bool(twice > GROWTH * d[period - 1] + GROWTH_FLOOR * most)


def _beside(d: FloatArray, period: int, most: float) -> int:
    """Return how far from the period another minimum of its kind lies, with a rise between the two, or 0."""
    reach, low = period // 5, float(d[period - 1])
    below, above = d[period - 1 - reach : period - 1][::-1], d[period : period + reach]
    for side in (below, above):
        between = np.maximum.accumulate(side)
        other = np.flatnonzero((side <= low + RIVAL * (most - low)) & (between >= side + RISE * (most - low)))
        if len(other):
            return int(other[0]) + 1
    return 0


def _elsewhere(d: FloatArray, period: int, most: float, minima: list[int]) -> int:
    """Return how far from a multiple of the period the first minimum lies that is as low but no multiple, or 0."""
    limit = d[period - 1] + AS_DEEP * (most - d[period - 1])
    for lag in minima:
        times = (lag + period // 2) // period
        off = abs(lag - times * period)
        if lag > period and d[lag - 1] <= limit and off > times + period // 8:
            return off
    return 0


def _is_structured(residual: FloatArray, off: int) -> bool:
    """Whether its sums over half of `off`, less the next ones, are larger than those of values without relation."""
    n, half = len(residual), (off + 1) // 2
    if n <= 2 * half:
        return False
    if float(np.abs(residual).sum()) ** 2 < BURST * n * float(residual @ residual):
        return True
    total = np.concatenate([[0.0], np.cumsum(residual)])
    sums = 2 * total[half:-half] - total[: -2 * half] - total[2 * half :]
    expected = 2 * half * float(residual @ residual) / n
    return bool(float(sums @ sums) / len(sums) > expected * (1 + ERRORS * np.sqrt(4.0 * half / (3.0 * n))))
