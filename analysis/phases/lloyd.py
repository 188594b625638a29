"""Lloyd's k-means from k-means++ starts: the labels of scikit-learn's KMeans, which takes two seconds to import.

Draws, sums and products come in the order of scikit-learn, because the last bit of a distance decides between centers
that are equally far away, and rows of few ticks often are. n rows, d columns, k clusters.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.sparse import csc_array

from incprof.model import FloatArray, IntArray

# scikit-learn's max_iter. Of 1 914 runs on drawn profiles none took more than 34.
MOST_STEPS = 300
# scikit-learn's tol: a step that moves all centers together by less than this part of the mean variance of a column is
# the last one.
TOLERANCE = 1e-4
# scikit-learn's chunk, rows whose distances are worked out together: how BLAS rounds depends on how many there are.
TOGETHER = 256
# Sixteen starts of k = 16 take 976.
MOST_DRAWS = 1024


def k_means(
    x: FloatArray, k: int, *, seed: int, starts: int = 1, centers: FloatArray | None = None
) -> tuple[float, IntArray]:
    """Cluster the rows of x (n, d); n is at least k.

    Args:
        x: what to cluster.
        k: clusters, at least two.
        seed: of the draws, of which there are enough for k = 16 and 16 starts.
        starts: of which the best counts.
        centers: (k, d), a start that is not drawn.

    Returns:
        Inertia, and labels 0..k-1, (n,), of which some may have no row.
    """
    least = float(x.var(axis=0).mean()) * TOLERANCE
    mean = x.mean(axis=0)
    x = np.ascontiguousarray(x - mean)
    inertia, labels = np.inf, np.zeros(0, dtype=np.int64)
    for draws in _uniform(seed)[: starts * (1 + (k - 1) * (2 + int(np.log(k))))].reshape(starts, -1):
        begin = _plus_plus(x, k, draws) if centers is None else centers - mean
        found, groups = _lloyd(x, np.ascontiguousarray(begin), least)
        if not len(labels) or (found < inertia and not _same(groups, labels, k)):
            inertia, labels = found, groups
    return inertia, labels


@lru_cache(maxsize=64)
def _uniform(seed: int) -> FloatArray:
    """Return the first draws in 0..1 from a seed. To set a generator up takes longer than all that is drawn of it."""
    return np.random.RandomState(seed).random_sample(MOST_DRAWS)


def _plus_plus(x: FloatArray, k: int, draws: FloatArray) -> FloatArray:
    """Draw centers (k, d): rows far from those before, each the best of a few (Arthur and Vassilvitskii 2007).

    draws: uniform in 0..1, one for the first center and as many as there are tries for each of the others.
    """
    n = len(x)
    ones, squares = np.ones(n), np.einsum("ij,ij->i", x, x)
    shares = np.cumsum(ones / n)
    chosen = [int(np.searchsorted(shares / shares[-1], draws[0], side="right"))]
    nearest = _squared_distances(x[chosen], x, squares)
    potential = nearest @ ones
    for tries in draws[1:].reshape(k - 1, -1):
        candidates = np.minimum(np.searchsorted(np.cumsum(nearest), tries * potential), n - 1)
        closer = np.minimum(nearest, _squared_distances(x[candidates], x, squares))
        potentials = closer @ ones[:, None]
        best = int(np.argmin(potentials))
        chosen.append(int(candidates[best]))
        nearest, potential = closer[best], potentials[best]
    return x[chosen]


def _squared_distances(centers: FloatArray, x: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the squared distance of each center (m, d) to each row of x (n, d) of known squares (n,): (m, n)."""
    product: FloatArray = -2 * (centers @ x.T)
    product += np.einsum("ij,ij->i", centers, centers)[:, None]
    product += squares
    return np.maximum(product, 0.0, out=product)


def _lloyd(x: FloatArray, centers: FloatArray, least: float) -> tuple[float, IntArray]:
    """Move centers (k, d) to the means of the rows nearest to them until nothing moves; inertia and labels (n,)."""
    n = len(x)
    before = np.full(n, -1)
    # Which row is in which cluster, (k, n). Its product with x adds row after row; numpy's sums have another order.
    ends = np.arange(n + 1, dtype=np.int32)
    member = csc_array((np.ones(n), np.zeros(n, dtype=np.int32), ends), shape=(len(centers), n))
    for _ in range(MOST_STEPS):
        labels = _nearest(x, centers)
        member.indices[:] = labels
        moved = _means(x, labels, centers, member @ x)
        shift = float(((moved - centers) ** 2).sum())
        centers = moved
        if np.array_equal(labels, before):
            break
        before = labels
        if shift <= least:
            labels = _nearest(x, centers)
            break
    else:
        labels = _nearest(x, centers)
    return _inertia(x, centers, labels), labels


def _nearest(x: FloatArray, centers: FloatArray) -> IntArray:
    """Return the nearest center of each row, of several the first: (n,)."""
    (n, d), k = x.shape, len(centers)
    distance, opposite = np.empty((n, k)), (-2.0 * centers).T
    whole = n // TOGETHER
    rows = whole * TOGETHER
    np.matmul(x[:rows].reshape(whole, TOGETHER, d), opposite, out=distance[:rows].reshape(whole, TOGETHER, k))
    np.matmul(x[rows:], opposite, out=distance[rows:])
    distance += np.einsum("ij,ij->i", centers, centers)
    found: IntArray = np.argmin(distance, axis=1)
    return found


def _means(x: FloatArray, labels: IntArray, centers: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the mean row of each cluster, (k, d). A cluster without rows gets one that lies far from its center."""
    size = np.bincount(labels, minlength=len(centers))
    if not size.all():
        _give_rows(x, labels, centers, sums, size)
    means: FloatArray = sums * (1.0 / np.maximum(size, 1))[:, None]
    for cluster in np.flatnonzero(size == 0):
        # Its only row was given away. Of a cluster that comes later scikit-learn takes the sum, which is no mean yet.
        largest = int(np.argmax(size))
        means[cluster] = (sums if cluster < largest else means)[largest]
    return means


def _give_rows(x: FloatArray, labels: IntArray, centers: FloatArray, sums: FloatArray, size: IntArray) -> None:
    """Take the rows farthest from their centers (k, d) out of sums (k, d) and size (k,), one for each empty cluster."""
    empty = np.flatnonzero(size == 0)
    distance = ((x - centers[labels]) ** 2).sum(axis=1)
    if not distance.any():
        return
    for cluster, row in zip(empty, np.argpartition(distance, -len(empty))[: -len(empty) - 1 : -1], strict=True):
        sums[labels[row]] -= x[row]
        size[labels[row]] -= 1
        sums[cluster], size[cluster] = x[row], 1


def _inertia(x: FloatArray, centers: FloatArray, labels: IntArray) -> float:
    """Return the sum of squared distances to the centers, columns added four at a time, then row by row."""
    squares = (x - centers[labels]) ** 2
    whole = squares.shape[1] // 4 * 4
    fours = squares[:, :whole].reshape(len(x), -1, 4)
    terms = [((fours[:, :, 0] + fours[:, :, 1]) + fours[:, :, 2]) + fours[:, :, 3], squares[:, whole:]]
    distance = np.cumsum(np.hstack(terms), axis=1)[:, -1]
    return float(np.cumsum(distance)[-1])


def _same(labels: IntArray, others: IntArray, k: int) -> bool:
    """Tell whether each cluster of labels (n,) lies in one cluster of others (n,)."""
    return bool(np.count_nonzero(np.bincount(labels * k + others)) == np.count_nonzero(np.bincount(labels)))
