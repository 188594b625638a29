"""Time warping by definition, in Python: what the kernels are checked against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
