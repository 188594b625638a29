"""Explain each change of phase: the function whose share changes most, and by how much.

n intervals, k phases, c functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from incprof.analysis.phases.clustering import Border, Level
from incprof.analysis.segment_sums import Sums, differences, visits_of
from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, Function, IntArray

BEGINS = 0.95


def borders_of(
    sums: Sums, labels: IntArray, intervals: IntArray, functions: Sequence[Function], options: PhaseOptions = PHASES
) -> tuple[Border, ...]:
    """Explain each change between episodes. labels: (m,) phases of some intervals (m,) of the run, ascending."""
    visits = visits_of(labels)
    if len(visits.group) < 2:
        return ()
    counts, total = sums.counts(visits.first, visits.end), sums.total(visits.first, visits.end)
    score, apart = differences(counts[:-1], total[:-1], counts[1:], total[1:], sums.scatter)
    share = counts / total[:, None]
    # Of functions that change equally, prefer one that begins.
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


def levels_of(
    sums: Sums, labels: IntArray, functions: Sequence[Function], places: Mapping[int, Sequence[int]]
) -> tuple[Level, ...]:
    """Merge phases two by two until one is left: the levels from k - 1 phases to one.

    Phases whose call paths diverge last are merged first; of these, the two whose largest difference is smallest.

    Args:
        sums: of m intervals.
        labels: (m,) phases, -1 for none.
        functions: of the profile.
        places: nodes of the tree from the root to each phase.
    """
    groups = np.unique(labels[labels >= 0]).tolist()
    counts = [sums.ticks.counts[labels == g].sum(axis=0) for g in groups]
    total = [float(sums.ticks.total[labels == g].sum()) for g in groups]
    members: list[tuple[int, ...]] = [(int(g),) for g in groups]
    place = [tuple(places[g]) for g in groups]
    out = []
    while len(members) > 1:
        share = np.stack([count / all_ for count, all_ in zip(counts, total, strict=True)])
        one, other, column, apart = _nearest(share, place)
        place[one] = place[one][: _common(place[one], place.pop(other))]
        members[one] = tuple(sorted(members[one] + members.pop(other)))
        counts[one] = counts[one] + counts.pop(other)
        total[one] += total.pop(other)
        out.append(
            Level(len(members), tuple(sorted(members)), _named(functions, int(sums.ticks.function[column])), apart)
        )
    return tuple(out)


def _named(functions: Sequence[Function], index: int) -> Function | None:
    return functions[index] if index >= 0 else None


def _nearest(share: FloatArray, place: Sequence[tuple[int, ...]]) -> tuple[int, int, int, float]:
    """Return the two rows (g, c) to be merged first, the column that differs most, and the difference."""
    apart = np.abs(share[:, None, :] - share[None, :, :])
    most = apart.max(axis=2)
    shared = np.array([[_common(one, other) for other in place] for one in place], dtype=np.float64)
    # A difference of shares is at most 1.
    order = most - 2.0 * shared
    order[np.tril_indices(len(share))] = np.inf
    one, other = (int(i) for i in np.unravel_index(np.argmin(order), order.shape))
    return one, other, int(np.argmax(apart[one, other])), float(most[one, other])


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of nodes from the root that two places have in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
