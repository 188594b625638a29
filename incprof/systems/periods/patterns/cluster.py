"""Clusters of instances under DTW with single linkage, with and without the full matrix of distances.

Both algorithms cut the same tree at the same height. All merges up to `floor` are made: the usual distance between
consecutive instances of a region. None above `ceiling` is: a mean alignment step of that share of the range of values.
In between, the tree is cut at its largest relative gap, if that gap is large enough. The clusters are then the
connected components of the pairs within the cut. A pair whose instances are already connected, or whose lower bound
exceeds the ceiling, need not be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.periods.patterns import dtw
from incprof.systems.periods.patterns.dtw import Pack
from incprof.systems.periods.patterns.pattern_result import PatternOptions


class Forest:
    """Disjoint sets of numbers, initially of one member each. Owns a list of n parents; a root is its own parent."""

    def __init__(self, count: int):
        self._parent = list(range(count))

    def root(self, number: int) -> int:
        """Return the representative of a number's set."""
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def merge(self, one: int, other: int) -> bool:
        """Join the sets of two numbers; return whether they were different sets. The lesser root represents both."""
        first, second = sorted((self.root(one), self.root(other)))
        self._parent[second] = first
        return first != second

    def roots(self) -> IntArray:
        """Return the representative of each number's set, its least member, (n,)."""
        return np.array([self.root(number) for number in range(len(self._parent))], dtype=np.int64)

    def parts(self) -> list[IntArray]:
        """Return the members of each set, ascending; sets are in the order of their least members."""
        roots = self.roots()
        order = np.argsort(roots, kind="stable")
        return [part for part in np.split(order, np.flatnonzero(np.diff(roots[order])) + 1) if len(part)]


# Mean step of DTW, as a share of the range of values, within which instances are the same (the paper's 1 %).
SAME = 0.01
# Differences slightly above the usual distance of consecutive instances are none, however little the instances scatter.
MORE = 1.25
CHUNK = 4096
# Limits so that no series takes hours: only merges of that many largest components are considered, and of two large
# components only that many pairs, spread evenly. Within the limits the result is exact.
MOST_PARTS = 128
MOST_SIDE, MOST_PAIRS = 2048, 1 << 22


@dataclass(frozen=True)
class Heights:
    """The range of distances at which the tree may be cut."""

    floor: float
    ceiling: float


def clusters(packed: Pack, follows: IntArray, options: PatternOptions) -> IntArray:
    """Return the cluster of each instance, numbered in order of their first instances, shape (q,).

    Args:
        packed: q instances.
        follows: (c, 2) pairs of consecutive instances.
        options: gap, ceiling, exact, threads.
    """
    near = dtw.distances(packed, follows[:, 0], follows[:, 1], threads=options.threads)
    heights = heights_of(packed, near, options)
    if len(packed) < 2:
        return np.zeros(len(packed), dtype=np.int64)
    if options.exact:
        return exact_clusters(packed, heights, options)
    forest = Forest(len(packed))
    for (first, second), distance in zip(follows.tolist(), near.tolist(), strict=True):
        if distance <= heights.floor:
            forest.merge(first, second)
    return fast_clusters(packed, forest, heights, options)


def heights_of(packed: Pack, near: FloatArray, options: PatternOptions) -> Heights:
    """Return floor and ceiling, from the distances of consecutive instances."""
    inside = np.concatenate([packed[index] for index in range(len(packed))]) if len(packed) else np.zeros(1)
    low, high = np.quantile(inside, [0.01, 0.99])
    if not high > low:
        low, high = inside.min(), inside.max()
    whole = float(high - low) * float(np.median(packed.length)) if len(packed) else 0.0
    usual = float(np.median(near)) if len(near) else 0.0
    scatter = 1.4826 * float(np.median(np.abs(near - usual))) if len(near) else 0.0
    floor = max(usual + 3 * scatter, MORE * usual, SAME * whole)
    return Heights(floor, max(options.ceiling * whole, floor))


