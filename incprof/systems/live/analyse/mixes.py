"""Profiles of a running job's intervals, with function numbers that are stable while the job runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.composition.features import shares
from incprof.model import PROFILER, FloatArray, Function, Inlined, IntArray, IntervalProfile


def inclusive_shares(profile: IntervalProfile) -> csr_array:
    """Return the share of each interval's samples that have a function on their stack: sparse (n, f).

    Resolved inlined functions count as on the stack.
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
    # A recursive function counts once for each stack.
    once = np.unique(np.concatenate(found))
    pair, function = (once // f, once % f) if f else (once, once)
    interval = distinct[pair] // p
    matrix = csr_array((ticks[pair] / total[interval], (interval, function)), shape=(n, f))
    matrix.sum_duplicates()
    return matrix


def _inlined(inlined: Inlined, node: IntArray, pair: IntArray, f: int) -> IntArray:
    """Return pair * f + function for each function inlined at the node of each pair."""
    many = np.diff(inlined.first)[node]
    begins = np.cumsum(many) - many
    place = np.arange(many.sum()) - np.repeat(begins - inlined.first[node], many)
    keys: IntArray = np.repeat(pair, many) * f + inlined.function[place]
    return keys


class FunctionNumbers:
    """Numbers functions from 0 in order of first occurrence, in any process."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self._known: dict[tuple[str, str, int], int] = {}

    def of(self, functions: Sequence[Function]) -> IntArray:
        """Return the number of each function, shape (f,); new ones get the next."""
        found = []
        for function in functions:
            key = (function.module, function.mangled, function.address)
            if key not in self._known:
                self._known[key] = len(self.functions)
                self.functions.append(function)
            found.append(self._known[key])
        return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class Mix:
    """Profile of one interval.

    Attributes:
        start_s: Start, in seconds since the start of the process.
        end_s: End, in seconds since the start of the process.
        ticks: Total weight of its samples.
        self_s: Total self time, in seconds.
        columns: (m,) 2 i for the inclusive time of function i, 2 i + 1 for its self time.
        shares: (m,) share of the interval for each column.
    """

    start_s: float
    end_s: float
    ticks: float
    self_s: float
    columns: IntArray
    shares: FloatArray

    def own(self) -> tuple[IntArray, FloatArray]:
        """Return functions and their self time in seconds, both (o,)."""
        mine = self.columns % 2 == 1
        return self.columns[mine] // 2, self.shares[mine] * self.self_s

    def inclusive(self, function: int) -> float:
        """Return the inclusive share of a function in the interval."""
        return float(self.shares[self.columns == 2 * function].sum())


def mixes(profile: IntervalProfile, numbers: FunctionNumbers) -> list[Mix]:
    """Return the profile of each interval, (n,)."""
    number = numbers.of(profile.functions)
    self_s = profile.self_s
    own = shares(self_s)
    below = inclusive_shares(profile)
    seconds = np.add.reduceat(np.append(self_s.data, 0.0), self_s.indptr[:-1]) * (np.diff(self_s.indptr) > 0)
    out = []
    for i in range(profile.n_intervals):
        mine = slice(own.indptr[i], own.indptr[i + 1])
        under = slice(below.indptr[i], below.indptr[i + 1])
        # Without call paths only the function that runs is known of the stack.
        stack, part = (below, under) if under.stop > under.start else (own, mine)
        columns = np.concatenate([2 * number[stack.indices[part]], 2 * number[own.indices[mine]] + 1])
        parts = np.concatenate([stack.data[part], own.data[mine]])
        ticks = float(seconds[i]) * profile.metadata.rate_hz
        out.append(Mix(float(profile.start_s[i]), float(profile.end_s[i]), ticks, float(seconds[i]), columns, parts))
    return out


@dataclass(frozen=True)
class MadeOf:
    """Interval profiles with function numbers of their own: positions in `functions`."""

    rows: Sequence[Mix]
    functions: Sequence[Function]


def made_of(profile: IntervalProfile) -> MadeOf:
    """Return the profiles of a profile's intervals; independent of other state, so it may run in any thread."""
    numbers = FunctionNumbers()
    return MadeOf(mixes(profile, numbers), numbers.functions)


def renumbered(rows: Sequence[Mix], number: IntArray) -> list[Mix]:
    """Return interval profiles with other function numbers. number: (f,) new numbers, by the old ones."""
    return [replace(row, columns=2 * number[row.columns // 2] + row.columns % 2) for row in rows]
