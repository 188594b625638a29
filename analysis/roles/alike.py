"""Group threads by the functions on their stacks."""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray

# Threads are alike if their stacks overlap by this share.
ALIKE = 0.5
# Functions always on the stack of all threads do not distinguish them: a pool's start, a thread's first function.
ALWAYS = 0.95
# Most rows that are compared with each other; further rows are compared with the resulting groups.
MOST = 256


def alike(shares: FloatArray) -> list[list[int]]:
    """Return the rows of each group, the largest group first. shares: (t, f) of each row's samples with a function."""
    t = len(shares)
    if t < 2:
        return [[i] for i in range(t)]
    if t > MOST:
        return _grown(alike(shares[:MOST]), shares)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distance = squareform(1.0 - overlap(_telling(shares)), checks=False)
    label = fcluster(linkage(distance, "average"), 1.0 - ALIKE, "distance")
    groups = [np.flatnonzero(label == one).tolist() for one in np.unique(label)]
    return sorted(groups, key=lambda group: (-len(group), group))


def _grown(groups: list[list[int]], shares: FloatArray) -> list[list[int]]:
    """Add the other rows to groups: each to the group whose first row is most similar, or to a new one."""
    for row in range(MOST, len(shares)):
        like = overlap(shares[[row, *(group[0] for group in groups)]])[0, 1:]
        if like.max() >= ALIKE:
            groups[int(np.argmax(like))].append(row)
        else:
            groups.append([row])
    return sorted(groups, key=lambda group: (-len(group), group))


def overlap(shares: FloatArray) -> FloatArray:
    """Return the overlap of each two rows, (t, t): 0 for nothing in common, 1 for equal rows, also for empty ones."""
    low = np.array([np.minimum(row, shares).sum(axis=1) for row in shares])
    high = np.array([np.maximum(row, shares).sum(axis=1) for row in shares])
    found: FloatArray = np.divide(low, high, out=np.ones_like(low), where=high > 0)
    return found


def _telling(shares: FloatArray) -> FloatArray:
    """Return the columns that distinguish rows; all if none does."""
    telling = shares[:, (shares < ALWAYS).any(axis=0) & (shares > 0).any(axis=0)]
    return telling if telling.shape[1] else shares
