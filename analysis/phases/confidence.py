"""How sure the phases of a result are; see incprof.analysis.phases.stability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.phases.features import Features
from incprof.analysis.phases.from_groups import phases_of
from incprof.analysis.phases.kmeans_runs import KMeansRuns
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.phases.segmented import fine_enough, segmented
from incprof.analysis.phases.separation import evenly
from incprof.analysis.phases.stability import again, drawn_again, how_sure
from incprof.analysis.phases.verdict import verdict
from incprof.model import IntArray

# Of the paper's method, whose k-means is slow, each run drawn has so many intervals.
SEEN = 500


def with_confidence(
    features: Features, result: PhaseResult, *, random_state: int = 0, runs: KMeansRuns | None = None
) -> PhaseResult:
    """Say of each phase of a result how sure it is, and of the number of phases how often it comes again.

    Args:
        features: that the phases were found from.
        result: phases.
        random_state: what is drawn. Same seed, same answer.
        runs: of k-means (paper).

    Returns:
        The result; as it is where this was found out on the way, and where no function has a name to be told apart by.
    """
    if result.k_again is not None or verdict(result) == "nameless":
        return result
    off_cpu = [phase.id for phase in result.phases if phase.off_cpu]
    use = np.flatnonzero((result.labels >= 0) & ~np.isin(result.labels, off_cpu))
    if result.method == "paper":
        use = use[evenly(len(use), SEEN)]
    elif features.inclusive is not None:
        use = use[features.inclusive.total[use] > 0]
    labels = result.labels[use]
    stretch = np.zeros(len(use), dtype=np.int64)
    if result.method == "robust" and len(use):
        assert features.inclusive is not None
        stretch = segmented(features.inclusive.rows(use), result.options.phases).finest_of_intervals()
    runs = runs or KMeansRuns()
    drawn = drawn_again(
        labels, stretch, lambda those: _found(features, result, use[those], random_state, runs), random_state
    )
    size = np.bincount(result.labels[result.labels >= 0], minlength=result.k)
    # Of waiting, nothing was seen that speaks against it.
    sure = size / (size + 1.0)
    known = np.unique(labels)
    sure[known] = how_sure(labels, drawn, whole=result.rule != "level")[known] if len(known) else 0.0
    phases = tuple(replace(phase, confidence=float(sure[phase.id])) for phase in result.phases)
    asked = result.rule in ("user", "level") or not len(use)
    return replace(result, phases=phases, k_again=None if asked else again(labels, drawn))


def _found(features: Features, result: PhaseResult, drawn: IntArray, seed: int, runs: KMeansRuns) -> IntArray:
    """Analyse some intervals in this order as the method does. Returns their phases, (m,), -1 for none."""
    if result.method == "paper":
        x = features.x[drawn]
        fits = runs.fits(x, seed)
        k = min(result.k_clusters, len(fits)) if result.rule == "user" else runs.elbow(x, seed, fits)
        return fits[k - 1].labels
    options = result.options.phases
    assert features.inclusive is not None
    if result.rule == "user":
        return fine_enough(features.inclusive.rows(drawn), result.k_clusters, options).labels(result.k_clusters)
    cut = segmented(features.inclusive.rows(drawn), options)
    return phases_of(cut, cut.labels(cut.groups.count), options)[0]
