"""What the periodicity detector knows after each sample of a stream, and how good its predictions were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

# struct dpd_loop. Samples `first` to `last` repeat with `period` and with no part of it. `id`: 1, 2, ... as loops come;
# the same loop again has the same one (0: there were more than are kept apart), and `visits` counts them. `odd`: how
# many samples it went on over. `hash`: of its content, whichever sample comes first. `start`: latest first sample of a
# period. `starts`: periods after those in which it was found, each predicted whole; `whole` of them came so. `own`:
# first sample that no other loop explains which began earlier. `found`: index of the sample with which it counted.
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
    """What was known after each sample of a piece of a stream.

    Attributes:
        samples: Shape (n,).
        period: Of the outermost loop that the stream is in, in samples; 0 outside of loops. Shape (n,).
        start: Whether the sample is the first one of a period, shape (n,).
        ahead: How far was predicted, a distances.
        predicted: [j, i] predicts sample i + ahead[j], after sample i. Shape (a, n).
        backing: 0: there is no prediction; 1: from what followed last time; 2: within a loop. Shape (a, n).
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
        """Return the same with more loops behind those that ended."""
        return replace(self, loops=np.concatenate([self.loops, more]))

    def periods(self) -> list[int]:
        """Return the periods of all levels, each once, ascending."""
        return [int(period) for period in np.unique(self.loops["period"])]

    def hit_rate(self, ahead: int, *, periodic: bool = False) -> float:
        """Return the share of samples that were predicted rightly, of all that could be; 0 of none.

        Args:
            ahead: One of `self.ahead`.
            periodic: Whether to count only what was predicted within loops. The others then are misses.
        """
        row, n = self.ahead.index(ahead), len(self.samples) - ahead
        if n <= 0:
            return 0.0
        right = self.predicted[row, :n] == self.samples[ahead:]
        return float(np.mean(right & (self.backing[row, :n] >= (2 if periodic else 1))))

    def whole_rate(self) -> float:
        """Return the share of periods, of loops that ended or go on, that came exactly as predicted; 0 of none."""
        starts = int(self.loops["starts"].sum())
        return int(self.loops["whole"].sum()) / starts if starts else 0.0
