"""Changes of phase: their positions in a row of labels, and how many were found."""

from __future__ import annotations

from collections.abc import Sequence
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


def boundary_f1(truth: IntArray, labels: IntArray, tolerance: float = TOLERANCE) -> float:
    """Return the F1 score of the changes of phase; 1 where there are none in either.

    A found change counts when its middle is at most `tolerance` intervals outside the range of a true one; each true
    change counts once.
    """
    return change_f1(boundaries(truth), [(low + high) / 2 for low, high in boundaries(labels)], tolerance)


def change_f1(true: Sequence[Range], changes: Sequence[float], tolerance: float) -> float:
    """Return the F1 score of changes, each of which may match one true range; 1 where there are none in either."""
    if not true and not changes:
        return 1.0
    hits = j = 0
    for low, high in true:
        # Ranges do not overlap and both lists ascend: a change too early for this one is too early for all later ones.
        while j < len(changes) and changes[j] < low - tolerance:
            j += 1
        if j < len(changes) and changes[j] <= high + tolerance:
            hits += 1
            j += 1
    return 2.0 * hits / (len(true) + len(changes))
