"""Where a short series lies in a longer one: time warping that may begin and end anywhere in the longer one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray


@dataclass(frozen=True)
class Place:
    """The part of a longer series that a short one is most like.

    begin, end: its range, half open. distance: DTW2, the sum of squared differences along the alignment.
    """

    begin: int
    end: int
    distance: float


def place_in(short: FloatArray, longer: FloatArray) -> Place:
    """Return the part of the longer series with the least DTW2 from all of the short one, the first of equal ones.

    Args:
        short: (m,), m at least 1.
        longer: (n,), n at least 1. The alignment begins and ends anywhere in it (Müller 2007, subsequence DTW).
    """
    rows, columns = len(short), len(longer)
    # By diagonals, on which no cell depends on another. Row i is kept at i + 1; row 0 may begin in any column.
    cost = [np.full(rows + 1, np.inf) for _ in range(2)]
    begin = [np.zeros(rows + 1, dtype=np.int64) for _ in range(2)]
    least, place = np.inf, (0, 1)
    for diagonal in range(rows + columns - 1):
        i = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        j = diagonal - i
        # The diagonal before in its column, the row before, the column before.
        choice = np.stack([cost[0][i], cost[1][i], cost[1][i + 1]])
        since = np.stack([begin[0][i], begin[1][i], begin[1][i + 1]])
        best = choice.argmin(axis=0)
        at = np.arange(len(i))
        before, started = choice[best, at], since[best, at]
        before[i == 0], started[i == 0] = 0.0, j[i == 0]
        now, starts = np.full(rows + 1, np.inf), np.zeros(rows + 1, dtype=np.int64)
        now[i + 1] = (short[i] - longer[j]) ** 2 + before
        starts[i + 1] = started
        cost, begin = [cost[1], now], [begin[1], starts]
        if diagonal >= rows - 1 and now[rows] < least:
            least, place = float(now[rows]), (int(starts[rows]), diagonal - rows + 2)
    return Place(*place, least)
