"""DTW distances of instances, their representative pattern, and their clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incprof.analysis._native import native, pointer
from incprof.analysis.thread_pool import spread
from incprof.model import FloatArray, IntArray, by_first_appearance
from incprof.systems.periods.pattern_result import PatternOptions

# Kernels compute with finite numbers only: a distance from here on exceeds the limit.
INFINITE = 1e299
# Pairs per call: enough to keep a thread busy, few enough that threads end at about the same time.
PAIRS_AT_ONCE = 256


@dataclass(frozen=True)
class Pack:
    """Series of any lengths, back to back: series s is values[start[s] : start[s] + length[s]].

    Attributes:
        values: float64, all series.
        start: (n,) int64.
        length: (n,) int64.
    """

    values: FloatArray
    start: IntArray
    length: IntArray

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.start)

    def __getitem__(self, index: int) -> FloatArray:
        """Return one series, a view."""
        return self.values[int(self.start[index]) : int(self.start[index] + self.length[index])]

    def take(self, members: IntArray) -> Pack:
        """Return some of the series; their values are shared, not copied."""
        return Pack(self.values, self.start[members], self.length[members])


def pack(series: Sequence[FloatArray]) -> Pack:
    """Pack series, each of at least one finite value below 1e100."""
    length = np.array([len(one) for one in series], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    values = np.concatenate([np.zeros(0), *series]).astype(np.float64)
    return Pack(values, start, length)


def slices(x: FloatArray, ranges: IntArray) -> Pack:
    """Pack ranges, shape (q, 2), of one series without copying it."""
    values = np.ascontiguousarray(x, dtype=np.float64)
    start = np.ascontiguousarray(ranges[:, 0], dtype=np.int64)
    return Pack(values, start, np.ascontiguousarray(ranges[:, 1] - start, dtype=np.int64))


def distances(
    packed: Pack, left: IntArray, right: IntArray, *, squared: bool = False, limit: float = np.inf,
    threads: int | None = None,
) -> FloatArray:  # fmt: skip
    """Return the distance of each pair of series; inf where computation stopped because it must exceed `limit`.

    left, right: (p,) indices. Some distances above the limit may be returned exactly.
    """
    if limit < INFINITE and len(left):
        candidates = np.flatnonzero(bounds(packed, left, right, squared=squared) <= limit)
        values = np.full(len(left), np.inf)
        values[candidates] = measured(packed, left[candidates], right[candidates], squared, limit, threads)
        return values
    return measured(packed, left, right, squared, limit, threads)


def measured(
    packed: Pack, left: IntArray, right: IntArray, squared: bool, limit: float, threads: int | None
) -> FloatArray:
    """Return the distance of each pair without computing its lower bound first; inf where it exceeds the limit."""
    left, right = (np.ascontiguousarray(side, dtype=np.int32) for side in (left, right))
    out = np.empty(len(left))

    def work(first: int) -> None:
        part = slice(first, first + PAIRS_AT_ONCE)
        status = native().incprof_dtw_pairs(
            *pointers(packed), len(packed), pointer(left[part]), pointer(right[part]), len(out[part]),
            min(limit, INFINITE), int(squared), pointer(out[part]),
        )  # fmt: skip
        if status:
            raise MemoryError("no memory for time warping")

    spread(work, range(0, len(out), PAIRS_AT_ONCE), threads)
    out[out >= INFINITE] = np.inf
    return out


def bounds(packed: Pack, left: IntArray, right: IntArray, *, squared: bool = False) -> FloatArray:
    """Return a lower bound of each pair's distance, in linear time: Kim's, and Yi's for inner points."""
    left, right = (np.ascontiguousarray(side, dtype=np.int32) for side in (left, right))
    out = np.empty(len(left))
    if native().incprof_dtw_bounds(
        *pointers(packed), len(packed), pointer(left), pointer(right), len(left), int(squared), pointer(out)
    ):
        raise MemoryError("no memory for bounds of time warping")
    return out


