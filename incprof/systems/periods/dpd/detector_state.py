"""State of the periodicity detector after each sample of a stream, and the accuracy of its predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
