"""Loops in a stream of events: the dynamic periodicity detector over arrays, whole or piece by piece.

Events are numbers that are only compared for equality: addresses, codes of functions or of regions. Magnitudes are for
`values`. libincprof_native does the work; the tests check it against an implementation in plain numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incprof.analysis._native import native, pointer
from incprof.analysis._native_ffi import ffi
from incprof.errors import UsageError

Rule = Literal["adaptive", "window"]
RULES: tuple[Rule, ...] = ("adaptive", "window")
MAX_WINDOW = 32768
MIN_MEMORY, MAX_MEMORY = 512, 1 << 24
LEVELS = 32
ROOM = 64 * LEVELS


@dataclass(frozen=True)
class Prediction:
    """A predicted sample.

    Attributes:
        value: Its value.
        periodic: Whether it follows from a loop, not from a single recurrence.
    """

    value: int
    periodic: bool


class Dpd:
    """A detector of loops in one stream of events.

    A lag m below the window is a period when the latest samples equal those m before them: with `rule="adaptive"`, as
    soon as the pattern occurred twice; with `rule="window"`, when `matches` samples do (the paper's N; default: the
    window).

    Detectors share nothing. Two threads must not use the same detector at the same time.

    Args:
        window: Only periods shorter than this are detected, 2 to 32768 samples. The time per sample grows with it.
        rule: When a lag is a period.
        matches: For `rule="window"`.
        tolerance: Whether a loop continues across a single odd, missing or additional sample.
        memory: Samples of history that predictions outside of the window use; 0, or a power of two from 512 to 2^24.

    Raises:
        UsageError: an argument is out of its range.
        IncprofError: the library cannot be loaded.
    """

    def __init__(
        self,
        window: int = 100,
        *,
        rule: Rule = "adaptive",
        matches: int | None = None,
        tolerance: bool = False,
        memory: int = 0,
    ) -> None:
        check_window(window)
        if rule not in RULES:
            raise UsageError(f"rule {rule!r}: must be one of {', '.join(RULES)}")
        if matches is not None and (rule != "window" or not 1 <= matches <= MAX_WINDOW):
            raise UsageError(f"matches {matches!r}: needs rule 'window' and a number from 1 to {MAX_WINDOW}")
        if memory and not (MIN_MEMORY <= memory <= MAX_MEMORY and memory & (memory - 1) == 0):
            raise UsageError(f"memory {memory}: must be 0, or a power of two from {MIN_MEMORY} to {MAX_MEMORY} samples")
        self._options = {
            "rule": RULES.index(rule),
            "matches": matches or 0,
            "tolerance": int(tolerance),
            "memory": memory,
        }
        self.window = window
        self._native = native()
        self._dpd = self._make(window, window)

    def _make(self, window: int, capacity: int) -> Any:
        options = ffi.new("struct dpd_options *", {**self._options, "window": window, "capacity": capacity})
        detector = self._native.dpd_create(options)
        if detector == ffi.NULL:
            raise MemoryError
        return ffi.gc(detector, self._native.dpd_destroy)

    def resize(self, window: int) -> None:
        """Set the window. The history of the stream is kept as far as the new window reaches.

        Raises:
            UsageError: it is out of its range.
        """
        check_window(window)
        if self._native.dpd_resize(self._dpd, window) != 0:
            larger = self._make(window, window)
            self._native.dpd_copy(larger, self._dpd)
            self._native.dpd_resize(larger, window)
            self._dpd = larger
        self.window = window

    @property
    def count(self) -> int:
        """Number of samples so far."""
        return int(self._native.dpd_count(self._dpd))

    def feed(self, samples: ArrayLike, ahead: tuple[int, ...] = ()) -> EventTrace:
        """Feed the next samples of the stream and return the detector's state after each of them.

        Args:
            samples: Integers of up to 64 bits, shape (n,).
            ahead: Which samples to predict: 1 is the next one after each sample.

        Raises:
        UsageError: the samples are not integers or not one-dimensional, or a distance ahead is below 1.
        """
        values = events(samples)
        if any(distance < 1 for distance in ahead):
            raise UsageError(f"ahead {ahead}: must be 1 or more samples")
        n, distances = len(values), np.asarray(ahead, dtype=np.int32)
        period, start = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.bool_)
        # Sample-major here, so that a stream can be fed in pieces.
        predicted = np.zeros((n, len(distances)), dtype=np.int64)
        backing = np.zeros((n, len(distances)), dtype=np.uint8)
        ended: list[Loops] = []
        done = 0
        while done < n:
            room = np.zeros(ROOM, dtype=LOOPS)
            trace = self._trace(period[done:], start[done:], distances, predicted[done:], backing[done:], room)
            remaining = values[done:]
            done += int(self._native.dpd_events(self._dpd, pointer(remaining), len(remaining), trace))
            ended.append(room[: trace.ended])
        loops = np.concatenate(ended) if ended else np.zeros(0, dtype=LOOPS)
        return EventTrace(values, period, start, tuple(ahead), predicted.T, backing.T, loops)

    def _trace(
        self,
        period: NDArray[np.int32],
        start: NDArray[np.bool_],
        ahead: NDArray[np.int32],
        predicted: NDArray[np.int64],
        backing: NDArray[np.uint8],
        room: Loops,
    ) -> Any:
        return ffi.new(
            "struct dpd_trace *",
            {
                "period": pointer(period),
                "start": pointer(start),
                "ahead": pointer(ahead),
                "aheads": len(ahead),
                "predicted": pointer(predicted),
                "backing": pointer(backing),
                "loops": ffi.from_buffer("struct dpd_loop[]", room),
                "room": len(room),
                "ended": 0,
            },
        )

    def loops(self) -> Loops:
        """Return the loops that the stream is currently in, the outermost first, shape (k,)."""
        records = np.zeros(LEVELS, dtype=LOOPS)
        number = self._native.dpd_loops(self._dpd, ffi.from_buffer("struct dpd_loop[]", records), LEVELS)
        return records[:number].copy()

    def predict(self, ahead: int = 1) -> Prediction | None:
        """Return the sample expected `ahead` samples after the latest one; None without a prediction."""
        value = ffi.new("int64_t *")
        backing = self._native.dpd_predict(self._dpd, ahead, value)
        return Prediction(int(value[0]), backing == 2) if backing else None

    def matches(self) -> NDArray[np.int32]:
        """Return for each lag, at index lag - 1, how many samples in a row match (65534 at most), shape (window-1,)."""
        lags = range(1, self.window)
        return np.asarray([self._native.dpd_matches(self._dpd, lag) for lag in lags], dtype=np.int32)


def check_window(window: int) -> None:
    """Raise a UsageError for a window that is out of range."""
    if not 2 <= window <= MAX_WINDOW:
        raise UsageError(f"window {window}: must be 2 to {MAX_WINDOW} samples")


def events(samples: ArrayLike) -> NDArray[np.int64]:
    """Return events as contiguous 64-bit integers, shape (n,); unsigned ones keep their bits.

    Raises:
        UsageError: the samples are not integers or not one-dimensional.
    """
    array = np.asarray(samples)
    if array.ndim != 1 or (array.dtype.kind not in "iub" and len(array)):
        raise UsageError(
            f"events of type {array.dtype} and shape {array.shape}: must be integers in one dimension; "
            "give each kind of event a number"
        )
    return np.ascontiguousarray(array.astype(np.uint64 if array.dtype.kind == "u" else np.int64).view(np.int64))


def detect(
    samples: ArrayLike,
    window: int = 100,
    *,
    rule: Rule = "adaptive",
    matches: int | None = None,
    tolerance: bool = False,
    memory: int = 0,
    ahead: tuple[int, ...] = (),
) -> EventTrace:
    """Return the loops of a whole stream, including those still running at its end. See `Dpd` and `Dpd.feed`."""
    detector = Dpd(window, rule=rule, matches=matches, tolerance=tolerance, memory=memory)
    return detector.feed(samples, ahead).with_loops(detector.loops())


# State of the periodicity detector after each sample of a stream, and the accuracy of its predictions.


# struct dpd_loop. Samples `first` to `last` repeat with `period` and with no divisor of it. `id`: 1, 2, ... as loops
# are detected; a recurring loop keeps its id (0: more loops than the detector can distinguish), and `visits` counts its
# episodes. `odd`: samples that it continued across. `hash`: of its content, independent of the first sample. `start`:
# latest first sample of a period. `starts`: periods after those in which it was found, each predicted whole; `whole` of
# them came as predicted. `own`: first sample that no loop that began earlier explains. `found`: index of the sample at
# which the loop was detected.
LOOPS = np.dtype(
    [
        ("period", np.int32),
        ("id", np.uint32),
        ("visits", np.uint32),
        ("odd", np.uint32),
        ("hash", np.uint64),
        ("first", np.uint64),
        ("last", np.uint64),
        ("start", np.uint64),
        ("starts", np.uint64),
        ("whole", np.uint64),
        ("own", np.uint64),
        ("found", np.uint64),
    ]
)
Loops = NDArray[Any]  # of LOOPS


@dataclass(frozen=True)
class EventTrace:
    """State of the detector after each sample of a piece of a stream.

    Attributes:
        samples: Shape (n,).
        period: Period of the outermost loop that the stream is in, in samples; 0 outside of loops. Shape (n,).
        start: Whether the sample is the first one of a period, shape (n,).
        ahead: The a prediction distances, in samples.
        predicted: [j, i] is the prediction of sample i + ahead[j] made after sample i. Shape (a, n).
        backing: 0: no prediction; 1: from what followed last time; 2: from a loop. Shape (a, n).
        loops: Loops of all levels, in the order in which they ended. Shape (k,), dtype LOOPS.
    """

    samples: NDArray[np.int64]
    period: NDArray[np.int32]
    start: NDArray[np.bool_]
    ahead: tuple[int, ...]
    predicted: NDArray[np.int64]
    backing: NDArray[np.uint8]
    loops: Loops

    def with_loops(self, more: Loops) -> EventTrace:
        """Return a copy with more loops appended."""
        return replace(self, loops=np.concatenate([self.loops, more]))

    def periods(self) -> list[int]:
        """Return the periods of all levels, each once, ascending."""
        return [int(period) for period in np.unique(self.loops["period"])]

    def hit_rate(self, ahead: int, *, periodic: bool = False) -> float:
        """Return the share of predictable samples that were predicted correctly; 0 without any.

        Args:
            ahead: One of `self.ahead`.
            periodic: Whether only predictions from loops count. The others then are misses.
        """
        row, n = self.ahead.index(ahead), len(self.samples) - ahead
        if n <= 0:
            return 0.0
        right = self.predicted[row, :n] == self.samples[ahead:]
        return float(np.mean(right & (self.backing[row, :n] >= (2 if periodic else 1))))

    def whole_rate(self) -> float:
        """Return the share of periods, in ended and running loops, that came exactly as predicted; 0 without any."""
        starts = int(self.loops["starts"].sum())
        return int(self.loops["whole"].sum()) / starts if starts else 0.0
