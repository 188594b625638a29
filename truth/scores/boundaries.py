"""Changes of phase: their positions in a row of labels, and how many were found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from incprof.model import IntArray

TOLERANCE = 1.0
Range = tuple[float, float]


def boundaries(labels: IntArray) -> list[Range]:
    """Return the changes of phase in order, in units of intervals since the first one's start.

    A change lies between the last interval of one phase and the first of the next; unassigned intervals (-1) between
    them make it a range. Leaving a phase and returning to it through -1 is no change.
    """
    at = np.flatnonzero(labels >= 0).tolist()
    return [(i + 1.0, float(j)) for i, j in pairwise(at) if labels[i] != labels[j]]


def boundary_f1(truth: IntArray, found: IntArray, tolerance: float = TOLERANCE) -> float:
    """Return the F1 score of the changes of phase; 1 where there are none in either.

    A found change counts when its middle is at most `tolerance` intervals outside the range of a true one; each true
    change counts once.
    """
    wanted = boundaries(truth)
    got = [(low + high) / 2 for low, high in boundaries(found)]
    if not wanted and not got:
        return 1.0
    hits = j = 0
    for low, high in wanted:
        # Ranges do not overlap and both lists ascend: a change too early for this one is too early for all later ones.
        while j < len(got) and got[j] < low - tolerance:
            j += 1
        if j < len(got) and got[j] <= high + tolerance:
            hits += 1
            j += 1
    return 2.0 * hits / (len(wanted) + len(got))


def hausdorff(truth: IntArray, found: IntArray) -> float | None:
    """Return the largest distance from a change, true or found, to the nearest one of the other row, in intervals.

    None where one of the rows has no change, 0 where neither has one.
    """
    a = np.array([sum(r) / 2 for r in boundaries(truth)])
    b = np.array([sum(r) / 2 for r in boundaries(found)])
    if not len(a) and not len(b):
        return 0.0
    if not len(a) or not len(b):
        return None
    return max(_farthest(a, b), _farthest(b, a))


def _farthest(points: np.ndarray[tuple[int], np.dtype[np.float64]], others: np.ndarray) -> float:
    """Return the largest distance of a point to the nearest of `others`; both ascend."""
    right = np.searchsorted(others, points).clip(0, len(others) - 1)
    left = (right - 1).clip(0)
    return float(np.minimum(abs(points - others[left]), abs(points - others[right])).max())
