"""Clusters that are one phase: k-means splits a cloud in halves, and splits "called" from "still running"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.kmeans import by_first_appearance
from incprof.analysis.phases.results import JoinRule
from incprof.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Join:
    """Two groups of intervals that were made one, as it was decided.

    one, other: (n,) masks of the intervals. gap: Ashman's D between the groups. overlap: time in the same functions,
    0..1.
    """

    rule: JoinRule
    one: BoolArray
    other: BoolArray
    gap: float
    overlap: float


def join(rule: JoinRule, x: FloatArray, labels: IntArray, one: int, other: int) -> Join:
    """Record that the intervals of two labels, (n,), were made one. x: (n, d) shares."""
    a, b = labels == one, labels == other
    return Join(rule, a, b, separation(x[a], x[b]), overlap(x[a], x[b]))


def separation(a: FloatArray, b: FloatArray) -> float:
    """Return Ashman's D of two clusters (rows) along the line between their centers; infinite for two points."""
    line = b.mean(axis=0) - a.mean(axis=0)
    length = float(np.sqrt(line @ line))
    if length == 0.0:
        return 0.0
    spread = float(np.var(a @ (line / length)) + np.var(b @ (line / length)))
    return np.sqrt(2.0) * length / np.sqrt(spread) if spread > 0 else np.inf


def overlap(a: FloatArray, b: FloatArray) -> float:
    """Return the share of time that two clusters spend in the same functions, 0..1, from their mean shares."""
    return float(np.minimum(a.mean(axis=0), b.mean(axis=0)).sum())


def merge_clusters(
    x: FloatArray,
    labels: IntArray,
    sites: Callable[[IntArray], frozenset[int]],
    calls: csr_array | None = None,
    options: PhaseOptions = PHASES,
) -> tuple[IntArray, list[Join]]:
    """Join clusters until each pair has a gap between them and differs in its sites, its calls or its time.

    Args:
        x: (n, d) shares.
        labels: (n,) clusters 0..k-1, -1 for intervals that belong to none.
        sites: the site functions that would be chosen for some intervals.
        calls: sparse (n, f), what is called from outside in each interval, by the time that it usually takes.
        options: thresholds.

    Returns:
        Labels (n,) renumbered in order of first appearance, and what was joined, in the order in which it was.
    """
    labels = by_first_appearance(labels)
    joins: list[Join] = []
    while True:
        found = _most_alike(x, labels, sites, calls, options)
        if found is None:
            return labels, joins
        rule, one, other = found
        joins.append(join(rule, x, labels, one, other))
        labels = by_first_appearance(np.where(labels == other, one, labels))


def _most_alike(
    x: FloatArray,
    labels: IntArray,
    sites: Callable[[IntArray], frozenset[int]],
    calls: csr_array | None,
    options: PhaseOptions,
) -> tuple[JoinRule, int, int] | None:
    """Return the least separated pair of clusters that should be joined, and by which rule; None if there is none."""
    members = [np.flatnonzero(labels == c) for c in range(int(labels.max(initial=-1)) + 1)]
    chosen = [sites(m) for m in members]
    called = [_call_mix(calls, m) for m in members]
    found = []
    for a in range(len(members)):
        for b in range(a + 1, len(members)):
            gap, common = separation(x[members[a]], x[members[b]]), overlap(x[members[a]], x[members[b]])
            same = bool(chosen[a]) and chosen[a] == chosen[b] and common >= options.same_time
            calls_alike = float(np.minimum(called[a], called[b]).sum()) >= options.same_calls
            alike = calls_alike and common >= options.some_time
            if gap < options.no_gap or same or alike:
                rule: JoinRule = "no gap" if gap < options.no_gap else "same sites" if same else "same calls"
                found.append((gap, a, b, rule))
    if not found:
        return None
    _, a, b, rule = min(found)
    return rule, a, b


def _call_mix(calls: csr_array | None, members: IntArray) -> FloatArray:
    """Return the part that each function has of the calls in some intervals, (f,); zeros unless most have some."""
    if calls is None:
        return np.zeros(1)
    mine = calls[members]
    some = np.diff(mine.indptr) > 0
    total: FloatArray = np.asarray(mine.sum(axis=0), dtype=np.float64).ravel()
    return total / total.sum() if total.sum() > 0 and 2 * some.sum() > len(members) else np.zeros_like(total)
