"""Stretches that are too short for a phase: they are named, and nobody instruments them.

A program reads its input, sets something up, writes: each of that may be a sharp change, and none is worth a heartbeat.
m intervals, c functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.phases.inclusive import Inclusive
from incprof.analysis.phases.results import ShortStretch
from incprof.analysis.phases.visits import visits_of
from incprof.model import BoolArray, Function, IntArray


def too_short(labels: IntArray, least: float) -> BoolArray:
    """Mark the intervals whose phase has less than this part of all, (m,); none where no phase has more.

    labels: (m,) phases, -1 for none.
    """
    count = np.bincount(labels[labels >= 0], minlength=1)
    small = (count > 0) & (count < least * len(labels))
    if small.sum() == (count > 0).sum():
        return np.zeros(len(labels), dtype=np.bool_)
    marked: BoolArray = (labels >= 0) & np.append(small, False)[labels]
    return marked


def at_ends(groups: IntArray, labels: IntArray) -> IntArray:
    """Return the groups of the intervals before the first phase and after the last, (m,); -1 for all others.

    A moment at an end of the run is no mixture of what lies around it: the program sets something up, or writes.

    Args:
        groups: (m,) what does the same, -1 for none.
        labels: (m,) phases, -1 for none.
    """
    inside = np.flatnonzero(labels >= 0)
    out = groups.copy()
    out[inside[0] : inside[-1] + 1] = -1
    return out


def short_stretches(
    ticks: Inclusive, groups: IntArray, intervals: IntArray, functions: Sequence[Function]
) -> tuple[ShortStretch, ...]:
    """Name what is too short, by the function that has most more of it than of the rest of the run.

    Args:
        ticks: of m intervals.
        groups: (m,) what is too short, -1 for all else.
        intervals: (m,) of the run, ascending.
        functions: of the profile.

    Returns:
        In order of time; what comes several times is one.
    """
    visits, out = visits_of(groups), []
    for group in visits.group[np.sort(np.unique(visits.group, return_index=True)[1])].tolist():
        mine = groups == group
        share = ticks.counts[mine].sum(axis=0) / ticks.total[mine].sum()
        rest = ticks.counts[~mine].sum(axis=0) / max(float(ticks.total[~mine].sum()), 1.0)
        most = int(np.argmax(share - rest))
        function = int(ticks.function[most])
        here = visits.group == group
        spans = zip(intervals[visits.first[here]].tolist(), (intervals[visits.end[here] - 1] + 1).tolist(), strict=True)
        out.append(ShortStretch(functions[function] if function >= 0 else None, float(share[most]), tuple(spans)))
    return tuple(out)
