"""The period of a series of values, also while it changes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incprof.analysis._native import native, pointer
from incprof.analysis._native_ffi import ffi
from incprof.errors import UsageError

# A period that differs by less than one part in this number is the same one: the detector keeps its cuts within the
# same tolerance (dpd_values.c).
DRIFT = 16


@dataclass(frozen=True)
class PeriodSegment:
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
    was: PeriodSegment | None
    now: PeriodSegment | None


@dataclass(frozen=True)
class PeriodSum:
    """Summary of all segments with one period.

    Attributes:
        period: In samples.
        stretches: Number of segments (the JSON key).
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
        self._inverse_confidence = 0.0  # sum of 1 / confidence over its samples
        self._samples_of: dict[int, int] = {}  # number of its samples, by period

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
        inverse_confidence = np.divide(1.0, trace.confidence, out=np.zeros(len(values)), where=trace.period > 0)
        edges = [0, *(np.flatnonzero(np.diff(trace.period)) + 1).tolist(), len(values)]
        changes = []
        for start, end in itertools.pairwise(edges):
            period, was = int(trace.period[start]), self._segment(self.samples + start - 1)
            if (was.period if was else 0) != period and not (was and period and _same(period, was.period)):
                self._close(was)
                self._first = self.samples + start
                now = (
                    PeriodSegment(period, self._first, self._first, float(trace.confidence[start])) if period else None
                )
                changes.append(PeriodChange(self._first, was, now))
            if period:
                self._samples_of[period] = self._samples_of.get(period, 0) + end - start
                self._inverse_confidence = _added(self._inverse_confidence, inverse_confidence[start:end])
        self.samples += len(values)
        return changes

    def end(self) -> SeriesPeriods:
        """Return all periods. Nothing may be fed after this."""
        self._close(self._segment(self.samples - 1))
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

    def _segment(self, last: int) -> PeriodSegment | None:
        """Return the current segment, up to sample `last`; its period is the most frequent one in it."""
        if not self._samples_of:
            return None
        period = max(self._samples_of, key=lambda each: (self._samples_of[each], -each))
        return PeriodSegment(
            period, self._first, last, _confidence(sum(self._samples_of.values()), self._inverse_confidence)
        )

    def _close(self, segment: PeriodSegment | None) -> None:
        """Add a segment that has ended to the sum of its period."""
        if segment is None:
            return
        count = segment.last - segment.first + 1
        old = self._sums.get(segment.period, PeriodSum(segment.period, 0, 0, segment.first, 0, np.inf))
        inverse_confidence = count / segment.confidence + old.samples / old.confidence
        self._sums[segment.period] = PeriodSum(
            segment.period, old.stretches + 1, old.samples + count, old.first, segment.last,
            _confidence(old.samples + count, inverse_confidence),
        )  # fmt: skip
        self._samples_of, self._inverse_confidence = {}, 0.0