def matrix(packed: Pack, *, threads: int | None = None) -> FloatArray:
    """Return the distances of all pairs in scipy's condensed order, shape (n (n - 1) / 2,)."""
    left, right = np.triu_indices(len(packed), 1)
    return distances(packed, left, right, threads=threads)


def pointers(packed: Pack) -> tuple[Any, Any, Any]:
    """Return C pointers to values, starts and lengths. The arrays must outlive the call."""
    return pointer(packed.values), pointer(packed.start), pointer(packed.length)


# Representative patterns: DTW barycentre averaging (Petitjean, Ketterlin and Gancarski 2011).
#
# Start and stop are the paper's. The method is local: WGSS never increases from one iteration to the next, but need
# not reach its global minimum.


# Instances per call. The sums of calls are added in order, so that the number of threads does not affect the result.
AVERAGED_AT_ONCE = 64
# Greatest number of cells of all alignments in the search for a medoid.
CELLS = 4e9


@dataclass(frozen=True)
class Average:
    """An averaged pattern.

    Attributes:
        values: (p,).
        history: Its WGSS before the first iteration and after each.
    """

    values: FloatArray
    history: tuple[float, ...]


def medoid(packed: Pack, options: PatternOptions) -> int:
    """Return the index of the instance with the least sum of DTW distances to the others.

    Candidates are all instances, or `medoid_sample` of them spread evenly; fewer if they are very long, to limit the
    time to seconds.
    """
    members = np.arange(len(packed))
    affordable = math.isqrt(int(2 * CELLS / float(np.median(packed.length)) ** 2)) + 2
    most = min(options.medoid_sample, affordable)
    if not options.exact and len(packed) > most > 0:
        members = np.unique(np.linspace(0, len(packed) - 1, most).round().astype(np.int64))
    few = packed.take(members)
    sums = np.zeros(len(few))
    left, right = np.triu_indices(len(few), 1)
    pair_distances = distances(few, left, right, threads=options.threads)
    np.add.at(sums, left, pair_distances)
    np.add.at(sums, right, pair_distances)
    return int(members[sums.argmin()])


def average(packed: Pack, start: FloatArray, options: PatternOptions) -> Average:
    """Refine `start` until `iterations` are done, or `patience` in a row have lowered WGSS by less than `decrease`."""
    pattern = start.copy()
    history: list[float] = []
    slow = 0
    while True:
        refined, distances = fast_step(packed, pattern, options.threads)
        history.append(float(distances.sum()))
        if len(history) > 1:
            before, now = history[-2:]
            slow = slow + 1 if before - now < options.decrease * before or now == 0 else 0
        if len(history) > options.iterations or slow >= options.patience or history[-1] == 0:
            return Average(pattern, tuple(history))
        pattern = refined


def wgss(packed: Pack, pattern: FloatArray, *, threads: int | None = None) -> float:
    """Return the sum of DTW2 distances between a pattern and the instances."""
    both = pack([pattern, *(packed[index] for index in range(len(packed)))])
    right = np.arange(1, len(both))
    return float(distances(both, np.zeros(len(right), dtype=np.int64), right, squared=True, threads=threads).sum())


