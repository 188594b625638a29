"""From groups of stretches that do the same to phases: what interrupts, wanders or is not found again is none.

m intervals, r runs drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phases import PhaseOptions
from incprof.analysis.phases.borders import most_alike
from incprof.analysis.phases.clustering import Sure, joined
from incprof.analysis.phases.kmeans import by_first_appearance
from incprof.analysis.phases.results import Joined, JoinRule
from incprof.analysis.phases.segmented import Segmented, segmented
from incprof.analysis.phases.short import at_ends, too_short
from incprof.analysis.phases.stability import again, drawn_again, how_sure, joined_likewise
from incprof.analysis.phases.visits import fill_gaps, without_interruptions
from incprof.analysis.phases.wandering import wanders
from incprof.model import FloatArray, IntArray


@dataclass(frozen=True)
class _Joins:
    """Groups that became part of another one, in order: what, into which, and by which rule."""

    made: list[tuple[int, int, JoinRule]]

    def last(self, group: int) -> int:
        """Return what a group is part of in the end."""
        for one, other, _ in self.made:
            group = other if one == group else group
        return group


@dataclass(frozen=True)
class PhasesOfGroups:
    """Phases (m,), -1 for none; the groups that are too short for one, (m,), -1 for the rest; what was joined."""

    labels: IntArray
    short: IntArray
    joined: tuple[Joined, ...]
    sure: Sure | None


def phases_from_groups(
    found: Segmented, x: FloatArray, groups: IntArray, options: PhaseOptions, random_state: int
) -> PhasesOfGroups:
    """Make phases of groups (m,): without what interrupts, what wanders, what is not found again, what is too short."""
    labels, made = phases_of(found, groups, options)
    labels, doubtful, drawn = _without_doubtful(found, labels, options, random_state)
    joins = _Joins(made + doubtful)
    small = too_short(labels, options.least)
    short, kept = np.where(small, labels, at_ends(groups, labels)), np.where(small, -1, labels)
    numbered = by_first_appearance(kept)
    phase = {group: int(numbered[kept == group][0]) for group in np.unique(kept[kept >= 0]).tolist()}
    # What became part of a group that is no phase itself has nothing that it could be told of.
    told = tuple(
        joined(rule, x, groups, phase[joins.last(one)], one, other)
        for one, other, rule in joins.made
        if joins.last(one) in phase
    )
    sure = None if drawn is None else (dict(enumerate(how_sure(numbered, drawn).tolist())), again(labels, drawn))
    return PhasesOfGroups(numbered, short, told, sure)


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
    share = np.stack([ticks.counts[labels == p].sum(axis=0) / ticks.total[labels == p].sum() for p in phases])
    # Whether they are found again, those functions tell that tell them apart.
    apart = np.ptp(share, axis=0)
    telling = ticks.of_chains(np.flatnonzero(apart >= min(options.named, float(apart.max()))))

    def find(those: IntArray) -> IntArray:
        cut = segmented(telling.rows(those), options)
        return phases_of(cut, cut.labels(cut.groups.count), options)[0]

    drawn = drawn_again(labels, found.finest_of_intervals(), find, random_state)
    while len(phases) > 1:
        sure = how_sure(np.where(labels >= 0, np.searchsorted(phases, labels), -1), drawn)
        doubt = int(phases[int(np.argmin(sure))])
        if sure.min() >= options.doubtful:
            break
        _, host = most_alike(ticks, labels, doubt)
        made.append((doubt, host, "not found again"))
        drawn = joined_likewise(drawn, labels, doubt, host)
        labels = np.where(labels == doubt, host, labels)
        phases = phases[phases != doubt]
    return labels, made, drawn
