"""Several intervals taken as one: where one of them holds too few samples to say anything."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from incprof.model.arrays import IntArray
from incprof.model.profile import Arcs, Counters, IntervalProfile

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def pooled(profile: IntervalProfile, by: int) -> IntervalProfile:
    """Return the profile with every `by` intervals, from the first on, as one; the last one may be of fewer.

    Samples, paths and functions are the same. Of threads, the most of the intervals count.
    """
    if by <= 1 or profile.n_intervals <= 1:
        return profile
    n = profile.n_intervals
    first = np.arange(0, n, by)
    last = np.append(first[1:], n) - 1
    metadata = profile.metadata
    return replace(
        profile,
        metadata=replace(metadata, interval_s=metadata.interval_s * by, pooled=metadata.pooled * by),
        start_s=profile.start_s[first],
        end_s=profile.end_s[last],
        self_s=_rows_summed(profile.self_s, by, len(first)),
        calls=_rows_summed(profile.calls, by, len(first)),
        arcs=_arcs(profile.arcs, by),
        counters=_counters(profile.counters, first),
    )


def _rows_summed(matrix: csr_array, by: int, rows: int) -> csr_array:
    """Return a sparse matrix with every `by` rows as one, (rows, f)."""
    from scipy.sparse import csr_array

    table = matrix.tocoo()
    row, column = table.row, table.col
    return csr_array((table.data, (row // by, column)), shape=(rows, matrix.shape[1]))


def _arcs(arcs: Arcs, by: int) -> Arcs:
    """Return calls with every `by` intervals as one, in the same order."""
    if not len(arcs.interval):
        return arcs
    keys = np.column_stack([arcs.interval // by, arcs.caller, arcs.callee])
    found, place = np.unique(keys, axis=0, return_inverse=True)
    count = np.zeros(len(found), dtype=arcs.count.dtype)
    np.add.at(count, place.ravel(), arcs.count)
    interval, caller, callee = (found[:, at].astype(arcs.interval.dtype) for at in range(3))
    return Arcs(interval, caller, callee, count)


def _counters(counters: Counters, first: IntArray) -> Counters:
    """Return counters of pooled intervals, each from one of `first` on."""
    summed: dict[str, Any] = {
        field.name: np.add.reduceat(values, first) if len(values := getattr(counters, field.name)) else values
        for field in fields(counters)
    }
    if len(counters.threads):
        summed["threads"] = np.maximum.reduceat(counters.threads, first)
    return Counters(**summed)
