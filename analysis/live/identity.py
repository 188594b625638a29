"""Phases keep their numbers from one fit of a running job to the next, so that colours do not jump."""

from __future__ import annotations

import numpy as np

from incprof.analysis.live.mixes import Mix
from incprof.analysis.live.model import PhaseModel
from incprof.model import IntArray

# Two phases are the same when they have this part of the smaller one's intervals in common.
COMMON = 0.3


def identities(before: IntArray, after: IntArray, rows: list[Mix], model: PhaseModel, following: int) -> IntArray:
    """Return the id of each phase of a new fit, (k,).

    Args:
        before: (n,) ids of the intervals so far, negative for none.
        after: (n,) their labels 0..k-1 in the new fit, negative for none.
        rows: their mixes, (n,).
        model: the phases so far; one that has no interval here may be back.
        following: the next id that nobody has had.
    """
    k = int(after.max(initial=-1)) + 1
    old = np.unique(before[before >= 0])
    common = np.array([[np.count_nonzero((before == i) & (after == j)) for j in range(k)] for i in old.tolist()])
    ids = np.full(k, -1, dtype=np.int64)
    if common.size:
        from scipy.optimize import linear_sum_assignment  # here: a live view begins without it, beside somebody's job

        for i, j in zip(*linear_sum_assignment(common, maximize=True), strict=True):
            least = min(np.count_nonzero(before == old[i]), np.count_nonzero(after == j))
            if common[i, j] >= max(COMMON * least, 1):
                ids[j] = old[i]
    for j in np.flatnonzero(ids < 0).tolist():
        back = _known_before(model, [rows[i] for i in np.flatnonzero(after == j).tolist()])
        if back is not None and back not in ids and back not in old:
            ids[j] = back
        else:
            ids[j] = following
            following += 1
    return ids


def _known_before(model: PhaseModel, rows: list[Mix]) -> int | None:
    """Return the phase of the model that more than half of some intervals fit into."""
    labels = [model.label(row) for row in rows]
    best = max(set(labels), key=lambda label: (labels.count(label), label), default=-1)
    return best if best >= 0 and 2 * labels.count(best) > len(labels) else None
