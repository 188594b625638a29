"""Plain alternatives to the methods of incprof, each a few lines around a library, with its usual settings.

Their input is that of `robust`: the shares of call paths in each interval (n, d). None has been tuned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import silhouette_score

from incprof.analysis.features import build_features, interval_seconds
from incprof.analysis.phase_result import all_steps
from incprof.analysis.sites import SiteChooser
from incprof.analysis.steps import find_steps
from incprof.model import FloatArray, IntArray, IntervalProfile

MAX_K = 12
STARTS = 5
# Segments are one phase up to this distance of their square-root shares (0 equal, 1.4 disjoint).
SAME_PHASE = 0.25
SMALLEST_CLUSTER = 5


def _shares(profile: IntervalProfile) -> FloatArray:
    """Return the shares of the call paths in each interval, shape (n, d)."""
    return build_features(profile, share=True).x


def kmeans_silhouette(profile: IntervalProfile) -> IntArray:
    """Cluster by k-means, for k up to 12 or the number of distinct intervals, with the k of the best silhouette."""
    x = _shares(profile)
    most = min(MAX_K, len(np.unique(x, axis=0)), len(x) - 1)
    fits = [KMeans(k, n_init=STARTS, random_state=0).fit(x) for k in range(2, most + 1)]
    if not fits:
        return np.zeros(len(x), dtype=np.int64)
    best = max(fits, key=lambda fit: (round(float(silhouette_score(x, fit.labels_)), 9), -fit.n_clusters))
    labels: IntArray = best.labels_.astype(np.int64)
    return labels


def hdbscan(profile: IntervalProfile) -> IntArray:
    """Cluster by density; sparse intervals are unassigned."""
    x = _shares(profile)
    if len(x) <= SMALLEST_CLUSTER:
        return np.zeros(len(x), dtype=np.int64)
    labels: IntArray = HDBSCAN(min_cluster_size=SMALLEST_CLUSTER, copy=True).fit(x).labels_.astype(np.int64)
    return labels


def change_points(profile: IntervalProfile) -> IntArray:
    """Split the run where the composition changes (PELT), then join similar segments."""
    import ruptures

    # Square roots of shares scatter by 1/4 of one over the ticks, independent of the share.
    x = np.sqrt(_shares(profile))
    ticks = float(np.median(interval_seconds(profile))) * profile.metadata.rate_hz
    penalty = 2.0 * np.log(max(len(x), 2)) * x.shape[1] / (4.0 * max(ticks, 1.0))
    if len(x) < 4:
        return np.zeros(len(x), dtype=np.int64)
    ends = ruptures.KernelCPD(kernel="linear", min_size=2).fit(x).predict(pen=penalty)
    segment = np.searchsorted(np.array(ends), np.arange(len(x)), side="right")
    means = np.stack([x[segment == s].mean(axis=0) for s in range(len(ends))])
    if len(means) < 2:
        return np.zeros(len(x), dtype=np.int64)
    joined = AgglomerativeClustering(None, distance_threshold=SAME_PHASE, linkage="average").fit(means)
    labels: IntArray = joined.labels_[segment].astype(np.int64)
    return labels


def _without_warnings(method: Callable[[IntervalProfile], IntArray]) -> Callable[[IntervalProfile], IntArray]:
    """Suppress a library's warnings."""

    def run(profile: IntervalProfile) -> IntArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method(profile)

    return run


ALTERNATIVES: dict[str, Callable[[IntervalProfile], IntArray]] = {
    "silhouette": _without_warnings(kmeans_silhouette),
    "HDBSCAN": _without_warnings(hdbscan),
    "change points": _without_warnings(change_points),
}


def described(profile: IntervalProfile, labels: IntArray) -> tuple[frozenset[tuple[int, str]], frozenset[int]]:
    """Return sites (function index, kind) and steps (function indices) of phases, chosen as `robust` chooses them."""
    chooser = SiteChooser(profile, build_features(profile, share=True), literal=False)
    sites = chooser.of_all(np.unique(labels, return_inverse=True)[1] - int((labels < 0).any()))
    steps = {step.index for phase in find_steps(profile, labels) for step in all_steps(phase)}
    return frozenset((site.function, site.kind) for phase in sites for site in phase), frozenset(steps)
