"""Intervals to phases as published: k-means on seconds, and the elbow (section V-A)."""

from __future__ import annotations

from incprof.analysis.phases.clustering import Clustering
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.kmeans_runs import KMeansRuns
from incprof.analysis.phases.scores_of_k import judge


def cluster_by_kmeans(features: Features, k: int | None, random_state: int, jobs: int, runs: KMeansRuns) -> Clustering:
    """Cluster seconds with k-means; every interval is in a phase."""
    fits = runs.fits(features.x, random_state, jobs)
    judgement = judge(features.x, fits, k, runs.elbow(features.x, random_state, fits))
    labels = fits[judgement.k - 1].labels
    return Clustering(labels, labels, judgement, 1.0, None)
