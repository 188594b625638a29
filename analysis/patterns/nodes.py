"""Whether several nodes of one run show the same pattern: the paper's 1 % rule (section IV-B)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from incprof.analysis.patterns import dtw
from incprof.analysis.patterns.results import Patterns
from incprof.analysis.patterns.shapes import lay_over
from incprof.model import FloatArray

# Mean step of the alignment, as a share of the mean of both patterns, up to which they are the same.
SAME = 0.01
# Turns around that of the least Euclidean distance, as a share of the period, among which that of the least DTW is.
AROUND = 0.03


@dataclass(frozen=True)
class Agreement:
    """Two series by number, the mean step of the DTW alignment of their foremost patterns, and the mean of both."""

    first: int
    second: int
    step: float
    mean: float

    @property
    def same(self) -> bool:
        """Whether the mean step is at most 1 % of the mean."""
        return self.step <= SAME * abs(self.mean)


def agreements(found: list[Patterns]) -> list[Agreement]:
    """Compare the foremost patterns of all pairs of series that have one.

    A region's instances may be cut anywhere; so a pattern is first turned until it lies as well as it can on the other.
    """
    some = [(number, result.patterns[0].values) for number, result in enumerate(found) if result.patterns]
    out = []
    for (first, one), (second, other) in combinations(some, 2):
        step = mean_step(one, turned(one, other))
        out.append(Agreement(first, second, step, float(np.concatenate([one, other]).mean())))
    return out


def turned(pattern: FloatArray, other: FloatArray) -> FloatArray:
    """Return the other pattern begun where it is nearest to the first one under DTW, which ties begin to begin."""
    middle, reach = lay_over(pattern, other)[1], int(AROUND * len(other)) + 1
    turns = sorted(range(middle - reach, middle + reach + 1), key=lambda turn: abs(turn - middle))
    packed = dtw.pack([pattern, *(np.roll(other, -turn) for turn in turns)])
    right = np.arange(1, len(packed))
    return packed[1 + int(dtw.distances(packed, np.zeros_like(right), right).argmin())]


def mean_step(a: FloatArray, b: FloatArray) -> float:
    """Return DTW(a, b) over the number of pairs that its alignment ties; of alignments as good, the one with fewest."""
    rows, columns = len(a), len(b)
    # By diagonals, on which no cell depends on another: index i of a diagonal is row i.
    before: tuple[FloatArray, FloatArray] = (np.full(rows + 1, np.inf), np.full(rows + 1, np.inf))
    pairs = (np.zeros(rows + 1), np.zeros(rows + 1))
    total = steps = np.inf
    for diagonal in range(rows + columns - 1):
        low, high = max(0, diagonal - columns + 1), min(rows, diagonal + 1)
        i = np.arange(low, high)
        cost = np.abs(a[i] - b[diagonal - i])
        # Row i of a diagonal is kept at i + 1: left is row i of the last one, up row i - 1 of it.
        choice = np.stack([before[0][i], before[1][i], before[1][i + 1]])
        number = np.stack([pairs[0][i], pairs[1][i], pairs[1][i + 1]])
        if diagonal == 0:
            choice[0] = 0.0
        best = np.lexsort((number.T, choice.T), axis=1)[:, 0] if len(i) else np.zeros(0, dtype=np.int64)
        at = np.arange(len(i))
        now, count = np.full(rows + 1, np.inf), np.zeros(rows + 1)
        now[i + 1] = cost + choice[best, at]
        count[i + 1] = number[best, at] + 1
        before, pairs = (before[1], now), (pairs[1], count)
        total, steps = now[rows], count[rows]
    return float(total / steps)
