"""Intervals to phases: the paper's way, and the way that keeps what is no phase from becoming one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.phases.choose_k import STRAY, misfits, sufficient
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.in_time import fill_gaps, join_interruptions, without_mixtures
from incprof.analysis.phases.kmeans import Fit, by_first_appearance, fit_range
from incprof.analysis.phases.merge import Join, join, merge_clusters
from incprof.analysis.phases.noise import overdispersion, sampling_noise, transitions, usual_scatter
from incprof.analysis.phases.results import Joined
from incprof.analysis.phases.scores_of_k import Judgement, judge
from incprof.analysis.phases.segments import pooled
from incprof.analysis.phases.separation import SILHOUETTE_SAMPLE, distances, evenly, silhouette, silhouettes
from incprof.model import BoolArray, FloatArray, IntArray

# Waiting is a phase when it is more than this part of the run.
OFF_CPU_PHASE = 0.05
# In runs longer than this, a few stray intervals are no phase.
STRAY_FROM = 20
STRAY_SHARE = 0.002
FEWEST = 2
# No substantial structure has been found below this (Kaufman and Rousseeuw 1990, table 2.4).
NO_STRUCTURE = 0.25
# Phases of a mix that wanders have silhouettes up to 0.3, phases of programs and of generated runs from 0.55 on.
DISTINCT = 0.4


@dataclass(frozen=True)
class Alike:
    """What tells whether two clusters do the same, besides their time.

    sites: the functions that would stand for some intervals (ascending) alone. calls: what is called in some intervals,
    (m,), sparse (m, f), by the time that it usually takes; None where nobody knows.
    """

    sites: Callable[[IntArray], frozenset[int]]
    calls: Callable[[IntArray], csr_array | None]


@dataclass(frozen=True)
class Clustering:
    """Labels per interval before and after merging, each (n,), and what led to them."""

    clusters: IntArray
    labels: IntArray
    judgement: Judgement
    dispersion: float
    off_cpu: int | None
    scatter: float | None = None
    joined: tuple[Joined, ...] = ()


def cluster_paper(features: Features, k: int | None, random_state: int, executor: Executor | None) -> Clustering:
    """k-means on raw seconds, elbow, every interval in a phase (section V-A)."""
    fits = fit_range(features.x, random_state=random_state, executor=executor)
    judgement = judge(features.x, fits, None, k)
    labels = fits[judgement.k - 1].labels
    return Clustering(labels, labels, judgement, 1.0, None)


def cluster_robust(
    features: Features,
    alike: Alike,
    k: int | None,
    random_state: int,
    executor: Executor | None,
) -> Clustering:
    """k-means on shares, without idle and border intervals; clusters that are one phase are merged."""
    waiting = bool(features.idle.mean() >= OFF_CPU_PHASE and features.idle.sum() >= 2)
    busy = np.flatnonzero(~features.idle)
    x, ticks = features.x[busy], features.ticks[busy]
    dispersion = overdispersion(x, ticks)
    border = transitions(x, ticks, dispersion)
    keep = busy[~border]
    x, ticks = pooled(x[~border], ticks[~border], dispersion)

    def noise(fit: Fit) -> FloatArray:
        return dispersion * sampling_noise(fit.centers[fit.labels], ticks)

    def enough(fit: Fit) -> bool:
        return sufficient(x, fit, noise(fit)) if k is None else fit.k >= k

    fits = fit_range(x, enough=enough, random_state=random_state, executor=executor)
    expected = [noise(fit) for fit in fits]
    judgement = judge(x, fits, expected, max(1, k - waiting) if k is not None else None)
    fit = fits[judgement.k - 1]
    stray = np.zeros(len(x), dtype=np.bool_) if k is not None else _stray(x, fit, expected[fit.k - 1], judgement.rule)
    labels = np.where(stray, -1, fit.labels)
    merged = labels
    joins: list[Join] = []
    if k is None:
        merged, joins = _one_phase_each(x, labels, lambda members: alike.sites(keep[members]), alike.calls(keep))
    found = _spread(len(features.x), keep, fit.labels, merged, features.idle, waiting, judgement, dispersion)
    joined = tuple(_told(step, found.clusters[keep], found.labels[keep]) for step in joins)
    return replace(found, scatter=usual_scatter(x, merged, ticks), joined=joined)


def _one_phase_each(
    x: FloatArray, labels: IntArray, sites: Callable[[IntArray], frozenset[int]], calls: csr_array | None
) -> tuple[IntArray, list[Join]]:
    """Join and take apart clusters until each of them is a phase: what one rule does may show the next what to do.

    Returns:
        Labels (n,), and what was joined, in the order in which it was.
    """
    joins: list[Join] = []
    while True:
        count = int(labels.max(initial=-1)) + 1
        labels, interrupting = join_interruptions(x, without_mixtures(x, labels))
        labels, alike = merge_clusters(x, labels, sites, calls)
        joins += interrupting + alike
        if int(labels.max(initial=-1)) + 1 in (count, 0):
            break
    if not _distinct(x, labels):
        joins += [join("not distinct", x, labels, 0, other) for other in range(1, int(labels.max()) + 1)]
        labels = np.minimum(labels, 0)
    return labels, joins


def _told(step: Join, clusters: IntArray, labels: IntArray) -> Joined:
    """Say which clusters, (n,), were joined, and the phase that they became, from labels (n,)."""

    def most_of(members: BoolArray) -> tuple[int, ...]:
        found, inside = np.unique(clusters[members], return_counts=True)
        size = np.array([(clusters == cluster).sum() for cluster in found])
        mine = found[2 * inside > size]
        return tuple((mine if len(mine) else found[inside == inside.max()]).tolist())

    phase = np.bincount(labels[(step.one | step.other) & (labels >= 0)], minlength=1).argmax()
    gap = step.gap if np.isfinite(step.gap) and step.gap < 1e6 else None
    return Joined(int(phase), step.rule, most_of(step.one), most_of(step.other), gap, step.overlap)


def _distinct(x: FloatArray, labels: IntArray) -> bool:
    """Tell whether phases are more than parts of a mix that wanders about."""
    known = np.flatnonzero(labels >= 0)
    known = known[evenly(len(known), SILHOUETTE_SAMPLE)]
    value = silhouette(distances(x[known]), labels[known])
    return value is None or value >= DISTINCT


def _stray(x: FloatArray, fit: Fit, noise: FloatArray, rule: str) -> BoolArray:
    """Mark intervals that fit no cluster, and clusters too small to be a phase of a long run. Shape (n,)."""
    stray = misfits(x, fit, noise, STRAY) if rule == "noise_floor" else np.zeros(len(x), dtype=np.bool_)
    if len(x) >= STRAY_FROM:
        least = max(FEWEST, int(np.ceil(STRAY_SHARE * len(x))))
        small = np.bincount(fit.labels, minlength=fit.k) < least
        stray |= small[fit.labels]
    return stray | _left_over(x, fit) if rule == "silhouette" else stray


def _left_over(x: FloatArray, fit: Fit) -> BoolArray:
    """Mark the intervals of clusters without a structure of their own, where more kinds of them are than clusters."""
    seen = evenly(len(x), SILHOUETTE_SAMPLE)
    each = silhouettes(distances(x[seen]), fit.labels[seen])
    if each is None:
        return np.zeros(len(x), dtype=np.bool_)
    size = np.maximum(np.bincount(fit.labels[seen], minlength=fit.k), 1)
    mean = np.bincount(fit.labels[seen], weights=each, minlength=fit.k) / size
    return np.asarray(mean < NO_STRUCTURE)[fit.labels]


def _spread(
    n: int,
    keep: IntArray,
    clusters: IntArray,
    merged: IntArray,
    idle: BoolArray,
    waiting: bool,
    judgement: Judgement,
    dispersion: float,
) -> Clustering:
    """Put labels of the clustered intervals back among all n, with waiting as a phase of its own."""
    before, after = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    before[keep], after[keep] = clusters, merged
    after = fill_gaps(after, ~idle)
    off_cpu = None
    if waiting:
        after[idle] = n
    after = by_first_appearance(after)
    if waiting:
        off_cpu = int(after[idle][0])
    return Clustering(by_first_appearance(before), after, judgement, dispersion, off_cpu)
