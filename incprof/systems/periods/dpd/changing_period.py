"""The period of a growing series of magnitudes: where it begins, changes and ends.

Memory is bounded however long the series is: segments are kept only as sums for each period.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from incprof.systems.periods.dpd.values import DpdValues, FloatArray, magnitudes

# A period that differs by less than one part in this number is the same one: the detector keeps its cuts within the
# same tolerance (dpd_values.c).
DRIFT = 16


@dataclass(frozen=True)
class Stretch:
    """A segment with one period.

    Attributes:
        period: In samples.
        first: Index of its first sample.
        last: Index of its last sample.
        confidence: The detector's confidence in the period; infinite: exact.
    """

    period: int
    first: int
    last: int
    confidence: float


@dataclass(frozen=True)
class PeriodChange:
    """A change of the period.

    Attributes:
        at: Sample at which it was detected.
        was: The segment before; None: no period.
        now: The segment after; None: no period.
    """

    at: int
    was: Stretch | None
    now: Stretch | None


@dataclass(frozen=True)
class PeriodSum:
    """Summary of all segments with one period.

    Attributes:
        period: In samples.
        stretches: Number of segments.
        samples: Number of samples in them.
        first: Index of the first sample of the first segment.
        last: Index of the last sample of the last segment.
        confidence: Harmonic mean over the samples, infinite where exact.
    """

    period: int
    stretches: int
    samples: int
    first: int
    last: int
    confidence: float


@dataclass(frozen=True)
class SeriesPeriods:
    """The periods of a series, by number of samples, descending.

    Attributes:
        samples: Number of samples.
        window: Samples compared at once; only shorter periods are detected.
        periods: All periods.
        predicted: Number of samples that were predicted from the period.
        off: Mean absolute error of these predictions, 0 without any.
        low: The least sample.
        high: The greatest sample.
    """

    samples: int
    window: int
    periods: tuple[PeriodSum, ...]
    predicted: int
    off: float
    low: float
    high: float

    @property
    def coverage(self) -> float:
        """Share of the samples that have a period."""
        return sum(each.samples for each in self.periods) / max(self.samples, 1)


class PeriodStream:
    """Finds the period as samples arrive. See `DpdValues` for the window."""

    def __init__(self, window: int = 400) -> None:
        self.window, self.samples = window, 0
        self._dpd = DpdValues(window)
        self._sums: dict[int, PeriodSum] = {}
        self._predicted, self._off, self._low, self._high = 0, 0.0, np.inf, -np.inf
        self._next = np.nan  # the prediction of the sample to come
        self._first = 0  # of the current segment
        self._doubt = 0.0  # sum of 1 / confidence over its samples
        self._lasted: dict[int, int] = {}  # number of its samples, by period

    def feed(self, values: FloatArray) -> list[PeriodChange]:
        """Take the next samples, shape (n,); return each change of the period.

        Raises:
            UsageError: a sample is not finite or exceeds 1e150; none of the samples was taken.
        """
        values = magnitudes(values)
        if not len(values):
            return []
        trace = self._dpd.feed(values, ahead=(1,))
        self._score(values, trace.predicted[0])
        doubt = np.divide(1.0, trace.confidence, out=np.zeros(len(values)), where=trace.period > 0)
        edges = [0, *(np.flatnonzero(np.diff(trace.period)) + 1).tolist(), len(values)]
        changes = []
        for start, end in itertools.pairwise(edges):
            period, was = int(trace.period[start]), self._stretch(self.samples + start - 1)
            if (was.period if was else 0) != period and not (was and period and _same(period, was.period)):
                self._close(was)
                self._first = self.samples + start
                now = Stretch(period, self._first, self._first, float(trace.confidence[start])) if period else None
                changes.append(PeriodChange(self._first, was, now))
            if period:
                self._lasted[period] = self._lasted.get(period, 0) + end - start
                self._doubt = _added(self._doubt, doubt[start:end])
        self.samples += len(values)
        return changes

    def end(self) -> SeriesPeriods:
        """Return all periods. Nothing may be fed after this."""
        self._close(self._stretch(self.samples - 1))
        periods = tuple(sorted(self._sums.values(), key=lambda each: (-each.samples, each.period)))
        off = self._off / max(self._predicted, 1)
        return SeriesPeriods(
            self.samples, self.window, periods, self._predicted, off, float(self._low), float(self._high)
        )  # fmt: skip

    def _score(self, values: FloatArray, predicted: FloatArray) -> None:
        """Compare samples with their predictions."""
        expected = np.concatenate([[self._next], predicted[:-1]])
        self._next = float(predicted[-1])
        off = np.abs(expected - values)[np.isfinite(expected)]
        self._predicted += len(off)
        self._off = _added(self._off, off)
        self._low, self._high = min(self._low, values.min()), max(self._high, values.max())

    def _stretch(self, last: int) -> Stretch | None:
        """Return the current segment, up to sample `last`; its period is the most frequent one in it."""
        if not self._lasted:
            return None
        period = max(self._lasted, key=lambda each: (self._lasted[each], -each))
        return Stretch(period, self._first, last, _confidence(sum(self._lasted.values()), self._doubt))

    def _close(self, stretch: Stretch | None) -> None:
        """Add a segment that has ended to the sum of its period."""
        if stretch is None:
            return
        count = stretch.last - stretch.first + 1
        old = self._sums.get(stretch.period, PeriodSum(stretch.period, 0, 0, stretch.first, 0, np.inf))
        doubt = count / stretch.confidence + old.samples / old.confidence
        self._sums[stretch.period] = PeriodSum(
            stretch.period, old.stretches + 1, old.samples + count, old.first, stretch.last,
            _confidence(old.samples + count, doubt),
        )  # fmt: skip
        self._lasted, self._doubt = {}, 0.0


def _added(total: float, values: FloatArray) -> float:
    """Return a sum that is the same to the last bit, independent of how the series is batched."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


def _same(period: int, other: int) -> bool:
    return abs(period - other) <= max(other // DRIFT, 1)


def _confidence(samples: int, doubt: float) -> float:
    """Return the harmonic mean of confidences whose inverses have this sum."""
    return samples / doubt if doubt > 0 else np.inf
