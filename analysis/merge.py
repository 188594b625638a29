"""Clusters that are one phase: k-means splits a cloud in halves, and splits "called" from "still running"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incprof.analysis.kmeans import by_first_appearance
from incprof.model import FloatArray, IntArray

# Halves of a normal cloud are 2.7 apart by this measure, halves of an even one 3.5.
NO_GAP = 3.6
# Phases with the same site functions are one when this much of their time goes to the same functions.
SAME_TIME = 0.6


def separation(a: FloatArray, b: FloatArray) -> float:
    """Return Ashman's D of two clusters (rows) along the line between their centers; infinite for two points."""
    line = b.mean(axis=0) - a.mean(axis=0)
    length = float(np.sqrt(line @ line))
    if length == 0.0:
        return 0.0
    spread = float(np.var(a @ (line / length)) + np.var(b @ (line / length)))
    return np.sqrt(2.0) * length / np.sqrt(spread) if spread > 0 else np.inf


def overlap(a: FloatArray, b: FloatArray) -> float:
    """Return the share of time that two clusters spend in the same functions, 0..1, from their mean shares."""
    return float(np.minimum(a.mean(axis=0), b.mean(axis=0)).sum())


def merge_clusters(x: FloatArray, labels: IntArray, sites: Callable[[IntArray], frozenset[int]]) -> IntArray:
    """Join clusters until each pair has a gap between them and differs in its sites or in its time.

    Args:
        x: (n, d) shares.
        labels: (n,) clusters 0..k-1, -1 for intervals that belong to none.
        sites: the site functions that would be chosen for some intervals.

    Returns:
        Labels (n,) renumbered in order of first appearance.
    """
    labels = by_first_appearance(labels)
    while True:
        pair = _most_alike(x, labels, sites)
        if pair is None:
            return labels
        labels = by_first_appearance(np.where(labels == pair[1], pair[0], labels))


def _most_alike(x: FloatArray, labels: IntArray, sites: Callable[[IntArray], frozenset[int]]) -> tuple[int, int] | None:
    """Return the least separated pair of clusters that should be joined, or None."""
    members = [np.flatnonzero(labels == c) for c in range(int(labels.max(initial=-1)) + 1)]
    chosen = [sites(m) for m in members]
    found = []
    for a in range(len(members)):
        for b in range(a + 1, len(members)):
            gap = separation(x[members[a]], x[members[b]])
            same = bool(chosen[a]) and chosen[a] == chosen[b]
            if gap < NO_GAP or (same and overlap(x[members[a]], x[members[b]]) >= SAME_TIME):
                found.append((gap, a, b))
    return min(found)[1:] if found else None