def _added(total: float, values: FloatArray) -> float:
    """Return a sum that is the same to the last bit, independent of how the series is batched."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


def _same(period: int, other: int) -> bool:
    return abs(period - other) <= max(other // DRIFT, 1)


def _confidence(samples: int, inverse_sum: float) -> float:
    """Return the harmonic mean of confidences whose inverses have this sum."""
    return samples / inverse_sum if inverse_sum > 0 else np.inf


# The period of a series of magnitudes: the dynamic periodicity detector over arrays, whole or piece by piece.
#
# Magnitudes are numbers whose differences have a meaning: processors in use, instructions per cycle, bytes. Events
# are for `dpd`. libincprof_native does the work; the tests check it against an implementation in plain numpy.


FloatArray = NDArray[np.float64]
MOST = 32768
LARGEST = 1e150


@dataclass(frozen=True)
class ValueTrace:
    """State of the detector after each sample of a piece of a series.

    Attributes:
        samples: Shape (n,).
        period: In samples; 0 where there is none. Shape (n,).
        start: Whether the sample is the first one of a period, shape (n,).
        confidence: Largest d(m) divided by d at the period (may be infinite); 0 without a period. Shape (n,).
        ahead: The a prediction distances, in samples.
        predicted: [j, i] is the prediction of sample i + ahead[j] made after sample i; NaN: none. Shape (a, n).
    """

    samples: FloatArray
    period: NDArray[np.int32]
    start: NDArray[np.bool_]
    confidence: FloatArray
    ahead: tuple[int, ...]
    predicted: FloatArray

    def hit_rate(self, ahead: int, tolerance: float = 0.0) -> float:
        """Return the share of predictable samples that were predicted to within `tolerance`; 0 without any."""
        row, n = self.ahead.index(ahead), len(self.samples) - ahead
        if n <= 0:
            return 0.0
        off = np.abs(self.predicted[row, :n] - self.samples[ahead:])
        return float(np.mean(off <= tolerance))  # NaN is not a hit


class DpdValues:
    """A detector of the period of one series of magnitudes.

    d(m) = 1/N * sum of `|x[n] - x[n-m]|` over the last N samples, 0 < m < M. With fewer than N samples, the sum is over
    all of them, for lags whose pattern occurred twice. Integers below 2^53 / 4N are summed exactly; other sums are
    recomputed in turn, so that rounding errors do not accumulate.

    Detectors share nothing. Two threads must not use the same detector at the same time.

    Args:
        window: N, 2 to 32768 samples.
        lags: M, 2 to 32768: only shorter periods are detected; default: `window`. Two frequencies close to each other
            are distinguished from one period where M is above twice that period.
        every: Samples between two evaluations of d: the greatest delay in detecting a period, or its end. The default
            keeps the cost of evaluation a small share of the time.
        confidence: Least ratio of a maximum of d to the minimum after it, above 1. Noise alone reaches 1.5.

    Raises:
        UsageError: an argument is out of its range.
        IncprofError: the library cannot be loaded.
    """

    def __init__(
        self, window: int = 100, *, lags: int | None = None, every: int | None = None, confidence: float = 2.5
    ) -> None:
        lags = window if lags is None else lags
        check(window, lags)
        if every is not None and not 1 <= every <= MOST:
            raise UsageError(f"every {every}: must be 1 to {MOST} samples")
        if not 1 < confidence < np.inf:
            raise UsageError(f"confidence {confidence:g}: must be above 1")
        options = {"window": window, "lags": lags, "capacity": 2 * MOST, "every": every or 0, "confidence": confidence}
        self.window, self.lags = window, lags
        self._native = native()
        detector = self._native.dpd_values_create(ffi.new("struct dpd_values_options *", options))
        if detector == ffi.NULL:
            raise MemoryError
        self._dpd = ffi.gc(detector, self._native.dpd_values_destroy)

    def resize(self, window: int, lags: int | None = None) -> None:
        """Set N and M (default: N). The history of the series is kept as far as they reach.

        Raises:
            UsageError: N or M is out of its range.
        """
        lags = window if lags is None else lags
        check(window, lags)
        self._native.dpd_values_resize(self._dpd, window, lags)
        self.window, self.lags = window, lags

    def feed(self, samples: ArrayLike, ahead: tuple[int, ...] = ()) -> ValueTrace:
        """Feed the next samples of the series and return the detector's state after each of them.

        Args:
            samples: Finite numbers of at most 1e150, shape (n,).
            ahead: Which samples to predict: 1 is the next one after each sample.

        Raises:
            UsageError: a sample is not such a number (none of the samples was taken), or a distance ahead is below 1.
        """
        values = magnitudes(samples)
        if any(distance < 1 for distance in ahead):
            raise UsageError(f"ahead {ahead}: must be 1 or more samples")
        n, distances = len(values), np.asarray(ahead, dtype=np.int32)
        period, start, confidence = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.bool_), np.zeros(n)
        predicted, backing = np.zeros((n, len(distances))), np.zeros((n, len(distances)), dtype=np.bool_)
        trace = ffi.new(
            "struct dpd_values_trace *",
            {
                "period": pointer(period),
                "start": pointer(start),
                "confidence": pointer(confidence),
                "ahead": pointer(distances),
                "aheads": len(distances),
                "predicted": pointer(predicted),
                "backing": pointer(backing),
            },
        )
        self._native.dpd_values_feed(self._dpd, pointer(values), n, trace)
        expected = np.where(backing, predicted, np.nan).T
        return ValueTrace(values, period, start, confidence, tuple(ahead), expected)

    def distances(self) -> FloatArray:
        """Return d(1) .. d(M-1), over the samples available; NaN where there are none. Shape (M-1,)."""
        values = np.zeros(self.lags - 1)
        self._native.dpd_values_distances(self._dpd, pointer(values), len(values))
        return np.where(values < -0.5, np.nan, values)


def check(window: int, lags: int) -> None:
    """Raise a UsageError for sizes that are out of range."""
    for name, size in (("window", window), ("lags", lags)):
        if not 2 <= size <= MOST:
            raise UsageError(f"{name} {size}: must be 2 to {MOST} samples")


def magnitudes(samples: ArrayLike) -> FloatArray:
    """Return magnitudes as contiguous doubles, shape (n,).

    Raises:
        UsageError: the samples are not finite, exceed 1e150, or are not one-dimensional.
    """
    array = np.asarray(samples)
    if array.ndim != 1 or (array.dtype.kind not in "iubf" and len(array)):
        raise UsageError(f"samples of type {array.dtype} and shape {array.shape}: must be numbers in one dimension")
    values = np.ascontiguousarray(array, dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if len(bad):
        raise UsageError(
            f"sample {bad[0]} is {values[bad[0]]:g}: must be a number of at most {LARGEST:g}; leave it out"
        )
    return values


def detect(
    samples: ArrayLike,
    window: int = 100,
    *,
    lags: int | None = None,
    every: int | None = None,
    confidence: float = 2.5,
    ahead: tuple[int, ...] = (),
) -> ValueTrace:
    """Return the detector's state after each sample of a whole series. See `DpdValues` and `DpdValues.feed`."""
    return DpdValues(window, lags=lags, every=every, confidence=confidence).feed(samples, ahead)
