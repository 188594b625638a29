"""k-means by scikit-learn for every k of a range: the best of several seeded starts, with data to judge each k.

scikit-learn is imported only where k-means runs: the import takes longer than most answers of the default method, which
does not use it.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from incprof.analysis.features import Features
from incprof.analysis.phases.clustering import Clustering, Judgement, KScore
from incprof.analysis.segment_sums import (
    SILHOUETTE_SAMPLE,
    calinski_harabasz,
    chi2_quantile,
    distances,
    effective_dimensions,
    evenly,
    silhouette,
)
from incprof.analysis.thread_pool import spread
from incprof.model import FloatArray, IntArray, by_first_appearance

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


def principal(x: FloatArray) -> FloatArray:
    """Return x (n, d) along its PRINCIPAL axes of largest variance; x itself if d is not larger.

    Eight clusters differ along at most seven axes, which carry far more variance than the noise on the others.
    """
    if x.shape[1] <= PRINCIPAL:
        return x
    centered = x - x.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :PRINCIPAL]
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
    sample = evenly(len(y), LONG)
    fits: dict[int, tuple[float, IntArray]] = {}

    def run(start: int) -> None:
        fits[start] = _start(y[sample], k, random_state + start, None)

    spread(run, range(STARTS), jobs)
    runs = [fits[start] for start in range(STARTS)]
    ends = runs
    if len(sample) < len(y):
        labels = min(runs, key=lambda one: one[0])[1]
        ends = [_start(y, k, random_state, cluster_means(y[sample], labels, int(labels.max()) + 1))]
    grown_run = _start(y, k, random_state + STARTS, grown)
    best = min([*ends, grown_run], key=lambda one: one[0])[1]
    best_labels = best[sample]
    agreement = [adjusted_rand_score(best_labels, other) for _, other in runs]
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


# Scores of every k, the choice of each rule, and the final choice.


# A lower silhouette is a weak structure, perhaps an artefact of clustering (Kaufman and Rousseeuw 1990, table 2.4).
WEAK = 0.5
# Normal score, and factor of the scatter, from which an interval does not look like its group.
FAR, SLACK = 2.5, 1.3


def judge(x: FloatArray, fits: Sequence[Fit], requested_k: int | None, elbow: int) -> Judgement:
    """Score the fits of k-means and choose one of them.

    Args:
        x: (n, d) the clustered rows.
        fits: one for each k from 1.
        requested_k: overrides the choice, as far as there are that many distinct intervals.
        elbow: the choice otherwise.
    """
    scores = score_cuts(x, fits, None)
    if requested_k is not None:
        return Judgement(min(requested_k, len(fits)), "user", votes_of(scores, elbow), scores)
    return Judgement(elbow, "elbow", votes_of(scores, elbow), scores)


def votes_of(scores: Sequence[KScore], elbow: int | None = None) -> dict[str, int | None]:
    """Return the choice of each rule. elbow: None where k-means was not run."""
    return {
        "elbow": elbow,
        "silhouette": best_silhouette(scores),
        "calinski_harabasz": _largest({s.k: s.calinski_harabasz for s in scores}),
    }


def score_cuts(x: FloatArray, fits: Sequence[Fit], noise: Sequence[FloatArray] | None) -> tuple[KScore, ...]:
    """Compute the scores of every number of groups; silhouettes on at most 2 000 intervals, evenly spaced.

    noise: for each, the squared distance of each interval to its group's mean that counting explains, (n,); None for
    groups from k-means, which have a stability instead.
    """
    sample = evenly(len(x), SILHOUETTE_SAMPLE)
    distance = distances(x[sample])
    out = []
    for i, fit in enumerate(fits):
        floor = None if noise is None else float(noise[i].sum())
        misfits = None if noise is None else _misfits(x, fit, noise[i])
        out.append(
            KScore(
                k=fit.k,
                inertia=fit.inertia,
                silhouette=silhouette(distance, fit.labels[sample]),
                calinski_harabasz=calinski_harabasz(fits[0].inertia, fit.inertia, len(x), fit.k),
                noise_ratio=fit.inertia / floor if floor else None,
                misfits=misfits,
                stability=fit.stability if noise is None else None,
            )
        )
    return tuple(out)


def _misfits(x: FloatArray, fit: Fit, noise: FloatArray) -> int:
    """Count the intervals that lie farther from their center than `noise` (n,) explains."""
    distance = ((x - fit.centers[fit.labels]) ** 2).sum(axis=1)
    limit = SLACK * noise * chi2_quantile(effective_dimensions(fit.centers), FAR)[fit.labels]
    return int(np.count_nonzero(distance > limit))


def best_silhouette(scores: Sequence[KScore]) -> int:
    """Return the k with the highest silhouette, or 1 if no k separates the intervals well."""
    best = _largest({s.k: s.silhouette for s in scores})
    value = scores[best - 1].silhouette if best is not None else None
    return best if best is not None and value is not None and value >= WEAK else 1


def _largest(values: dict[int, float | None]) -> int | None:
    """Return the smallest key with the largest value (to 12 digits), None if no key has one."""
    candidates = [(-round(value, 12), k) for k, value in values.items() if value is not None]
    return min(candidates)[1] if candidates else None


# The phases of the paper (section V-A): k-means of the seconds of each interval, and the elbow.
#
# Each is computed once; earlier results are taken from a mapping, since scikit-learn and kneed take longer to import
# than most answers take. The mapping holds JSON values, so that it can be kept in a file; its contents may be
# damaged. n rows, d columns.


def chord_elbow(ks: Sequence[int], inertia: Sequence[float]) -> int:
    """Return the k whose point lies furthest below the line from the first to the last point of the curve."""
    x, y = np.asarray(ks, dtype=np.float64), np.asarray(inertia, dtype=np.float64)
    if len(x) < 3 or y[0] <= y[-1]:
        return int(ks[0]) if len(x) == 0 or y[0] <= y[-1] else int(ks[-1])
    chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    return int(ks[int(np.argmax(np.round((chord - y) / (y[0] - y[-1]), 12)))])


def elbow(ks: Sequence[int], inertia: Sequence[float]) -> int:
    """Return the elbow found by Kneedle, or the chord's where it finds none (paper, section V-A)."""
    if len(ks) < 3 or inertia[0] <= inertia[-1]:
        return chord_elbow(ks, inertia)
    with warnings.catch_warnings():
        # Some versions of kneed warn if there is no elbow.
        warnings.simplefilter("ignore")
        knee = _locator()(ks, inertia, curve="convex", direction="decreasing").knee
    return chord_elbow(ks, inertia) if knee is None else int(knee)


