"""The phases of the paper (section V-A): k-means of the seconds of each interval, and the elbow.

Each is computed once; earlier results are taken from a mapping, since scikit-learn and kneed take longer to import than
most answers take. The mapping holds JSON values, so that it can be kept in a file; its contents may be damaged. n rows,
d columns.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from incprof.analysis.features import Features
from incprof.analysis.phases.clustering import Clustering
from incprof.analysis.phases.kmeans import MAX_K, Fit, by_first_appearance, fit_range, make_fit
from incprof.analysis.phases.scores_of_k import judge
from incprof.model import FloatArray


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

    def __init__(self, known: Mapping[str, object] | None = None):
        """known: `used` of an earlier object."""
        self._known = dict(known or {})
        self.used: dict[str, object] = {}

    def fits(self, x: FloatArray, random_state: int, jobs: int = 1) -> list[Fit]:
        """Return the fits of k = 1..8 of rows x (n, d), as `fit_range` does."""
        key = _digest(x, random_state)
        kept = self.used.get(key, self._known.get(key))
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
