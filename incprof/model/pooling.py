"""Pool several intervals into one, for runs whose intervals hold too few samples to be analysed."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from incprof.model.arrays import IntArray
from incprof.model.profile import Arcs, Counters, IntervalProfile
from incprof.model.suspension import is_after_suspension

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def pooled(profile: IntervalProfile, by: int) -> IntervalProfile:
    """Return the profile with every `by` intervals, from the first on, merged into one; the last may cover fewer.

    Intervals are not pooled across a suspension of the program. Samples, paths and functions do not change. The number
    of threads is the maximum of the pooled intervals.
    """
    if by <= 1 or profile.n_intervals <= 1:
        return profile
    group = _groups(profile, by)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    last = np.append(first[1:], len(group)) - 1
    metadata = profile.metadata
    return replace(
        profile,
        metadata=replace(metadata, interval_s=metadata.interval_s * by, pooled=metadata.pooled * by),
        start_s=profile.start_s[first],
        end_s=profile.end_s[last],
        self_s=_rows_summed(profile.self_s, group),
        calls=_rows_summed(profile.calls, group),
        arcs=_arcs(profile.arcs, group),
        counters=_counters(profile.counters, first),
    )


def _groups(profile: IntervalProfile, by: int) -> IntArray:
    """Return the pooled interval of each interval, (n,), ascending from 0."""
    place = np.arange(profile.n_intervals)
    after = np.maximum.accumulate(np.where(is_after_suspension(profile), place, 0))
    return np.cumsum((place - after) % by == 0) - 1


def _rows_summed(matrix: csr_array, group: IntArray) -> csr_array:
    """Return a sparse matrix with the rows of each group summed, (groups, f)."""
    from scipy.sparse import csr_array

    table = matrix.tocoo()
    row, column = table.row, table.col
    return csr_array((table.data, (group[row], column)), shape=(int(group[-1]) + 1, matrix.shape[1]))


def _arcs(arcs: Arcs, group: IntArray) -> Arcs:
    """Return calls with the intervals of each group merged, in the same order."""
    if not len(arcs.interval):
        return arcs
    keys = np.column_stack([group[arcs.interval], arcs.caller, arcs.callee])
    found, place = np.unique(keys, axis=0, return_inverse=True)
    count = np.zeros(len(found), dtype=arcs.count.dtype)
    np.add.at(count, place.ravel(), arcs.count)
    interval, caller, callee = (found[:, at].astype(arcs.interval.dtype) for at in range(3))
    return Arcs(interval, caller, callee, count)


def _counters(counters: Counters, first: IntArray) -> Counters:
    """Return counters of pooled intervals; `first` is the first interval of each."""
    summed: dict[str, Any] = {
        field.name: np.add.reduceat(values, first) if len(values := getattr(counters, field.name)) else values
        for field in fields(counters)
    }
    if len(counters.threads):
        summed["threads"] = np.maximum.reduceat(counters.threads, first)
    return Counters(**summed)
