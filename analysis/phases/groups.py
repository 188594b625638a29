"""Which stretches do the same: joined by the test that found their borders, the most alike first.

The joins go on until one group is left, so that any number of groups can be had; they are phases where the test says
that all that are left are different. s stretches, g groups, c functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.difference import how_different
from incprof.analysis.phases.stretches import Stretches, Sums
from incprof.model import FloatArray, IntArray

# With more stretches, each first joins the group of the longest that it is like.
MANY = 400


@dataclass(frozen=True)
class Groups:
    """Groups of stretches, and how they were joined.

    start: (s,) the group of each stretch before the first join. joins: pairs of groups, the second becoming the first,
    and how different they were: 1 is the limit of what is the same.
    """

    start: IntArray
    joins: tuple[tuple[int, int, float], ...]

    @property
    def count(self) -> int:
        """Return how many groups there are that differ."""
        return len(self.joins) + 1 - next((i for i, join in enumerate(self.joins) if join[2] >= 1.0), len(self.joins))

    def cut(self, k: int) -> IntArray:
        """Return the group of each stretch where there are k groups, or as many as there can be, (s,)."""
        out = self.start.copy()
        for at, (one, other, apart) in enumerate(self.joins):
            # What does not differ at all is one group however many are asked for.
            if at < len(self.joins) + 1 - k or apart <= 0.0:
                out[out == other] = one
        return out


class _Pool:
    """Groups that grow: their ticks and lengths."""

    def __init__(
        self, counts: FloatArray, total: FloatArray, length: IntArray, scatter: FloatArray, options: PhaseOptions
    ):
        self.counts, self.total, self.length = counts, total, length
        self._scatter, self._options = scatter, options

    def apart(self, one: int, others: IntArray) -> FloatArray:
        """Return how different a group is from others, (m,)."""
        # What is short is a bit of its neighbours.
        short = np.minimum(self.length[one], self.length[others]) <= self._options.short_visit
        a, total = np.broadcast_to(self.counts[one], self.counts[others].shape), np.full(len(others), self.total[one])
        times = np.where(short, 2.0, 1.0)
        return how_different(a, total, self.counts[others], self.total[others], self._scatter, self._options, times)

    def join(self, one: int, other: int) -> None:
        """Add the second to the first."""
        self.counts[one] += self.counts[other]
        self.total[one] += self.total[other]
        self.length[one] += self.length[other]


def alike_grouped(sums: Sums, stretches: Stretches, options: PhaseOptions = PHASES) -> Groups:
    """Join stretches that do the same."""
    counts, total = sums.counts(stretches.first, stretches.end), sums.total(stretches.first, stretches.end)
    pool = _Pool(counts, total, stretches.length.copy(), sums.scatter, options)
    start = np.arange(len(stretches))
    if len(stretches) > MANY:
        start = _to_the_longest(pool)
    return Groups(start, tuple(_joins(pool, np.unique(start))))


def _to_the_longest(pool: _Pool) -> IntArray:
    """Let each stretch, the longest first, join the group that it is most like, or found one. Returns groups, (s,)."""
    start = np.arange(len(pool.total))
    heads: list[int] = []
    for stretch in np.argsort(-pool.length, kind="stable").tolist():
        if heads:
            apart = pool.apart(stretch, np.array(heads))
            best = int(np.argmin(apart))
            if apart[best] < 1.0 or len(heads) >= MANY:
                start[stretch] = heads[best]
                pool.join(heads[best], stretch)
                continue
        heads.append(stretch)
    return start


def _joins(pool: _Pool, groups: IntArray) -> list[tuple[int, int, float]]:
    """Join the two most alike until one is left."""
    size = len(groups)
    apart = np.full((size, size), np.inf)
    for place in range(size - 1):
        apart[place, place + 1 :] = pool.apart(int(groups[place]), groups[place + 1 :])
    joins, live = [], np.ones(size, dtype=np.bool_)
    for _ in range(size - 1):
        one, other = (int(i) for i in np.unravel_index(np.argmin(apart), apart.shape))
        joins.append((int(groups[one]), int(groups[other]), float(apart[one, other])))
        pool.join(int(groups[one]), int(groups[other]))
        live[other] = False
        apart[other, :] = apart[:, other] = np.inf
        others = np.flatnonzero(live)
        others = others[others != one]
        new = pool.apart(int(groups[one]), groups[others]) if len(others) else np.zeros(0)
        apart[np.minimum(one, others), np.maximum(one, others)] = new
    return joins
