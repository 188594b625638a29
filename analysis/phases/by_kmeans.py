"""Intervals to phases as published: k-means on seconds, and the elbow (section V-A)."""

from __future__ import annotations

from incprof.analysis.phases.clustering import Clustering
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.kmeans import fit_range
from incprof.analysis.phases.scores_of_k import judge


def cluster_by_kmeans(features: Features, k: int | None, random_state: int, jobs: int) -> Clustering:
    """Cluster seconds with k-means; every interval is in a phase."""
    fits = fit_range(features.x, random_state=random_state, jobs=jobs)
    judgement = judge(features.x, fits, k)
    labels = fits[judgement.k - 1].labels
    return Clustering(labels, labels, judgement, 1.0, None)
