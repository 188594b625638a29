"""Which period a series of magnitudes has: the dynamic periodicity detector over arrays, whole or piece by piece.

Magnitudes are numbers whose differences mean something: processors in use, instructions per cycle, bytes. Events are
for `dpd`. The work is done by libincprof_native; tests have a twin in plain numpy, which says what is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incprof.analysis._native import ffi, native
from incprof.errors import UsageError

FloatArray = NDArray[np.float64]
MOST = 32768
LARGEST = 1e150


@dataclass(frozen=True)
class ValueTrace:
    """What was known after each sample of a piece of a series.

    Attributes:
        samples: Shape (n,).
        period: In samples; 0 where there is none. Shape (n,).
        start: Whether the sample is the first one of a period, shape (n,).
        confidence: Largest d(m) over that at the period (may be infinite); 0 without a period. Shape (n,).
        ahead: How far was predicted, a distances.
        predicted: [j, i] predicts sample i + ahead[j], after sample i; NaN: no prediction. Shape (a, n).
    """

    samples: FloatArray
    period: NDArray[np.int32]
    start: NDArray[np.bool_]
    confidence: FloatArray
    ahead: tuple[int, ...]
    predicted: FloatArray

    def hit_rate(self, ahead: int, tolerance: float = 0.0) -> float:
        """Return the share of samples that were predicted to within `tolerance`, of all that could be; 0 of none."""
        row, n = self.ahead.index(ahead), len(self.samples) - ahead
        if n <= 0:
            return 0.0
        off = np.abs(self.predicted[row, :n] - self.samples[ahead:])
        return float(np.mean(off <= tolerance))  # NaN is no hit


class DpdValues:
    """A detector of the period of one series of magnitudes.

    d(m) = 1/N * sum of `|x[n] - x[n-m]|` over the last N samples, 0 < m < M. Until there are so many, over those there
    are, for lags whose pattern was seen twice. Integers below 2^53 / 4N are summed exactly; the sums of others are made
    again in turn, so that no rounding adds up.

    Detectors share nothing. One of them must not be used by two threads at the same time.

    Args:
        window: N, 2 to 32768 samples.
        lags: M, 2 to 32768: periods below it are found; `window` unless given. Two frequencies close to each other are
            told from one period where M is above twice that period.
        every: Samples from one look at d to the next: as late may a period be noticed, or its end. Such that looking
            takes a small share of the time, unless given.
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
        made = self._native.dpd_values_create(ffi.new("struct dpd_values_options *", options))
        if made == ffi.NULL:
            raise MemoryError
        self._dpd = ffi.gc(made, self._native.dpd_values_destroy)

    def resize(self, window: int, lags: int | None = None) -> None:
        """Set N and M (as N unless given); what is known of the series stays known, as far as they reach.

        Raises:
            UsageError: one is out of its range.
        """
        lags = window if lags is None else lags
        check(window, lags)
        self._native.dpd_values_resize(self._dpd, window, lags)
        self.window, self.lags = window, lags

    def feed(self, samples: ArrayLike, ahead: tuple[int, ...] = ()) -> ValueTrace:
        """Feed the next samples of the series and return what was known after each of them.

        Args:
            samples: Finite numbers of at most 1e150, shape (n,).
            ahead: Which samples to predict: 1 is the next one after each sample.

        Raises:
            UsageError: a sample is no such number, and then none was taken, or a distance ahead is below 1.
        """
        values = magnitudes(samples)
        if any(distance < 1 for distance in ahead):
            raise UsageError(f"ahead {ahead}: must be 1 or more samples")
        n, wanted = len(values), np.asarray(ahead, dtype=np.int32)
        period, start, confidence = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.bool_), np.zeros(n)
        predicted, backing = np.zeros((n, len(wanted))), np.zeros((n, len(wanted)), dtype=np.bool_)
        trace = ffi.new(
            "struct dpd_values_trace *",
            {
                "period": _at("int32_t *", period),
                "start": _at("uint8_t *", start),
                "confidence": _at("double *", confidence),
                "ahead": _at("int32_t *", wanted),
                "aheads": len(wanted),
                "predicted": _at("double *", predicted),
                "backing": _at("uint8_t *", backing),
            },
        )
        self._native.dpd_values_feed(self._dpd, _at("double *", values), n, trace)
        expected = np.where(backing, predicted, np.nan).T
        return ValueTrace(values, period, start, confidence, tuple(ahead), expected)

    def distances(self) -> FloatArray:
        """Return d(1) .. d(M-1), over as many samples as there are; NaN where there are none. Shape (M-1,)."""
        found = np.zeros(self.lags - 1)
        self._native.dpd_values_distances(self._dpd, _at("double *", found), len(found))
        return np.where(found < -0.5, np.nan, found)


def check(window: int, lags: int) -> None:
    """Raise a UsageError for sizes that no detector has."""
    for name, size in (("window", window), ("lags", lags)):
        if not 2 <= size <= MOST:
            raise UsageError(f"{name} {size}: must be 2 to {MOST} samples")


def magnitudes(samples: ArrayLike) -> FloatArray:
    """Return magnitudes as contiguous doubles, shape (n,).

    Raises:
        UsageError: they are no finite numbers of at most 1e150, or not in one dimension.
    """
    given = np.asarray(samples)
    if given.ndim != 1 or (given.dtype.kind not in "iubf" and len(given)):
        raise UsageError(f"samples of type {given.dtype} and shape {given.shape}: must be numbers in one dimension")
    values = np.ascontiguousarray(given, dtype=np.float64)
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
    """Return what is known after each sample of a whole series. See `DpdValues` and `DpdValues.feed`."""
    return DpdValues(window, lags=lags, every=every, confidence=confidence).feed(samples, ahead)


def _at(kind: str, array: NDArray[Any]) -> Any:
    return ffi.cast(kind, ffi.from_buffer(array, require_writable=False) if len(array) else ffi.NULL)
