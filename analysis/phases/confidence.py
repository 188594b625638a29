"""How sure a phase is: its intervals would be in it again, had others like them come instead.

The intervals of each visit are drawn again from those of the same visit, a few in a row at a time, and the run is
analysed anew. What stays together is sure: a border that rests on a few intervals is not found each time, and neither
is a phase that is one only because some intervals happened to differ. n intervals, k phases.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.phases.by_stretches import fine_enough, phases_of, segmented
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.kmeans import Fit, fit_range, one_thread
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.phases.scores_of_k import judge
from incprof.analysis.phases.separation import evenly
from incprof.analysis.phases.visits import visits_of
from incprof.model import BoolArray, IntArray

# A long run says more each time: so many intervals are drawn in all, in at least and at most so many runs.
IN_ALL, FEWEST, MOST = 100_000, 4, 20
# Intervals in a row depend on each other: so many are drawn at a time.
IN_A_ROW = 4
# Of the paper's method, whose k-means is slow, each refit sees so many intervals.
SEEN = 500


def with_confidence(features: Features, result: PhaseResult, *, random_state: int = 0) -> PhaseResult:
    """Say of each phase of a result how sure it is, and of the number of clusters how often it comes again.

    Args:
        features: that the phases were found from.
        result: phases.
        random_state: what is drawn. Same seed, same answer.
    """
    kept, again = np.zeros(result.k), 0
    off_cpu = [phase.id for phase in result.phases if phase.off_cpu]
    use = np.flatnonzero((result.labels >= 0) & ~np.isin(result.labels, off_cpu))
    runs = int(np.clip(IN_ALL // max(len(use), 1), FEWEST, MOST))
    rng = np.random.default_rng(random_state)
    if result.method == "paper":
        use = use[evenly(len(use), SEEN)]
    labels = result.labels[use]
    size = np.bincount(labels, minlength=result.k)
    wanted = result.k_clusters if result.method == "paper" else result.k - len(off_cpu)
    for run in range(runs if len(use) else 0):
        drawn = use[_drawn(labels, rng)]
        found = _found(features, result, drawn, random_state + run)
        again += len(np.unique(found[found >= 0])) == wanted
        same = _same_phase(found, labels, result.k, whole=result.rule != "level")
        kept += np.bincount(labels, weights=same, minlength=result.k)
    sure = np.where(size > 0, kept / np.maximum(runs * size, 1), 1.0)
    # Nobody can be sure of two intervals, however far they are from all others.
    all_ = np.bincount(result.labels[result.labels >= 0], minlength=result.k)
    sure *= all_ / (all_ + 1.0)
    phases = tuple(replace(phase, confidence=float(sure[phase.id])) for phase in result.phases)
    asked = result.rule in ("user", "level") or not len(use)
    return replace(result, phases=phases, k_again=None if asked else again / runs)


def _drawn(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """Return for each of some intervals in order of time one of the same visit, (m,)."""
    out = np.arange(len(labels))
    visits = visits_of(labels)
    for first, end in zip(visits.first.tolist(), visits.end.tolist(), strict=True):
        length = end - first
        row = min(IN_A_ROW, length)
        start = first + rng.integers(0, length - row + 1, -(-length // row))
        out[first:end] = (start[:, None] + np.arange(row)).ravel()[:length]
    return out


def _found(features: Features, result: PhaseResult, drawn: IntArray, seed: int) -> IntArray:
    """Analyse some intervals in this order as the method does. Returns their groups, (m,), -1 for none."""
    if result.method == "paper":
        with one_thread():
            fits: list[Fit] = fit_range(features.x[drawn], random_state=seed)
            return fits[
                judge(features.x[drawn], fits, result.k_clusters if result.rule == "user" else None).k - 1
            ].labels
    options = result.options.phases
    assert features.inclusive is not None
    if result.rule == "user":
        return fine_enough(features.inclusive.rows(drawn), result.k_clusters, options).labels(result.k_clusters)
    cut = segmented(features.inclusive.rows(drawn), options)
    return phases_of(cut, cut.labels(cut.groups.count), options)[0]


def _same_phase(found: IntArray, labels: IntArray, k: int, *, whole: bool) -> BoolArray:
    """Tell which intervals are in a group of which most are of their own phase, (m,).

    whole: the group has to be most of the phase as well: half of it is not the same phase.
    """
    table = np.zeros((int(found.max(initial=-1)) + 2, k))
    np.add.at(table, (found, labels), 1.0)
    same: BoolArray = (found >= 0) & (np.argmax(table, axis=1)[found] == labels)
    return same & (np.argmax(table, axis=0)[labels] == found) if whole else same
