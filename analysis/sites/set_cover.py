"""Weighted partial set cover: the cheapest sets that cover enough of some elements.

The exact answer comes from an integer program (HiGHS, through scipy) if there are few candidates; else from a greedy
algorithm, whose weight is at most 1 + ln(elements) times the least. m elements, c candidates.
"""

from __future__ import annotations

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray

EXACT = 30
# Elements that the same candidates cover are merged for the program; more kinds of them than this take it too long.
MOST_KINDS = 100
MOST_NODES = 100


def cover(covers: BoolArray, weight: FloatArray, need: int) -> IntArray:
    """Return the candidates that cover at least `need` elements with the least weight, ascending.

    If fewer can be covered, all of these are. Unnecessary candidates are left out.

    Args:
        covers: (m, c) whether a candidate covers an element.
        weight: (c,) positive.
        need: number of elements to be covered.
    """
    if not covers.size:
        return np.zeros(0, dtype=np.int64)
    kinds, count = np.unique(covers, axis=0, return_counts=True)
    some = kinds.any(axis=1)
    kinds, count = kinds[some], count[some]
    need = min(need, int(count.sum()))
    if need <= 0:
        return np.zeros(0, dtype=np.int64)
    if covers.shape[1] <= EXACT and len(kinds) <= MOST_KINDS:
        found = _exact(kinds, count, weight, need)
        if found is not None:
            return found
    return _greedy(kinds, count, weight, need)


def _exact(kinds: BoolArray, count: IntArray, weight: FloatArray, need: int) -> IntArray | None:
    """Solve the integer program: x marks the chosen candidates, y the kinds of elements that they cover."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # here: slow to import, and seldom needed

    elements, candidates = kinds.shape
    # y <= sum of the x that cover it; the counts of the covered kinds add up to at least `need`.
    linked = LinearConstraint(np.hstack([kinds.astype(np.float64), -np.eye(elements)]), lb=0.0)
    enough = LinearConstraint(np.concatenate([np.zeros(candidates), count])[None, :], lb=float(need))
    # Equal weights are distinguished by position, so that the answer is the same everywhere.
    scaled = weight / weight.max() * (1.0 + 1e-7 * np.arange(candidates))
    found = milp(
        np.concatenate([scaled, np.zeros(elements)]),
        constraints=[linked, enough],
        # All are integers: with other variables HiGHS may write a line to standard output.
        integrality=np.ones(candidates + elements),
        bounds=Bounds(0.0, 1.0),
        options={"node_limit": MOST_NODES},
    )
    return None if found.x is None or found.status != 0 else np.flatnonzero(found.x[:candidates] > 0.5)


def _greedy(kinds: BoolArray, count: IntArray, weight: FloatArray, need: int) -> IntArray:
    """Take the candidate that covers most per weight until enough is covered; then drop unnecessary ones."""
    chosen: list[int] = []
    left, done = count.astype(np.float64), 0.0
    while done < need:
        gain = np.minimum(left @ kinds, need - done)
        best = int(np.argmax(np.round(gain / weight, 12)))
        chosen.append(best)
        left = np.where(kinds[:, best], 0.0, left)
        done = float(count.sum() - left.sum())
    for candidate in sorted(chosen, key=lambda c: (-weight[c], c)):
        others = [c for c in chosen if c != candidate]
        if count[kinds[:, others].any(axis=1)].sum() >= need:
            chosen = others
    return np.array(sorted(chosen), dtype=np.int64)
