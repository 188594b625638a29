"""Self time over time: the most important functions, and all others together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.views.timebins import TimeBins
from incprof.model import FloatArray, IntArray, IntervalProfile

MOST = 12
# A function with this share of a phase is shown, however short the phase is.
OF_PHASE = 0.25
# Another function is shown if it has this share of the run.
OF_RUN = 0.004


@dataclass(frozen=True)
class SelfSeries:
    """Self time of some functions over time.

    Attributes:
        functions: (m,) their columns in the profile, largest first.
        self_s: (b, m + 1) seconds per bin; the last column is of all other functions.
    """

    functions: IntArray
    self_s: FloatArray


def self_series(profile: IntervalProfile, labels: IntArray, bins: TimeBins, most: int = MOST) -> SelfSeries:
    """Return the self time of the largest functions of the run and of each phase.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        bins: b bins.
        most: most functions.
    """
    table = profile.self_s
    total = np.asarray(table.sum(axis=0)).ravel()
    wanted = dict.fromkeys(_largest(total, 1))
    for phase in range(int(labels.max(initial=-1)) + 1):
        own = np.asarray(table[np.flatnonzero(labels == phase)].sum(axis=0)).ravel()
        wanted.update(dict.fromkeys(c for c in _largest(own, 2) if own[c] >= OF_PHASE * own.sum()))
    wanted.update(dict.fromkeys(c for c in _largest(total, most) if total[c] >= OF_RUN * total.sum()))
    chosen = np.array(list(wanted)[:most], dtype=np.int64)
    chosen = chosen[np.lexsort((chosen, -np.round(total[chosen], 9)))]
    binned = bins.summed(table)
    shown = np.asarray(binned[:, chosen].todense(), dtype=np.float64).reshape(len(bins.end_s), len(chosen))
    rest = np.asarray(binned.sum(axis=1)).ravel() - shown.sum(axis=1)
    return SelfSeries(chosen, np.column_stack([shown, np.maximum(rest, 0.0)]))


def _largest(values: FloatArray, most: int) -> list[int]:
    """Return the indices of the largest values above zero, largest first."""
    order = np.lexsort((np.arange(len(values)), -np.round(values, 9)))[:most]
    return [int(i) for i in order if values[i] > 0]
