"""Which functions are on the stack, and for how much of each interval."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.model import PROFILER, Inlined, IntArray, IntervalProfile


def inclusive_shares(profile: IntervalProfile) -> csr_array:
    """Return the part of each interval's samples that have a function on their stack: sparse (n, f).

    Inlined functions that were looked up are on it like others.
    """
    n, f, tree = profile.n_intervals, len(profile.functions), profile.paths
    use = profile.samples.kind != PROFILER
    p = len(tree.parent)
    key = profile.interval_of_samples()[use] * p + profile.samples.node[use]
    distinct, place = np.unique(key, return_inverse=True)
    ticks = np.bincount(place, weights=profile.samples.weight[use], minlength=len(distinct))
    total = np.bincount(distinct // p, weights=ticks, minlength=n)
    node, pair = distinct % p, np.arange(len(distinct))
    found = [np.empty(0, dtype=np.int64)]
    while len(node):
        function = tree.function[node].astype(np.int64)
        found.append((pair * f + function)[function >= 0])
        if profile.inlined is not None:
            found.append(_inlined(profile.inlined, node, pair, f))
        up = node > 0
        pair, node = pair[up], tree.parent[node[up]]
    # A function that calls itself is on a stack once.
    once = np.unique(np.concatenate(found))
    pair, function = (once // f, once % f) if f else (once, once)
    interval = distinct[pair] // p
    matrix = csr_array((ticks[pair] / total[interval], (interval, function)), shape=(n, f))
    matrix.sum_duplicates()
    return matrix


def _inlined(inlined: Inlined, node: IntArray, pair: IntArray, f: int) -> IntArray:
    """Return pair * f + function for each function that is inlined at the node of each pair."""
    many = np.diff(inlined.first)[node]
    begins = np.cumsum(many) - many
    place = np.arange(many.sum()) - np.repeat(begins - inlined.first[node], many)
    keys: IntArray = np.repeat(pair, many) * f + inlined.function[place]
    return keys