def fast_step(packed: Pack, pattern: FloatArray, threads: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the pattern after one iteration, and the DTW2 of each instance from the pattern before it, (q,)."""
    points, count = len(pattern), len(packed)
    firsts = range(0, count, AVERAGED_AT_ONCE)
    sums, counts = np.zeros((len(firsts), points)), np.zeros((len(firsts), points))
    out = np.zeros(count)

    def work(number: int) -> None:
        part = packed.take(slice_of(number * AVERAGED_AT_ONCE, min((number + 1) * AVERAGED_AT_ONCE, count)))
        if native().incprof_dba_step(
            pointer(pattern), points, *pointers(part), len(part),
            pointer(sums[number]), pointer(counts[number]), pointer(out[number * AVERAGED_AT_ONCE :]),
        ):  # fmt: skip
            raise MemoryError("no memory for averaging")

    spread(work, range(len(firsts)), threads)
    return sums.sum(axis=0) / counts.sum(axis=0), out


def slice_of(start: int, end: int) -> IntArray:
    """Return the indices start .. end - 1."""
    return np.arange(start, end, dtype=np.int64)


# Clusters of instances under DTW with single linkage, with and without the full matrix of distances.
#
# Both algorithms cut the same tree at the same height. All merges up to `floor` are made: the usual distance between
# consecutive instances of a region. None above `ceiling` is: a mean alignment step of that share of the range of
# values. In between, the tree is cut at its largest relative gap, if that gap is large enough. The clusters are then
# the connected components of the pairs within the cut. A pair whose instances are already connected, or whose lower
# bound exceeds the ceiling, need not be measured.


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
CLUSTERED_AT_ONCE = 4096
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
    consecutive = distances(packed, follows[:, 0], follows[:, 1], threads=options.threads)
    heights = heights_of(packed, consecutive, options)
    if len(packed) < 2:
        return np.zeros(len(packed), dtype=np.int64)
    if options.exact:
        return exact_clusters(packed, heights, options)
    forest = Forest(len(packed))
    for (first, second), distance in zip(follows.tolist(), consecutive.tolist(), strict=True):
        if distance <= heights.floor:
            forest.merge(first, second)
    return fast_clusters(packed, forest, heights, options)


def heights_of(packed: Pack, consecutive: FloatArray, options: PatternOptions) -> Heights:
    """Return floor and ceiling, from the distances of consecutive instances."""
    inside = np.concatenate([packed[index] for index in range(len(packed))]) if len(packed) else np.zeros(1)
    low, high = np.quantile(inside, [0.01, 0.99])
    if not high > low:
        low, high = inside.min(), inside.max()
    scale = float(high - low) * float(np.median(packed.length)) if len(packed) else 0.0
    usual = float(np.median(consecutive)) if len(consecutive) else 0.0
    scatter = 1.4826 * float(np.median(np.abs(consecutive - usual))) if len(consecutive) else 0.0
    floor = max(usual + 3 * scatter, MORE * usual, SAME * scale)
    return Heights(floor, max(options.ceiling * scale, floor))


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

    tree = linkage(matrix(packed, threads=options.threads), method="single")
    return by_first_appearance(fcluster(tree, cut_of(tree[:, 2], heights, options.gap), criterion="distance"))


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
    merged = [merge for merge in sorted(merges) if tree.merge(merge[1], merge[2])]
    cut = cut_of(np.array([height for height, _, _ in merged]), heights, options.gap)
    for height, one, other in merged:
        if height <= cut:
            forest.merge(int(parts[one][0]), int(parts[other][0]))
    return by_first_appearance(forest.roots())


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
        close = distances(packed, left, right, limit=floor, threads=options.threads) <= floor
        for member in right[close].tolist():
            forest.merge(int(middle[0]), member)
        parts = [part for part, joined in zip(parts[1:], close.tolist(), strict=True) if not joined]


def _least(packed: Pack, one: IntArray, other: IntArray, ceiling: float, options: PatternOptions) -> float:
    """Return the least distance between two components, or inf if it exceeds the ceiling."""
    one, other = _at_most(one, MOST_PAIRS // min(len(other), MOST_SIDE)), _at_most(other, MOST_SIDE)
    left, right = np.repeat(one, len(other)), np.tile(other, len(one))
    bound = bounds(packed, left, right)
    order = np.argsort(bound, kind="stable")
    least, nearest = ceiling, np.inf
    at, size = 0, 64
    while at < len(order):
        batch = order[at : at + size]
        batch = batch[bound[batch] <= least]
        if not len(batch):
            break
        distances = measured(packed, left[batch], right[batch], False, least, options.threads)
        nearest = min(nearest, float(distances.min()))
        least = min(least, nearest)
        at, size = at + size, min(size * 4, CLUSTERED_AT_ONCE)
    return nearest if nearest <= ceiling else np.inf


def _at_most(members: IntArray, most: int) -> IntArray:
    """Return the members, or `most` of them, spread evenly."""
    if len(members) <= most:
        return members
    return members[np.linspace(0, len(members) - 1, most).round().astype(np.int64)]
