"""What names a change: the function whose share is another one behind it, and by how much.

n intervals, k phases, c functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.difference import differences
from incprof.analysis.phases.inclusive import Inclusive
from incprof.analysis.phases.results import Border, Level
from incprof.analysis.phases.stretches import Sums
from incprof.analysis.phases.visits import visits_of
from incprof.model import FloatArray, Function, IntArray

BEGINS = 0.95


def borders_of(
    sums: Sums, labels: IntArray, intervals: IntArray, functions: Sequence[Function], options: PhaseOptions = PHASES
) -> tuple[Border, ...]:
    """Name each change between visits. labels: (m,) phases of some intervals (m,) of the run, ascending."""
    visits = visits_of(labels)
    if len(visits.group) < 2:
        return ()
    counts, total = sums.counts(visits.first, visits.end), sums.total(visits.first, visits.end)
    score, apart = differences(counts[:-1], total[:-1], counts[1:], total[1:], sums.scatter)
    share = counts / total[:, None]
    # Of what changes as much, what begins names it.
    begins = np.where(share[1:] > share[:-1], 1.0, BEGINS)
    column = np.argmax(begins * np.minimum(score / options.beyond, apart / options.named), axis=1)
    return tuple(
        Border(
            int(intervals[visits.first[at + 1]]),
            int(visits.group[at]),
            int(visits.group[at + 1]),
            _named(functions, int(sums.ticks.function[c])),
            float(share[at, c]),
            float(share[at + 1, c]),
            float(score[at, c]),
        )
        for at, c in enumerate(column.tolist())
    )


def levels_of(sums: Sums, labels: IntArray, functions: Sequence[Function]) -> tuple[Level, ...]:
    """Join the phases with the smallest largest difference until one is left: the levels from k - 1 phases to one."""
    groups = np.unique(labels[labels >= 0]).tolist()
    counts = [sums.ticks.counts[labels == g].sum(axis=0) for g in groups]
    total = [float(sums.ticks.total[labels == g].sum()) for g in groups]
    members: list[tuple[int, ...]] = [(int(g),) for g in groups]
    out = []
    while len(members) > 1:
        share = np.stack([count / all_ for count, all_ in zip(counts, total, strict=True)])
        one, other, column, apart = _nearest(share)
        members[one] = tuple(sorted(members[one] + members.pop(other)))
        counts[one] = counts[one] + counts.pop(other)
        total[one] += total.pop(other)
        out.append(
            Level(len(members), tuple(sorted(members)), _named(functions, int(sums.ticks.function[column])), apart)
        )
    return tuple(out)


def _named(functions: Sequence[Function], index: int) -> Function | None:
    return functions[index] if index >= 0 else None


def most_alike(ticks: Inclusive, labels: IntArray, group: int | None = None) -> tuple[int, int]:
    """Return the two groups, (n,) labels, whose largest difference is smallest: of all, or of one and any other."""
    groups = np.unique(labels[labels >= 0])
    share = np.stack([ticks.counts[labels == g].sum(axis=0) / ticks.total[labels == g].sum() for g in groups])
    if group is None:
        one, other, _, _ = _nearest(share)
        return int(groups[one]), int(groups[other])
    apart = np.abs(share - share[groups == group]).max(axis=1)
    apart[groups == group] = np.inf
    return group, int(groups[int(np.argmin(apart))])


def _nearest(share: FloatArray) -> tuple[int, int, int, float]:
    """Return the two rows (g, c) whose largest difference is smallest, its column, and the difference."""
    apart = np.abs(share[:, None, :] - share[None, :, :])
    most = apart.max(axis=2)
    most[np.tril_indices(len(share))] = np.inf
    one, other = (int(i) for i in np.unravel_index(np.argmin(most), most.shape))
    return one, other, int(np.argmax(apart[one, other])), float(most[one, other])
