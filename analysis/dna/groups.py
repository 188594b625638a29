"""Which stretches of rows are the same state, and so how many states there are."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from incprof.analysis.dna.changes import AGAIN
from incprof.model import FloatArray, IntArray

# More stretches are not compared with each other, but with the groups that these make: the longest ones.
MOST = 3000
MOST_STATES = 40
# Rows of a stretch that may be a state of its own.
LEAST_ROWS = 3


def group(means: FloatArray, rows: IntArray) -> IntArray:
    """Number the groups of stretches from 0.

    Stretches are joined by Ward's criterion; the number of groups is that of the least BIC of a mixture in which the
    stretches of a group scatter about its mean by the noise, by `AGAIN`, and by what they are seen to.

    Args:
        means: (stretches, counters) in coordinates in which rows of one state scatter by 1, independently.
        rows: (stretches,) each of them is long.
    """
    large = np.flatnonzero(rows >= min(LEAST_ROWS, int(rows.max())))
    large = np.sort(large[np.argsort(-rows[large], kind="stable")[:MOST]])
    points, weight = means[large] / AGAIN, rows[large].astype(np.float64)
    if len(large) == 1:
        return np.zeros(len(means), dtype=np.int64)
    tree = linkage(points, "ward")
    own = 1 / AGAIN**2 / rows[large][:, None]
    best, least = np.zeros(len(large), dtype=np.int64), np.inf
    # Cut at heights: before SciPy 1.15 "maxclust" finds one group in a few points, whatever is asked for.
    heights = [0.0, *tree[:, 2]][::-1]
    for height in heights[:MOST_STATES]:
        found = fcluster(tree, height, "distance") - 1
        cost = _bic(points, own, found, weight)
        if cost < least:
            best, least = found, cost
    centres = np.array(
        [np.average(points[best == g], axis=0, weights=weight[best == g]) for g in range(best.max() + 1)]
    )
    distance = ((means[:, None] / AGAIN - centres) ** 2).sum(axis=2)
    return np.asarray(distance.argmin(axis=1))


def _bic(points: FloatArray, own: FloatArray, found: IntArray, weight: FloatArray) -> float:
    """Badness of a grouping: how badly the groups explain the points, and how many numbers they are.

    own: variance that the noise gives the mean of each stretch (stretches, counters).
    """
    number, counters = int(found.max()) + 1, points.shape[1]
    sums = np.zeros((number, counters))
    np.add.at(sums, found, points * weight[:, None])
    centre = sums / np.bincount(found, weight)[:, None]
    apart = (points - centre[found]) ** 2
    scatter = np.maximum(1.0, (apart.sum(axis=0)) / max(len(points) - number, 1))
    variance = scatter + own
    fit = float((apart / variance + np.log(variance)).sum())
    return fit + float(number * (counters + 1) * np.log(len(points)))
