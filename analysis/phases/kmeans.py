"""k-means by scikit-learn for every k of a range: the best of several seeded starts, with data to judge each k.

scikit-learn is imported only where k-means runs: the import takes longer than most answers of the default method, which
does not use it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from incprof.analysis.segment_sums import evenly
from incprof.analysis.thread_pool import spread
from incprof.model import FloatArray, IntArray

# The paper's range of k.
MAX_K = 8
STARTS = 10
# Most intervals that the seeded starts use.
LONG = 20_000
PRINCIPAL = 32


@cache
def _threads() -> ThreadpoolController:
    """Return the handle on the threads of BLAS and OpenMP, once scikit-learn has loaded them. The search is slow."""
    import sklearn.cluster  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread, so that sums are added in the same order on every machine.

    The limit of OpenMP applies to the calling thread, that of BLAS to all threads.
    """
    with _threads().limit(limits=1):
        yield


@dataclass(frozen=True)
class Fit:
    """One clustering.

    Attributes:
        k: number of clusters.
        labels: (n,) in order of first appearance.
        centers: (k, d).
        inertia: sum of squared distances.
        stability: mean adjusted Rand index between the starts and the best of them; 1: always the same.
    """

    k: int
    labels: IntArray
    centers: FloatArray
    inertia: float
    stability: float


def by_first_appearance(labels: IntArray) -> IntArray:
    """Renumber labels in order of first appearance; -1 stays."""
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


def _start(x: FloatArray, k: int, seed: int, centers: FloatArray | None) -> tuple[float, IntArray]:
    """Run k-means once, from seeded or given centers (k, d). Returns its inertia, and labels in order of appearance."""
    from sklearn.cluster import KMeans

    model = KMeans(k, init="k-means++" if centers is None else centers, n_init=1, random_state=seed, algorithm="lloyd")
    with one_thread():
        model.fit(x)
    # Rounding: starts that end in the same place differ in the last bits.
    return round(float(model.inertia_), 12), by_first_appearance(model.labels_.astype(np.int64))


def make_fit(x: FloatArray, labels: IntArray, stability: float = 1.0) -> Fit:
    """Turn labels 0..k-1 into a fit."""
    k = int(labels.max()) + 1
    centers = cluster_means(x, labels, k)
    return Fit(k, labels, centers, float(((x - centers[labels]) ** 2).sum()), stability)


def principal(x: FloatArray, most: int = PRINCIPAL) -> FloatArray:
    """Return x (n, d) along its `most` axes of largest variance; x itself if d is not larger.

    Eight clusters differ along at most seven axes, which carry far more variance than the noise on the others.
    """
    if x.shape[1] <= most:
        return x
    centered = x - x.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :most]
    return np.ascontiguousarray(centered @ axes)


def fit_k(x: FloatArray, y: FloatArray, k: int, *, previous: Fit, random_state: int = 0, jobs: int = 1) -> Fit:
    """Return the best of ten seeded starts and one that adds the farthest interval to the centers of k - 1.

    Seeded starts find large clusters; the last start finds small ones, of a few intervals far from all others. Starts
    run on `y`, the principal axes of `x` (n, d), which has at least k distinct rows.
    """
    distance = ((x - previous.centers[previous.labels]) ** 2).sum(axis=1)
    grown = np.vstack([cluster_means(y, previous.labels, previous.k), y[int(np.argmax(distance))]])
    from sklearn.metrics import adjusted_rand_score

    # In a long run the seeded starts use a sample; the best of them continues with all intervals.
    seen = evenly(len(y), LONG)
    found: dict[int, tuple[float, IntArray]] = {}

    def run(start: int) -> None:
        found[start] = _start(y[seen], k, random_state + start, None)

    spread(run, range(STARTS), jobs)
    runs = [found[start] for start in range(STARTS)]
    ends = runs
    if len(seen) < len(y):
        labels = min(runs, key=lambda one: one[0])[1]
        ends = [_start(y, k, random_state, cluster_means(y[seen], labels, int(labels.max()) + 1))]
    grown_run = _start(y, k, random_state + STARTS, grown)
    best = min([*ends, grown_run], key=lambda one: one[0])[1]
    mine = best[seen]
    agreement = [adjusted_rand_score(mine, other) for _, other in runs]
    return make_fit(x, best, float(np.mean(agreement)))


def fit_range(x: FloatArray, *, max_k: int = MAX_K, random_state: int = 0, jobs: int = 1) -> list[Fit]:
    """Run k-means for k = 1..max_k, or up to the number of distinct rows if that is smaller (paper, section V-A).

    jobs: threads that run the starts side by side (the inner loops release the interpreter); does not affect the
    result.
    """
    with one_thread(), warnings.catch_warnings():
        # Starts that leave a cluster empty are not the best ones.
        warnings.simplefilter("ignore")
        y = principal(x)
        distinct = len(np.unique(np.round(x, 12), axis=0))
        fits = [make_fit(x, np.zeros(len(x), dtype=np.int64))]
        for k in range(2, min(max_k, distinct) + 1):
            fit = fit_k(x, y, k, previous=fits[-1], random_state=random_state, jobs=jobs)
            if fit.k < k:
                break
            fits.append(fit)
    return fits
