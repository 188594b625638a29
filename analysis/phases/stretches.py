"""Stretches of a run in which nothing changes: neighbours are joined, the most alike first, until borders are left.

Ticks add up while a stretch grows, and with them the power to tell it from the next: a change that no single interval
shows is found where it lasts. n intervals, c functions, s stretches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.difference import how_different
from incprof.analysis.phases.inclusive import Inclusive
from incprof.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Stretches:
    """Stretches in order of time: first interval and one past the last, (s,). Between two there may be a way."""

    first: IntArray
    end: IntArray

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.first)

    @property
    def length(self) -> IntArray:
        """Return how many intervals each has, (s,)."""
        return self.end - self.first

    def without(self, drop: IntArray) -> Stretches:
        """Return the same without some, which become ways between others."""
        return Stretches(np.delete(self.first, drop), np.delete(self.end, drop))

    def joined(self, border: IntArray) -> Stretches:
        """Return the same without the borders behind some stretches: each is joined with the next."""
        return Stretches(np.delete(self.first, border + 1), np.delete(self.end, border))


class Sums:
    """Ticks of any stretch of a run, from prefix sums. scatter: (c,) of each function over counting."""

    def __init__(self, ticks: Inclusive, scatter: FloatArray):
        self.ticks, self.scatter = ticks, scatter
        self._counts = np.vstack([np.zeros(ticks.counts.shape[1]), np.cumsum(ticks.counts, axis=0)])
        self._total = np.concatenate([[0.0], np.cumsum(ticks.total)])

    def counts(self, first: IntArray, end: IntArray) -> FloatArray:
        """Return the ticks of each function from `first` to before `end`, both (m,): (m, c)."""
        result: FloatArray = self._counts[end] - self._counts[first]
        return result

    def total(self, first: IntArray, end: IntArray) -> FloatArray:
        """Return all ticks of some stretches, (m,)."""
        result: FloatArray = self._total[end] - self._total[first]
        return result

    def shares(self, first: IntArray, end: IntArray) -> FloatArray:
        """Return the share of each function in some stretches, (m, c)."""
        result: FloatArray = self.counts(first, end) / self.total(first, end)[:, None]
        return result

    def apart(self, those: Stretches, one: IntArray, other: IntArray, options: PhaseOptions) -> FloatArray:
        """Return how different pairs of stretches are, (m,), see how_different. one, other: places in `those`."""
        a, b = (those.first[one], those.end[one]), (those.first[other], those.end[other])
        return how_different(self.counts(*a), self.total(*a), self.counts(*b), self.total(*b), self.scatter, options)


def neighbours_joined(ticks: Inclusive, scatter: FloatArray, options: PhaseOptions = PHASES) -> Stretches:
    """Join neighbours until each border is the change of some function. ticks: of n intervals that have any."""
    counts, total = ticks.counts, ticks.total
    edge = np.arange(len(total) + 1)
    score = how_different(counts[1:], total[1:], counts[:-1], total[:-1], scatter, options)
    while len(counts) > 1:
        join = (score < 1.0) & _least(score)
        if not join.any():
            break
        start = np.flatnonzero(np.concatenate([[True], ~join]))
        size = np.diff(np.append(start, len(counts)))
        counts, total = _added(counts, start, size), np.add.reduceat(total, start)
        edge = np.append(edge[start], edge[-1])
        score = score[~join]
        at = np.flatnonzero((size[1:] > 1) | (size[:-1] > 1))
        score[at] = how_different(counts[at + 1], total[at + 1], counts[at], total[at], scatter, options)
    return Stretches(edge[:-1], edge[1:])


def _least(score: FloatArray) -> BoolArray:
    """Tell which pairs are more alike than either is like its other neighbour, (m,): they share no stretch.

    Of pairs in a row that are equally alike it is every other one: a run in which nothing changes has no others.
    """
    first = np.append(True, score[1:] != score[:-1])
    place = np.arange(len(score))
    place -= np.maximum.accumulate(np.where(first, place, 0))
    least = (score <= np.append(score[1:], np.inf)) & (score <= np.append(np.inf, score[:-1]))
    result: BoolArray = least & (place % 2 == 0)
    return result


def _added(rows: FloatArray, start: IntArray, size: IntArray) -> FloatArray:
    """Return the sums of groups of rows: what np.add.reduceat does too, in ten times as long."""
    out: FloatArray = rows[start]
    for place in range(1, int(size.max())):
        more = np.flatnonzero(size > place)
        out[more] += rows[start[more] + place]
    return out
