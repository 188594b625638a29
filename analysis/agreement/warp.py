"""A monotone warp between two series of the same length: dynamic time warping with limits to its slope."""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray

# What a step may advance in both series. Each is a straight line: no moment is left out or stands still.
Steps = tuple[tuple[int, int], ...]
FREE: Steps = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1))
NEAR: Steps = ((1, 1), (3, 4), (4, 3))
# Per cell by which a step leaves the diagonal: a warp must gain more than this to be worth it.
PENALTY = 0.05


def warp_path(cost: FloatArray, steps: Steps) -> FloatArray:
    """Return the corners of the cheapest path from one corner of a square to the opposite one, shape (b, 2).

    Args:
        cost: (c, c), of a cell of the first series lying on a cell of the second.
        steps: that are allowed; (1, 1) is one of them.
    """
    size = len(cost)
    best = np.full((size + 1, size + 1), np.inf)
    best[0, 0] = 0.0
    taken = np.zeros((size + 1, size + 1), dtype=np.int8)
    along = [_along(cost, *step) for step in steps]
    for i in range(1, size + 1):
        for number, (a, b) in enumerate(steps):
            if i < a or size < b:
                continue
            reached = best[i - a, : size + 1 - b] + along[number][i, b:]
            better = reached < best[i, b:] - 1e-12
            best[i, b:][better] = reached[better]
            taken[i, b:][better] = number
    return _corners(taken, size, steps)


def _along(cost: FloatArray, a: int, b: int) -> FloatArray:
    """Return what the step (a, b) costs that ends at each corner, shape (c + 1, c + 1): all paths have equal weight."""
    size = len(cost)
    total = np.zeros((size + 1, size + 1))
    cells = max(a, b)
    for k in range(cells):
        back_a, back_b = k * a // cells, k * b // cells
        total[1 + back_a :, 1 + back_b :] += cost[: size - back_a, : size - back_b]
    weighted: FloatArray = total * ((a + b) / 2 / cells) + PENALTY * abs(a - b)
    return weighted


def _corners(taken: IntArray, size: int, steps: Steps) -> FloatArray:
    """Walk back from the last corner to the first."""
    at, corners = (size, size), [(size, size)]
    while at != (0, 0):
        a, b = steps[int(taken[at])]
        at = (at[0] - a, at[1] - b)
        corners.append(at)
    return np.array(corners[::-1], dtype=np.float64)