def _locator() -> Any:
    """Import kneed, which imports matplotlib where it is installed: that may complain about its cache of fonts."""
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        from kneed import KneeLocator
    finally:
        log.setLevel(level)
    return KneeLocator


class KMeansRuns:
    """k-means runs by a digest of their rows and seed.

    Attributes:
        used: results that this object returned, as JSON values by digest: labels and stability for each k, and the
            elbow.
    """

    def __init__(self, cached: Mapping[str, object] | None = None):
        """known: `used` of an earlier object."""
        self._cached = dict(cached or {})
        self.used: dict[str, object] = {}

    def fits(self, x: FloatArray, random_state: int, jobs: int = 1) -> list[Fit]:
        """Return the fits of k = 1..8 of rows x (n, d), as `fit_range` does."""
        key = _digest(x, random_state)
        kept = self.used.get(key, self._cached.get(key))
        fits = _fits(x, kept)
        if fits is None:
            fits = fit_range(x, random_state=random_state, jobs=jobs)
            kept = {"labels": [fit.labels.tolist() for fit in fits], "stability": [fit.stability for fit in fits]}
        assert isinstance(kept, dict)
        self.used[key] = dict(kept)
        return fits

    def elbow(self, x: FloatArray, random_state: int, fits: list[Fit]) -> int:
        """Return the k that the elbow method chooses among the fits of rows x (n, d)."""
        kept = self.used[_digest(x, random_state)]
        assert isinstance(kept, dict)
        k = kept.get("elbow")
        if not isinstance(k, int) or not 1 <= k <= len(fits):
            k = elbow([fit.k for fit in fits], [fit.inertia for fit in fits])
            kept["elbow"] = k
        return k


def _digest(x: FloatArray, random_state: int) -> str:
    """Return a digest of rows and seed."""
    rows = np.ascontiguousarray(x, dtype=np.float64)
    return hashlib.sha256(repr((rows.shape, random_state)).encode() + rows.tobytes()).hexdigest()


def _fits(x: FloatArray, kept: object) -> list[Fit] | None:
    """Return the fits kept for rows x (n, d); None if missing or damaged."""
    if not isinstance(kept, dict):
        return None
    try:
        labels = np.array(kept["labels"], dtype=np.int64).reshape(-1, len(x))
        stability = [float(value) for value in kept["stability"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if not 1 <= len(labels) == len(stability) <= MAX_K:
        return None
    if any(row.max(initial=-1) != k or (row != by_first_appearance(row)).any() for k, row in enumerate(labels)):
        return None
    return [make_fit(x, row, value) for row, value in zip(labels, stability, strict=True)]


def cluster_by_kmeans(features: Features, k: int | None, random_state: int, jobs: int, runs: KMeansRuns) -> Clustering:
    """Cluster seconds with k-means; every interval is in a phase."""
    fits = runs.fits(features.x, random_state, jobs)
    judgement = judge(features.x, fits, k, runs.elbow(features.x, random_state, fits))
    labels = fits[judgement.k - 1].labels
    return Clustering(labels, labels, judgement, 1.0, None)
