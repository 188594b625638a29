"""Test whether several nodes of one run have the same pattern: the paper's 1 % rule (section IV-B)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from incprof.model import FloatArray
from incprof.systems.periods.patterns import dtw
from incprof.systems.periods.patterns.pattern_result import Patterns
from incprof.systems.periods.patterns.shapes import lay_over

# Two patterns are the same up to this mean alignment step, as a share of the mean of both.
SAME = 0.01
# The rotation with the least DTW is searched within this share of the period around that of least Euclidean distance.
AROUND = 0.03


@dataclass(frozen=True)
class Agreement:
    """Two series, by number.

    Attributes:
        first: Number of the first series.
        second: Number of the second series.
        step: Mean step of the DTW alignment of their foremost patterns, in the unit of the series.
        mean: Mean of both patterns.
    """

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

    Instances may be cut at any point of the period; so one pattern is first rotated to match the other.
    """
    some = [(number, result.patterns[0].values) for number, result in enumerate(found) if result.patterns]
    out = []
    for (first, one), (second, other) in combinations(some, 2):
        step = mean_step(one, turned(one, other))
        out.append(Agreement(first, second, step, float(np.concatenate([one, other]).mean())))
    return out


def turned(pattern: FloatArray, other: FloatArray) -> FloatArray:
    """Return the other pattern, rotated to the least DTW from the first one, where DTW aligns their begins."""
    middle, reach = lay_over(pattern, other)[1], int(AROUND * len(other)) + 1
    turns = sorted(range(middle - reach, middle + reach + 1), key=lambda turn: abs(turn - middle))
    packed = dtw.pack([pattern, *(np.roll(other, -turn) for turn in turns)])
    right = np.arange(1, len(packed))
    return packed[1 + int(dtw.distances(packed, np.zeros_like(right), right).argmin())]


def mean_step(a: FloatArray, b: FloatArray) -> float:
    """Return DTW(a, b) per aligned pair; of equally good alignments, that with the fewest pairs is used."""
    rows, columns = len(a), len(b)
    # By anti-diagonals, whose cells are independent: index i of a diagonal is row i.
    before: tuple[FloatArray, FloatArray] = (np.full(rows + 1, np.inf), np.full(rows + 1, np.inf))
    pairs = (np.zeros(rows + 1), np.zeros(rows + 1))
    total = steps = np.inf
    for diagonal in range(rows + columns - 1):
        low, high = max(0, diagonal - columns + 1), min(rows, diagonal + 1)
        i = np.arange(low, high)
        cost = np.abs(a[i] - b[diagonal - i])
        # Row i of a diagonal is stored at i + 1: the left cell is row i of the last one, the cell above row i - 1.
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
