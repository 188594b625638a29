"""The detector of the period of magnitudes in plain numpy: what `dpd_values` is checked against.

Every distance is summed from the samples each time, by the definition: O(N M) a sample.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.dpd.values import FloatArray

AS_DEEP, RIVAL, RISE = 0.2, 0.4, 0.3
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

    def _look(self) -> None:
        was = self.period
        n = min(len(self.past) // 2, self.lags - 1)
        d, terms = self.sums()
        # Where all lags have the same number of terms, sums will do.
        d = d[:n] if len(self.past) - self.window >= n else d[:n] / terms[:n]
        self.period = search(d, self.least)
        if self.period:
            low = float(d[self.period - 1])
            self.ratio = float(d.max()) / low if low > 0 else np.inf
        if was == 0 or abs(self.period - was) > max(was // 16, 1):
            self.to_start = 0


def search(d: FloatArray, least: float) -> int:
    """Return the period that d(1) .. d(n) show, shape (n,), or 0."""
    minima = [lag for lag in range(2, len(d) + 1) if _is_minimum(d, lag) and d[: lag - 1].max() >= least * d[lag - 1]]
    if not minima:
        return 0
    most, deep = float(d.max()), float(min(d[lag - 1] for lag in minima))
    good = [lag for lag in minima if d[lag - 1] <= deep + AS_DEEP * (most - deep)]
    first = good[0]
    period = first + int(np.argmin(d[first - 1 : first + first // 4]))
    if any(lag > period and not _is_multiple(lag, period) for lag in good):
        return 0
    return 0 if _grows(d, period, most, least) or _has_rival(d, period, most) else period


def _is_minimum(d: FloatArray, lag: int) -> bool:
    """Whether d is below its neighbours'; of equal ones the first."""
    if not d[lag - 1] < d[lag - 2]:
        return False
    other = np.flatnonzero(d[lag:] != d[lag - 1])
    return bool(d[lag + other[0]] > d[lag - 1]) if len(other) else bool(d[lag - 1] == 0)


def _is_multiple(lag: int, period: int) -> bool:
    times = (lag + period // 2) // period
    return abs(lag - times * period) <= times + period // 8


def _grows(d: FloatArray, period: int, most: float, least: float) -> bool:
    """Two frequencies close to each other are twice as far apart after twice the lag."""
    if 2 * period > len(d):
        return bool(most < UNSEEN * least * d[period - 1])
    slack = period // 8 + 1
    twice = d[2 * period - slack - 1 : 2 * period + slack].min()
    return bool(twice > GROWTH * d[period - 1] + GROWTH_FLOOR * most)


def _has_rival(d: FloatArray, period: int, most: float) -> bool:
    """Another minimum side by side, nearly as deep, with a rise between the two."""
    reach, low = period // 5, float(d[period - 1])
    below, above = d[period - 1 - reach : period - 1][::-1], d[period : period + reach]
    for side in (below, above):
        between = np.maximum.accumulate(side)
        if np.any((side <= low + RIVAL * (most - low)) & (between >= side + RISE * (most - low))):
            return True
    return False
