"""Intervals to phases, the way that knows what counting explains: stretches first, then which of them do the same.

docs/phases-algorithm.md explains the whole. n intervals, m of them with ticks, s stretches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.options.phases import PhaseOptions
from incprof.analysis.phases.borders import borders_of, levels_of
from incprof.analysis.phases.clustering import Clustering
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.from_groups import PhasesOfGroups, phases_from_groups
from incprof.analysis.phases.kmeans import LONG, MAX_K, Fit, by_first_appearance, make_fit
from incprof.analysis.phases.noise import overdispersion, sampling_noise, usual_scatter
from incprof.analysis.phases.scores_of_k import Judgement, score_cuts, votes_of
from incprof.analysis.phases.segmented import Segmented, fine_enough
from incprof.analysis.phases.separation import evenly
from incprof.analysis.phases.short import short_stretches
from incprof.model import BoolArray, FloatArray, Function, IntArray

# Fewer intervals show no change.
FEWEST = 3


def cluster_by_stretches(
    features: Features, functions: Sequence[Function], k: int | None, options: PhaseOptions, random_state: int = 0
) -> Clustering:
    """Find the phases of a run by its changes. features: with ticks from above; functions: of the profile."""
    waits = mostly_waiting(features.idle, options)
    assert features.inclusive is not None
    use = np.flatnonzero(~features.idle & (features.inclusive.total > 0))
    x, ticks = features.x[use], features.ticks[use]
    dispersion = overdispersion(x, ticks)
    if len(use) < FEWEST or not features.inclusive.counts.shape[1]:
        whole = Clustering(*_of_one(x, k), dispersion, None)
        return _spread(features.idle, use, waits, whole)
    found = fine_enough(features.inclusive.rows(use), None if k is None else k - waits, options)
    groups = by_first_appearance(found.labels(found.groups.count if k is None else max(1, k - waits)))
    of_groups = PhasesOfGroups(groups, np.full(len(use), -1, dtype=np.int64), (), None)
    if k is None:
        of_groups = phases_from_groups(found, x, groups, options, random_state)
    labels = of_groups.labels
    clustering = Clustering(
        groups,
        labels,
        _judged(found, x, ticks, dispersion, int(groups.max(initial=-1)) + 1, k),
        dispersion,
        None,
        scatter=usual_scatter(x, labels, ticks),
        joined=of_groups.joined,
        sure=of_groups.sure,
        borders=borders_of(found.sums, labels, use, functions, options),
        levels=levels_of(found.sums, labels, functions),
        in_turn=tuple(zip(use[found.in_turn.first].tolist(), (use[found.in_turn.end - 1] + 1).tolist(), strict=True)),
        short=short_stretches(found.sums.ticks, of_groups.short, use, functions),
    )
    return _spread(features.idle, use, waits, clustering)


def _of_one(x: FloatArray, k: int | None) -> tuple[IntArray, IntArray, Judgement]:
    """Return the answer where nothing can change: one group, one phase."""
    labels = np.zeros(len(x), dtype=np.int64)
    scores = score_cuts(x, [make_fit(x, labels)], None) if len(x) else ()
    return labels, labels, Judgement(1, "user" if k is not None else "borders", votes_of(scores), scores)


def mostly_waiting(idle: BoolArray, options: PhaseOptions) -> bool:
    """Tell whether a run waits so much, for longer than a moment at a time, that a user asks about it. idle: (n,)."""
    edge = np.flatnonzero(np.diff(np.concatenate([[False], idle, [False]]).astype(np.int64)))
    length = edge[1::2] - edge[::2]
    return bool(idle.sum() >= 2 and length[length > options.short_visit].sum() >= options.waiting * len(idle))


def _judged(
    found: Segmented, x: FloatArray, ticks: FloatArray, dispersion: float, count: int, k: int | None
) -> Judgement:
    """Score every number of groups up to one more than were found."""
    most = min(max(MAX_K, count + 1), len(found.groups.joins) + 1)
    # They are there to be read, and decide nothing: of a long run, a part tells.
    seen = np.flatnonzero(found.labels(1) >= 0)
    seen = seen[evenly(len(seen), LONG)]
    fits: list[Fit] = []
    for number in range(1, most + 1):
        fit = make_fit(x[seen], by_first_appearance(found.labels(number)[seen]))
        # What is left of few intervals may lack a group.
        if not fits or fit.k > fits[-1].k:
            fits.append(fit)
    noise = [dispersion * sampling_noise(fit.centers[fit.labels], ticks[seen]) for fit in fits]
    scores = score_cuts(x[seen], fits, noise)
    return Judgement(count, "borders" if k is None else "user", votes_of(scores), scores)


def _spread(idle: BoolArray, use: IntArray, waits: bool, found: Clustering) -> Clustering:
    """Put labels of the intervals that were looked at back among all n, with waiting as a phase of its own."""
    before, after = np.full(len(idle), -1, dtype=np.int64), np.full(len(idle), -1, dtype=np.int64)
    before[use], after[use] = found.clusters, found.labels
    if waits:
        after[idle] = len(idle)
    numbered = by_first_appearance(after)
    new = {int(old): int(numbered[use[found.labels == old][0]]) for old in np.unique(found.labels[found.labels >= 0])}
    off_cpu = int(numbered[idle][0]) if waits else None
    return replace(found.renumbered(new), clusters=by_first_appearance(before), labels=numbered, off_cpu=off_cpu)
