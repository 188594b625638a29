"""Merge neighbouring intervals, so that a plot of a long run has no more points than it can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.views.ribbon import cells
from incprof.model import FloatArray, IntArray, IntervalProfile

MOST = 1000


@dataclass(frozen=True)
class TimeBins:
    """Bins of one interval or several, in order.

    Attributes:
        start_s: (b,) seconds since the start of the run.
        end_s: (b,) likewise.
        label: (b,) phase of most of a bin's intervals.
        of_interval: (n,) the bin of each interval.
    """

    start_s: FloatArray
    end_s: FloatArray
    label: IntArray
    of_interval: IntArray

    @property
    def wall_s(self) -> FloatArray:
        """Length of each bin, (b,), at least a nanosecond."""
        return np.maximum(self.end_s - self.start_s, 1e-9)

    def summed(self, table: csr_array) -> csr_array:
        """Sum the rows of a sparse (n, m) table within each bin: sparse (b, m)."""
        n, b = len(self.of_interval), len(self.end_s)
        member = csr_array((np.ones(n), (self.of_interval, np.arange(n))), shape=(b, n))
        return csr_array(member @ csr_array(table))


def time_bins(profile: IntervalProfile, labels: IntArray, most: int | None = MOST) -> TimeBins:
    """Cut a run into at most `most` bins with equal numbers of intervals, or into its intervals if that is None.

    Args:
        profile: n intervals.
        labels: (n,) phase ids, -1 for none.
        most: most bins.
    """
    n = profile.n_intervals
    number = n if most is None else min(n, max(most, 1))
    # The same edges as those of the ribbon's cells.
    edges = np.linspace(0, n, number + 1).round().astype(np.int64)
    label = np.array(cells(labels, number), dtype=np.int64)
    of_interval = np.repeat(np.arange(number), np.diff(edges))
    return TimeBins(profile.start_s[edges[:-1]], profile.end_s[edges[1:] - 1], label, of_interval)
