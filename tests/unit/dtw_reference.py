"""Time warping by definition, in Python: what the kernels are checked against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incprof.model import FloatArray
from incprof.systems.periods.dtw import Pack


def by_definition(a: NDArray[np.float64], b: NDArray[np.float64], *, squared: bool = False) -> float:
    """The distance of two series."""
    row = np.full(len(b) + 1, np.inf)
    row[0] = 0
    for value in a:
        cost = (value - b) ** 2 if squared else np.abs(value - b)
        before, row = row, np.full(len(b) + 1, np.inf)
        for j, step in enumerate(cost):
            row[j + 1] = step + min(before[j], before[j + 1], row[j])
    return float(row[-1])


def plain_step(packed: Pack, pattern: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The pattern after one iteration of averaging, and the DTW2 of each instance from the pattern before it."""
    sums, counts, out = np.zeros(len(pattern)), np.zeros(len(pattern)), []
    for index in range(len(packed)):
        values = packed[index]
        cost = _costs(pattern, values)
        i, j = len(pattern) - 1, len(values) - 1
        out.append(cost[i + 1, j + 1])
        while i >= 0 and j >= 0:
            sums[i] += values[j]
            counts[i] += 1
            up, left, diagonal = cost[i, j + 1], cost[i + 1, j], cost[i, j]
            i, j = (i - 1, j - 1) if diagonal <= min(up, left) else (i - 1, j) if up <= left else (i, j - 1)
    return sums / counts, np.array(out)


def _costs(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the accumulated squared costs with a margin, shape (len(a) + 1, len(b) + 1)."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0
    square = (a[:, None] - b) ** 2
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost[i, j] = square[i - 1, j - 1] + min(cost[i - 1, j - 1], cost[i - 1, j], cost[i, j - 1])
    return cost
