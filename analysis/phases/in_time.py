"""Clusters that are no phases because of when they come: what lies between two phases, and what interrupts one.

A visit is a stretch of intervals of one cluster; unassigned intervals in between do not end it. n intervals in order of
time, v visits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.kmeans import by_first_appearance
from incprof.analysis.phases.merge import Join, join, overlap
from incprof.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Visits:
    """Stretches of one cluster, all (v,): first interval, one past the last, cluster, how many intervals it has."""

    first: IntArray
    end: IntArray
    cluster: IntArray
    size: IntArray


def visits_of(labels: IntArray) -> Visits:
    """Return the visits of labels (n,), in order of time."""
    known = np.flatnonzero(labels >= 0)
    cluster = labels[known]
    start = np.flatnonzero(np.diff(cluster, prepend=-1))
    stop = np.append(start, len(known))[1:]
    return Visits(known[start], known[stop - 1] + 1, cluster[start], stop - start)


def without_mixtures(x: FloatArray, labels: IntArray, options: PhaseOptions = PHASES) -> IntArray:
    """Take apart clusters that are only the way from one phase to another.

    Args:
        x: (n, d) shares.
        labels: (n,) clusters 0..k-1, -1 for none.
        options: thresholds.

    Returns:
        Labels (n,) in order of first appearance; intervals in the middle between two phases have -1.
    """
    labels = by_first_appearance(labels)
    while True:
        found = _a_mixture(x, labels, options)
        if found is None:
            return labels
        labels = by_first_appearance(found)


def _a_mixture(x: FloatArray, labels: IntArray, options: PhaseOptions) -> IntArray | None:
    """Return the labels without the smallest cluster that is a mixture, or None if there is none."""
    visits, count = visits_of(labels), np.bincount(labels[labels >= 0])
    if len(count) < 3:
        return None
    centers = np.stack([x[labels == c].mean(axis=0) for c in range(len(count))])
    for cluster in np.argsort(count, kind="stable").tolist():
        out, explained = labels.copy(), 0
        for v in np.flatnonzero(visits.cluster[1:-1] == cluster) + 1:
            members = np.arange(visits.first[v], visits.end[v])
            members = members[labels[members] == cluster]
            before, after = int(visits.cluster[v - 1]), int(visits.cluster[v + 1])
            ends = centers[before], centers[after]
            along = _on_the_way(x[members], *ends, options) if before != after else None
            if along is not None:
                explained += len(members)
                near = along < options.near_end, along > 1.0 - options.near_end
                out[members] = np.where(near[0], before, np.where(near[1], after, -1))
        if explained >= options.explained * count[cluster]:
            rest = out == cluster
            out[rest] = -1
            return out
    return None


def _on_the_way(x: FloatArray, start: FloatArray, end: FloatArray, options: PhaseOptions) -> FloatArray | None:
    """Return how far the rows of x (m, d) are from `start` (0) to `end` (1), (m,); None where they are elsewhere."""
    line = end - start
    width = float(line @ line)
    if width == 0.0:
        return None
    along = (x - start) @ line / width
    middle = x.mean(axis=0)
    at = float(along.mean())
    off = middle - start - at * line
    if not 0.1 < at < 0.9 or float(off @ off) > options.off_line * width:
        return None
    if len(x) > options.short_visit:
        moves = along.std() > 0 and np.corrcoef(along, np.arange(len(x)))[0, 1] >= options.trend
        if not moves:
            return None
    return np.asarray(along, dtype=np.float64)


def join_interruptions(x: FloatArray, labels: IntArray, options: PhaseOptions = PHASES) -> tuple[IntArray, list[Join]]:
    """Join a cluster to the phase that it always interrupts for less than an interval: it is a step of that phase.

    Args:
        x: (n, d) shares.
        labels: (n,) clusters 0..k-1, -1 for none.
        options: thresholds.

    Returns:
        Labels (n,) in order of first appearance, and what was joined, in the order in which it was.
    """
    labels = by_first_appearance(labels)
    joins: list[Join] = []
    while True:
        pair = _an_interruption(x, labels, options)
        if pair is None:
            return labels, joins
        joins.append(join("interrupts", x, labels, *pair))
        labels = by_first_appearance(np.where(labels == pair[0], pair[1], labels))


def _an_interruption(x: FloatArray, labels: IntArray, options: PhaseOptions) -> tuple[int, int] | None:
    """Return the smallest cluster that only interrupts another one, and that one; None if there is none."""
    visits, count = visits_of(labels), np.bincount(labels[labels >= 0])
    for cluster in np.argsort(count, kind="stable").tolist():
        mine = np.flatnonzero(visits.cluster == cluster)
        inner = mine[(mine > 0) & (mine < len(visits.cluster) - 1)]
        if len(inner) < 2 or (visits.size[mine] <= options.short_visit).mean() < options.explained:
            continue
        around = visits.cluster[inner - 1]
        same = around == visits.cluster[inner + 1]
        host = np.bincount(around[same], minlength=len(count))
        if host.max(initial=0) < options.explained * len(inner):
            continue
        # What fills whole intervals is a phase, though a short one.
        if overlap(x[labels == cluster], x[labels == host.argmax()]) >= options.mixed:
            return cluster, int(host.argmax())
    return None


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
