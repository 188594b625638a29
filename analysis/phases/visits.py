"""When groups of intervals come: a group that only interrupts another is a step of it, and a moment is no phase.

A visit is a stretch of intervals of one group; unassigned intervals in between do not end it. n intervals in order of
time, v visits, c functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.inclusive import Inclusive
from incprof.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Visits:
    """Stretches of one group, all (v,): first interval, one past the last, group, how many intervals it has."""

    first: IntArray
    end: IntArray
    group: IntArray
    size: IntArray


def visits_of(labels: IntArray) -> Visits:
    """Return the visits of labels (n,), in order of time; -1 is none."""
    known = np.flatnonzero(labels >= 0)
    group = labels[known]
    start = np.flatnonzero(np.diff(group, prepend=-1))
    stop = np.append(start, len(known))[1:]
    return Visits(known[start], known[stop - 1] + 1, group[start], stop - start)


def without_interruptions(
    ticks: Inclusive, labels: IntArray, options: PhaseOptions = PHASES
) -> tuple[IntArray, list[tuple[int, int]]]:
    """Give what only interrupts a phase for a moment to that phase, and what comes once for a moment to none.

    Args:
        ticks: of n intervals.
        labels: (n,) groups, -1 for none.
        options: thresholds.

    Returns:
        Labels (n,), and the pairs of groups that were joined, the first into the second, in the order in which it was.
    """
    joins: list[tuple[int, int]] = []
    while (found := _an_interruption(ticks, labels, options)) is not None:
        group, host = found
        labels = np.where(labels == group, host, labels)
        if host >= 0:
            joins.append((group, host))
    return labels, joins


def _an_interruption(ticks: Inclusive, labels: IntArray, options: PhaseOptions) -> tuple[int, int] | None:
    """Return the smallest group that is none of its own, and the one that it belongs to, -1 for none."""
    groups, count = np.unique(labels[labels >= 0], return_counts=True)
    if len(groups) < 2:
        return None
    visits = visits_of(labels)
    for place in np.argsort(count, kind="stable").tolist():
        group = int(groups[place])
        mine = np.flatnonzero(visits.group == group)
        short = float((visits.size[mine] <= options.short_visit).mean()) >= options.explained
        host = _host(visits, mine, options) if short else None
        if host is not None:
            stays = _stays(ticks, labels == group, labels == host)
            if count[place] == 1 or (len(mine) > 1 and stays >= options.mixed):
                return group, host
        # Single intervals here and there are none in any run: at its ends, they hold a bit of all.
        alone = int(visits.size[mine].max()) == 1
        if count[place] <= options.short_visit and (alone or len(labels) >= options.stray_run):
            return group, -1
    return None


def _host(visits: Visits, mine: IntArray, options: PhaseOptions) -> int | None:
    """Return the group that lies around most of some visits, None if there is none."""
    inner = mine[(mine > 0) & (mine < len(visits.group) - 1)]
    around = visits.group[inner - 1][visits.group[inner - 1] == visits.group[inner + 1]]
    if not len(around) or len(around) < options.explained * len(inner):
        return None
    return int(np.bincount(around).argmax())


def _stays(ticks: Inclusive, group: BoolArray, host: BoolArray) -> float:
    """Return what is left, in a group, of the function of the host that loses most."""
    shares: list[FloatArray] = [ticks.counts[part].sum(axis=0) / ticks.total[part].sum() for part in (group, host)]
    return 1.0 - float((shares[1] - shares[0]).max(initial=0.0))


def fill_gaps(labels: IntArray, ours: BoolArray, short: int = PHASES.short_visit) -> IntArray:
    """Give unassigned intervals within a visit to its phase, where there are no more than `short` of them in a row.

    Args:
        labels: (n,) phases, -1 for none.
        ours: (n,) intervals that may be given to a phase; the others are in no phase for a good reason.
        short: intervals.
    """
    known = np.flatnonzero(labels >= 0)
    out = labels.copy()
    near = np.flatnonzero((np.diff(known) > 1) & (np.diff(known) <= short + 1))
    for left, right in zip(known[near], known[near + 1], strict=True):
        gap = slice(left + 1, right)
        if labels[left] == labels[right] and ours[gap].all():
            out[gap] = labels[left]
    return out
