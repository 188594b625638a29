"""What a thread's counters counted before each of its MPI calls (docs/formats.md, blocks of kind 4)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from incprof.model import FloatArray

# Kind of block.
COUNTS = 4
# A count is 16 bits: below 2^(EXACT + 1) itself, else EXACT bits behind a leading one, and a power of two.
EXACT = 10
NOT_COUNTED = 0xFFFF
MOST_COUNTERS = 16


def counts_of(codes: np.ndarray) -> FloatArray:
    """Decode counts; NaN where nothing was counted. codes: any shape, of 16 bits."""
    power = np.maximum(codes.astype(np.int64) >> EXACT, 1) - 1
    counts = np.ldexp((codes.astype(np.int64) - (power << EXACT)).astype(np.float64), power)
    found: FloatArray = np.where(codes == NOT_COUNTED, np.nan, counts)
    return found


class CountRows:
    """The rows of a trace, by lane.

    Args:
        counters: how many counts a row has.
        kept: rows are kept; otherwise their sums alone, so that memory holds a block.
    """

    def __init__(self, counters: int, *, kept: bool) -> None:
        self._counters, self._kept = counters, kept
        # Sums over all rows, (counters,).
        self.total: FloatArray = np.zeros(counters)
        self._lanes: defaultdict[int, list[tuple[int, np.ndarray]]] = defaultdict(list)

    def take(self, lane: int, payload: bytes) -> None:
        """Take the rows of a block; one without whole rows has none."""
        if self._counters and len(payload) >= 8:
            whole = (len(payload) - 8) // (2 * self._counters)
            codes = np.frombuffer(payload, "<u2", whole * self._counters, 8).reshape(whole, self._counters)
            self.total += np.nansum(counts_of(codes), axis=0)
            if self._kept:
                self._lanes[lane].append((int.from_bytes(payload[:8], "little"), codes))

    def of(self, lane: int, events: int) -> FloatArray:
        """Return what was counted before each event of a lane, (events, counters); NaN where that is not known."""
        out = np.full((events, self._counters), np.nan)
        for first, codes in self._lanes[lane]:
            if first < events:
                out[first : first + len(codes)] = counts_of(codes[: events - first])
        return out
