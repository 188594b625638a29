"""Tandem repeats of a sequence: runs in which the same items repeat immediately, shortest period first.

A repeat of period p has at least two periods. The search does not compare every lag of every item: of any p consecutive
items exactly one lies at a multiple of p, so only those are compared, by the hash of half a period around each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import BoolArray, IntArray

# Multiplier of the hashes of runs of items, modulo 2 ** 64. Equal hashes are verified item by item.
BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Repeats:
    """Runs of items that repeat, in order, without overlap.

    Attributes:
        period: Length of a repetition, in items.
        first: (m,) first item of each run.
        count: (m,) number of repetitions.
    """

    period: int
    first: IntArray
    count: IntArray

    @property
    def end(self) -> IntArray:
        """The item after each run, (m,)."""
        return self.first + self.period * self.count

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.first)


class Hashes:
    """Hashes of all runs of items in a sequence, (n,) of items from 0."""

    def __init__(self, items: IntArray) -> None:
        n = len(items)
        power = np.ones(n + 1, dtype=np.uint64)
        power[1:] = BASE
        np.multiply.accumulate(power, out=power)
        # sum of (item + 1) * BASE ** index: shifted to a common power before they are compared.
        self._sums = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum((items.astype(np.uint64) + np.uint64(1)) * power[:n], out=self._sums[1:])
        self._power = power

    def same(self, one: IntArray, lag: int, length: int) -> BoolArray:
        """Return where the items at `one`, (m,), equal those `lag` items later, by hash."""
        near = self._sums[one + length] - self._sums[one]
        far = self._sums[one + lag + length] - self._sums[one + lag]
        same: BoolArray = near * self._power[lag] == far
        return same


def repeats_of(items: IntArray, hashes: Hashes, period: int) -> Repeats:
    """Return the runs in a sequence, (n,), that repeat with a period."""
    none = np.zeros(0, dtype=np.int64)
    if len(items) < 2 * period or not _may_repeat(len(items), hashes, period):
        return Repeats(period, none, none)
    equal = items[:-period] == items[period:]
    edge = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    first, length = edge[::2], edge[1::2] - edge[::2]
    long = length >= period
    return _disjoint(period, first[long], (first + length + period)[long])


def _disjoint(period: int, first: IntArray, end: IntArray) -> Repeats:
    """Return whole periods without overlap between consecutive runs; runs of less than two periods are dropped."""
    count = (end - first) // period
    if ((first + count * period)[:-1] > first[1:]).any():
        free, begins = 0, []
        for start, stop in zip(first.tolist(), end.tolist(), strict=True):
            begins.append(max(start, free))
            if (turns := (stop - begins[-1]) // period) >= 2:
                free = begins[-1] + turns * period
        first = np.array(begins, dtype=np.int64)
        count = (end - first) // period
    return Repeats(period, first[count >= 2], count[count >= 2])


def _may_repeat(n: int, hashes: Hashes, period: int) -> bool:
    """Return whether there may be `period` consecutive items that equal those a period later."""
    anchor = np.arange(0, n - period, period)
    half = (period + 1) // 2
    # The anchor lies in the first half of those items, or in the second: the half after it, or before it, is equal.
    after = anchor[anchor + half + period <= n]
    before = anchor[anchor >= half - 1] - (half - 1)
    return bool(hashes.same(after, period, half).any() or hashes.same(before, period, half).any())
