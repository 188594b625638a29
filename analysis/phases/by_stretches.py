"""Intervals to phases, the way that knows what counting explains: stretches first, then which of them do the same.

docs/phases-algorithm.md explains the whole. n intervals, m of them with ticks, s stretches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.options.phases import PhaseOptions
from incprof.analysis.phases.abrupt import without_drifts
from incprof.analysis.phases.borders import borders_of, levels_of, most_alike
from incprof.analysis.phases.clustering import Clustering, joined
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.groups import Groups, alike_grouped
from incprof.analysis.phases.inclusive import Inclusive
from incprof.analysis.phases.kmeans import MAX_K, Fit, by_first_appearance, make_fit
from incprof.analysis.phases.noise import overdispersion, sampling_noise, usual_scatter
from incprof.analysis.phases.results import Joined, JoinRule
from incprof.analysis.phases.scatter import at_best_lag, inside
from incprof.analysis.phases.scores_of_k import Judgement, score_cuts, votes_of
from incprof.analysis.phases.stability import again, drawn_again, how_sure
from incprof.analysis.phases.stretches import Stretches, Sums, neighbours_joined
from incprof.analysis.phases.turns import in_turn_joined
from incprof.analysis.phases.visits import fill_gaps, without_interruptions
from incprof.analysis.phases.wandering import wanders
from incprof.analysis.phases.ways import without_ways
from incprof.model import BoolArray, FloatArray, Function, IntArray

# Fewer intervals show no change.
FEWEST = 3
# Confidence of each phase and of their number.
Sure = tuple[dict[int, float], float]
# Where more phases are asked for than there are changes, changes a quarter as large are looked for, so many times.
FINER = 8


@dataclass(frozen=True)
class Segmented:
    """A run cut up: its ticks, stretches of its m intervals, those that are steps in turn, and which do the same.

    finest: before steps in turn were joined.
    """

    sums: Sums
    finest: Stretches
    stretches: Stretches
    in_turn: Stretches
    groups: Groups

    def labels(self, k: int) -> IntArray:
        """Return the group of each interval where there are k, (m,); -1 on the way between two stretches."""
        out = np.full(len(self.sums.ticks.total), -1, dtype=np.int64)
        for place, label in enumerate(self.groups.cut(k).tolist()):
            out[self.stretches.first[place] : self.stretches.end[place]] = label
        return out

    def finest_of_intervals(self) -> IntArray:
        """Return which of the finest stretches each interval is in, (m,)."""
        return np.repeat(np.arange(len(self.finest)), self.finest.length)


def segmented(ticks: Inclusive, options: PhaseOptions) -> Segmented:
    """Cut a run into stretches in which nothing changes. ticks: of intervals that have some."""
    sums = Sums(ticks, at_best_lag(ticks.counts, ticks.total))
    stretches = neighbours_joined(ticks, sums.scatter, options)
    # Inside of stretches, the scatter is seen without the changes.
    more = inside(ticks.counts, ticks.total, stretches.first, stretches.end)
    sums = Sums(ticks, np.maximum(sums.scatter, more))
    finest = neighbours_joined(ticks, sums.scatter, options)
    stretches, in_turn = in_turn_joined(sums, finest, options)
    while True:
        found = without_drifts(sums, without_ways(sums, stretches, options), options)
        if len(found) == len(stretches):
            return Segmented(sums, finest, stretches, in_turn, alike_grouped(sums, stretches, options))
        stretches = found


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
    labels, joins, sure = groups, tuple[Joined, ...](), None
    if k is None:
        labels, joins, sure = _phases(found, x, groups, options, random_state)
    clustering = Clustering(
        groups,
        labels,
        _judged(found, x, ticks, dispersion, int(groups.max(initial=-1)) + 1, k),
        dispersion,
        None,
        scatter=usual_scatter(x, labels, ticks),
        joined=joins,
        sure=sure,
        borders=borders_of(found.sums, labels, use, functions, options),
        levels=levels_of(found.sums, labels, functions),
        in_turn=tuple(zip(use[found.in_turn.first].tolist(), (use[found.in_turn.end - 1] + 1).tolist(), strict=True)),
    )
    return _spread(features.idle, use, waits, clustering)


def fine_enough(ticks: Inclusive, k: int | None, options: PhaseOptions) -> Segmented:
    """Cut a run into stretches that make at least k groups, of smaller and smaller changes if need be."""
    found = segmented(ticks, options)
    for _ in range(FINER):
        if k is None or len(found.groups.joins) + 1 >= k:
            break
        options = replace(options, beyond=options.beyond / 4.0, named=options.named / 4.0, surely=options.surely / 4.0)
        found = segmented(ticks, replace(options, abrupt=0.0, iteration=0))
    return found


def _of_one(x: FloatArray, k: int | None) -> tuple[IntArray, IntArray, Judgement]:
    """Return the answer where nothing can change: one group, one phase."""
    labels = np.zeros(len(x), dtype=np.int64)
    scores = score_cuts(x, [make_fit(x, labels)], None) if len(x) else ()
    return labels, labels, Judgement(1, "user" if k is not None else "borders", votes_of(scores), scores)


@dataclass(frozen=True)
class _Joins:
    """Groups that became part of another one, in order: what, into which, and by which rule."""

    made: list[tuple[int, int, JoinRule]]

    def last(self, group: int) -> int:
        """Return what a group is part of in the end."""
        for one, other, _ in self.made:
            group = other if one == group else group
        return group


def _phases(
    found: Segmented, x: FloatArray, groups: IntArray, options: PhaseOptions, random_state: int
) -> tuple[IntArray, tuple[Joined, ...], Sure | None]:
    """Make phases of groups (m,): without what interrupts, what wanders, and what is not found again."""
    labels, made = phases_of(found, groups, options)
    labels, doubtful, drawn = _without_doubtful(found, labels, options, random_state)
    joins = _Joins(made + doubtful)
    numbered = by_first_appearance(labels)
    phase = {group: int(numbered[labels == group][0]) for group in np.unique(labels[labels >= 0]).tolist()}
    told = tuple(joined(rule, x, groups, phase[joins.last(one)], one, other) for one, other, rule in joins.made)
    if drawn is None:
        return numbered, told, None
    return numbered, told, (dict(enumerate(how_sure(numbered, drawn).tolist())), again(numbered, drawn))


def phases_of(
    found: Segmented, groups: IntArray, options: PhaseOptions
) -> tuple[IntArray, list[tuple[int, int, JoinRule]]]:
    """Return the groups (m,) that are phases, -1 for none, and which were joined, into which, by which rule."""
    ticks, made = found.sums.ticks, list[tuple[int, int, JoinRule]]()
    labels, pairs = without_interruptions(ticks, groups, options)
    made += [(one, other, "interrupts") for one, other in pairs]
    labels = fill_gaps(labels, np.ones(len(labels), dtype=np.bool_), options.short_visit)
    while wanders(found.sums, labels, options):
        one, other = most_alike(ticks, labels)
        labels = np.where(labels == other, one, labels)
        made.append((other, one, "not distinct"))
    return labels, made


def _without_doubtful(
    found: Segmented, labels: IntArray, options: PhaseOptions, random_state: int
) -> tuple[IntArray, list[tuple[int, int, JoinRule]], IntArray | None]:
    """Join phases that are not found again in most runs drawn from this one with those most like them.

    Returns:
        Labels (m,), what was joined with what, and the phases of the runs drawn, (r, m), if any were.
    """
    made: list[tuple[int, int, JoinRule]] = []
    phases = np.unique(labels[labels >= 0])
    if len(phases) < 2 or options.doubtful <= 0.0:
        return labels, made, None
    ticks = found.sums.ticks

    def find(those: IntArray) -> IntArray:
        cut = segmented(ticks.rows(those), options)
        return phases_of(cut, cut.labels(cut.groups.count), options)[0]

    drawn = drawn_again(labels, found.finest_of_intervals(), find, random_state)
    while len(phases) > 1:
        sure = how_sure(np.where(labels >= 0, np.searchsorted(phases, labels), -1), drawn)
        doubt = int(phases[int(np.argmin(sure))])
        if sure.min() >= options.doubtful:
            break
        host = next(other for pair in [most_alike(ticks, labels, doubt)] for other in pair if other != doubt)
        made.append((doubt, host, "not found again"))
        labels = np.where(labels == doubt, host, labels)
        phases = phases[phases != doubt]
    return labels, made, drawn


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
    seen = found.labels(1) >= 0
    fits: list[Fit] = []
    for number in range(1, most + 1):
        labels = by_first_appearance(found.labels(number)[seen])
        fits.append(make_fit(x[seen], labels))
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
