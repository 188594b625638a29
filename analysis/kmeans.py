"""k-means for every k of a range, best of several seeded starts, with what it takes to judge each k."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from incprof.model import FloatArray, IntArray

MAX_K = 8
STARTS = 10


@dataclass(frozen=True)
class Fit:
    """One clustering: labels (n,) in order of first appearance, centers (k, d), inertia: sum of squared distances.

    stability: mean adjusted Rand index between the starts and the best of them; 1 is "always the same".
    """

    k: int
    labels: IntArray
    centers: FloatArray
    inertia: float
    stability: float


def by_first_appearance(labels: IntArray) -> IntArray:
    """Renumber labels so that they count up in the order in which they appear; -1 stays."""
    values, first = np.unique(labels, return_index=True)
    known = values >= 0
    order = values[known][np.argsort(first[known], kind="stable")]
    renumbered = np.full(labels.shape, -1, dtype=np.int64)
    for new, old in enumerate(order):
        renumbered[labels == old] = new
    return renumbered


def cluster_means(x: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the mean row of each cluster 0..k-1, shape (k, d). Clusters must not be empty."""
    return np.stack([x[labels == c].mean(axis=0) for c in range(k)])


def _start(x: FloatArray, k: int, seed: int, init: FloatArray | None) -> IntArray:
    """Run k-means once, from seeded or given centers (k, d); labels in order of appearance."""
    start = "k-means++" if init is None else init
    model = KMeans(n_clusters=k, init=start, n_init=1, random_state=seed, algorithm="lloyd").fit(x)
    return by_first_appearance(model.labels_.astype(np.int64))


def make_fit(x: FloatArray, labels: IntArray, stability: float = 1.0) -> Fit:
    """Turn labels 0..k-1 into a fit."""
    k = int(labels.max()) + 1
    centers = cluster_means(x, labels, k)
    return Fit(k, labels, centers, float(((x - centers[labels]) ** 2).sum()), stability)


def fit_k(
    x: FloatArray, k: int, *, previous: Fit, random_state: int = 0, executor: Executor | None = None
) -> Fit:
    """Return the best of ten seeded starts and one that adds the farthest interval to the centers of k - 1.

    Seeded starts find large clusters; the last one finds what they overlook, a few intervals far from everything.
    `x` (n, d) has at least k distinct rows.
    """
    distance = ((x - previous.centers[previous.labels]) ** 2).sum(axis=1)
    grown = np.vstack([previous.centers, x[int(np.argmax(distance))]])
    inits = [None] * STARTS + ([grown] if len(grown) == k else [])
    run = map if executor is None else executor.map
    labels = list(run(_start, repeat(x), repeat(k), range(random_state, random_state + len(inits)), inits))
    fits = [make_fit(x, found) for found in labels]
    # Rounding: starts that end in the same place differ in the last bits.
    best = min(fits, key=lambda fit: round(fit.inertia, 12))
    stability = float(np.mean([adjusted_rand_score(best.labels, found) for found in labels[:STARTS]]))
    return replace(best, stability=stability)


def fit_range(
    x: FloatArray, *, max_k: int = MAX_K, random_state: int = 0, executor: Executor | None = None
) -> list[Fit]:
    """Run k-means for k = 1..max_k, or up to the number of distinct rows if that is smaller (paper, section V-A).

    Each run has one thread, so that sums are added in the same order on every machine. An executor (of threads: the
    inner loops release the interpreter) does the starts side by side without changing a bit.
    """
    distinct = len(np.unique(np.round(x, 12), axis=0))
    fits = [make_fit(x, np.zeros(len(x), dtype=np.int64))]
    with threadpool_limits(limits=1):
        for k in range(2, min(max_k, distinct) + 1):
            fits.append(fit_k(x, k, previous=fits[-1], random_state=random_state, executor=executor))
    return fits
