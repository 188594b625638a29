"""Self time over time: the functions that matter, and all others together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.views.timebins import TimeBins
from incprof.model import LIBRARY, OWN, FloatArray, IntArray, IntervalProfile

MOST = 12
# A function that is this much of a phase is shown, however short the phase is.
OF_PHASE = 0.25
# Another one is shown if it is this much of the run.
OF_RUN = 0.004


@dataclass(frozen=True)
class SelfSeries:
    """Self time of some functions over time.

    functions: (m,) their columns in the profile, largest first. self_s: (b, m + 1) seconds per bin; the last column is
    that of all other functions.
    """

    functions: IntArray
    self_s: FloatArray


def innermost_s(profile: IntervalProfile, *, libraries: bool) -> csr_array:
    """Return self times in which an inlined function has what is its own, as a flame graph has it: sparse (n, f).

    libraries: time in a library is its caller's.
    """
    if profile.inlined is None:
        return csr_array(profile.self_s)
    samples, first = profile.samples, profile.inlined.first
    use = (samples.kind == OWN) | ((samples.kind == LIBRARY) & libraries)
    use &= np.diff(first)[samples.node] > 0
    node, row = samples.node[use], profile.interval_of_samples()[use]
    outer, inner = profile.paths.function[node], profile.inlined.function[first[node + 1] - 1]
    seconds = samples.weight[use] / profile.metadata.rate_hz
    if not len(node):
        return csr_array(profile.self_s)
    parts = np.concatenate([seconds, -seconds]), (np.concatenate([row, row]), np.concatenate([inner, outer]))
    table: csr_array = profile.self_s + csr_array(parts, shape=profile.self_s.shape)
    table.data[np.abs(table.data) < 1e-9] = 0.0
    table.eliminate_zeros()
    return table


def self_series(
    profile: IntervalProfile, labels: IntArray, bins: TimeBins, most: int = MOST, *, libraries: bool = True
) -> SelfSeries:
    """Return the self time of the largest functions of the run and of each phase; inlined functions have their own.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        bins: b bins.
        most: functions.
        libraries: time in a library is its caller's.
    """
    table = innermost_s(profile, libraries=libraries)
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
    """Return the places of the largest values above zero, largest first."""
    order = np.lexsort((np.arange(len(values)), -np.round(values, 9)))[:most]
    return [int(i) for i in order if values[i] > 0]