def cut_of(merges: FloatArray, heights: Heights, gap: float) -> float:
    """Return the height of the last merge to make; merges: heights of all merges, in any order."""
    between = np.sort(merges[(merges > heights.floor) & (merges <= heights.ceiling)])
    if not len(between):
        return heights.floor
    steps = np.concatenate([[heights.floor], between])
    ratios = np.divide(between, steps[:-1], out=np.full(len(between), np.inf), where=steps[:-1] > 0)
    largest = int(ratios.argmax())
    return float(steps[largest]) if ratios[largest] >= gap else float(between[-1])


def exact_clusters(packed: Pack, heights: Heights, options: PatternOptions) -> IntArray:
    """Cut the dendrogram of all distances."""
    from scipy.cluster.hierarchy import fcluster, linkage  # half a second to import

    tree = linkage(dtw.matrix(packed, threads=options.threads), method="single")
    return numbered(fcluster(tree, cut_of(tree[:, 2], heights, options.gap), criterion="distance"))


def fast_clusters(packed: Pack, forest: Forest, heights: Heights, options: PatternOptions) -> IntArray:
    """Compute the same from the relevant merges: those between components within the floor, up to the ceiling."""
    _join_by_middles(packed, forest, heights.floor, options)
    parts = _largest_first(forest)[:MOST_PARTS]
    merges: list[tuple[float, int, int]] = []
    for one in range(len(parts)):
        for other in range(one + 1, len(parts)):
            least = _least(packed, parts[one], parts[other], heights.ceiling, options)
            if least <= heights.ceiling:
                merges.append((least, one, other))
    tree = Forest(len(parts))
    made = [merge for merge in sorted(merges) if tree.merge(merge[1], merge[2])]
    cut = cut_of(np.array([height for height, _, _ in made]), heights, options.gap)
    for height, one, other in made:
        if height <= cut:
            forest.merge(int(parts[one][0]), int(parts[other][0]))
    return numbered(forest.roots())


def _largest_first(forest: Forest) -> list[IntArray]:
    """Return the components by size, descending; those of equal size are in order of time."""
    return sorted(forest.parts(), key=lambda part: (-len(part), part[0]))


def _join_by_middles(packed: Pack, forest: Forest, floor: float, options: PatternOptions) -> None:
    """Join components whose middle instances lie within the floor: repeatedly the largest one left with all others."""
    parts = _largest_first(forest)
    for _ in range(MOST_PARTS):
        if len(parts) < 2:
            break
        middle = np.array([part[len(part) // 2] for part in parts])
        left, right = np.full(len(parts) - 1, middle[0]), middle[1:]
        close = dtw.distances(packed, left, right, limit=floor, threads=options.threads) <= floor
        for member in right[close].tolist():
            forest.merge(int(middle[0]), member)
        parts = [part for part, joined in zip(parts[1:], close.tolist(), strict=True) if not joined]


def _least(packed: Pack, one: IntArray, other: IntArray, ceiling: float, options: PatternOptions) -> float:
    """Return the least distance between two components, or inf if it exceeds the ceiling."""
    one, other = _at_most(one, MOST_PAIRS // min(len(other), MOST_SIDE)), _at_most(other, MOST_SIDE)
    left, right = np.repeat(one, len(other)), np.tile(other, len(one))
    bound = dtw.bounds(packed, left, right)
    order = np.argsort(bound, kind="stable")
    least, found = ceiling, np.inf
    at, size = 0, 64
    while at < len(order):
        chosen = order[at : at + size]
        chosen = chosen[bound[chosen] <= least]
        if not len(chosen):
            break
        distances = dtw.measured(packed, left[chosen], right[chosen], False, least, options.threads)
        found = min(found, float(distances.min()))
        least = min(least, found)
        at, size = at + size, min(size * 4, CHUNK)
    return found if found <= ceiling else np.inf


def _at_most(members: IntArray, most: int) -> IntArray:
    """Return the members, or `most` of them, spread evenly."""
    if len(members) <= most:
        return members
    return members[np.linspace(0, len(members) - 1, most).round().astype(np.int64)]


def numbered(labels: IntArray) -> IntArray:
    """Number labels in order of their first appearance."""
    _, first, of = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: IntArray = rank[of]
    return numbers
