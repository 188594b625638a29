"""How sure a phase is: its intervals would be in it again, had others like them come instead.

The intervals of each stretch are drawn again from those of the same stretch, a few in a row at a time, and the run is
analysed anew. What stays together is sure: a border that rests on a few intervals is not found each time, and neither
is a phase that is one only because some intervals happened to differ. r runs drawn, m intervals, k phases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incprof.analysis.phases.visits import visits_of
from incprof.model import BoolArray, FloatArray, IntArray

# A long run says more each time: so many intervals are drawn in all, in at least and at most so many runs. Twice
# as many change no answer of the half for tuning.
IN_ALL, FEWEST, MOST = 15_000, 4, 12
# Intervals in a row depend on each other: so many are drawn at a time, and no more than this part of a stretch.
IN_A_ROW = 4


def drawn_again(
    labels: IntArray, stretch: IntArray, find: Callable[[IntArray], IntArray], random_state: int
) -> IntArray:
    """Draw runs like this one and find their phases, (r, m).

    Args:
        labels: (m,) phases, -1 for none: such intervals are not drawn.
        stretch: (m,) the stretch that each interval is in, ascending: an interval is drawn from those of its own.
        find: returns the phases of some intervals (ascending or not) as a run, -1 for none.
        random_state: what is drawn. Same seed, same answer.
    """
    use = np.flatnonzero(labels >= 0)
    runs = int(np.clip(IN_ALL // max(len(use), 1), FEWEST, MOST))
    rng = np.random.default_rng(random_state)
    out = np.full((runs, len(labels)), -1, dtype=np.int64)
    # A border of a phase is one of a stretch as well.
    parts = stretch[use] * (int(labels.max(initial=0)) + 1) + labels[use]
    for run in range(runs if len(use) else 0):
        out[run, use] = find(use[_drawn(parts, rng)])
    return out


def _drawn(parts: IntArray, rng: np.random.Generator) -> IntArray:
    """Return for each of some intervals in order of time one of the same part of the run, (m,)."""
    out = np.arange(len(parts))
    visits = visits_of(parts)
    for first, end in zip(visits.first.tolist(), visits.end.tolist(), strict=True):
        length = end - first
        row = min(IN_A_ROW, -(-length // IN_A_ROW))
        start = first + rng.integers(0, length - row + 1, -(-length // row))
        out[first:end] = (start[:, None] + np.arange(row)).ravel()[:length]
    return out


def how_sure(labels: IntArray, drawn: IntArray, *, whole: bool = True) -> FloatArray:
    """Return for each phase the part of it that is found again, (k,), over one more than its intervals.

    Nobody can be sure of two intervals, however far they are from all others.

    Args:
        labels: (m,) phases 0..k-1, -1 for none.
        drawn: (r, m) as drawn_again returns them.
        whole: a group has to be most of the phase as well: half of it is not the same phase.
    """
    k = int(labels.max(initial=-1)) + 1
    use = labels >= 0
    kept = np.zeros(k)
    if not use.any():
        return kept
    for found in drawn:
        kept += np.bincount(labels[use], weights=_same(found[use], labels[use], k, whole=whole), minlength=k)
    return kept / len(drawn) / (np.bincount(labels[use], minlength=k) + 1.0)


def joined_likewise(drawn: IntArray, labels: IntArray, one: int, other: int) -> IntArray:
    """Let what two phases were found as be one group in each run drawn, (r, m), as they are to be in the run itself.

    Else what the two are together would be looked for in runs that have them apart. A run in which either was not found
    as a group of its own stays as it is.
    """
    out = drawn.copy()
    for found in out:
        groups = [_found_as(found, labels, phase) for phase in (one, other)]
        if min(groups) >= 0:
            found[found == groups[0]] = groups[1]
    return out


def _found_as(found: IntArray, labels: IntArray, phase: int) -> int:
    """Return the group that most of a phase is in and that is mostly of this phase, -1 for none."""
    inside = found[(labels == phase) & (found >= 0)]
    if not len(inside):
        return -1
    group = int(np.bincount(inside).argmax())
    return group if np.bincount(labels[found == group]).argmax() == phase else -1


def again(labels: IntArray, drawn: IntArray) -> float:
    """Return the part of the runs drawn that have as many phases."""
    k = len(np.unique(labels[labels >= 0]))
    return float(np.mean([len(np.unique(found[found >= 0])) == k for found in drawn]))


def _same(found: IntArray, labels: IntArray, k: int, *, whole: bool) -> BoolArray:
    """Tell which intervals are in a group of which most are of their own phase, (m,)."""
    table = np.zeros((int(found.max(initial=-1)) + 2, k))
    np.add.at(table, (found, labels), 1.0)
    same: BoolArray = (found >= 0) & (np.argmax(table, axis=1)[found] == labels)
    return same & (np.argmax(table, axis=0)[labels] == found) if whole else same
