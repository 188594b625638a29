"""Intervals to phases: the paper's way, and the way that keeps what is no phase from becoming one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.phases import PhaseOptions
from incprof.analysis.phases.choose_k import misfits, sufficient
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

# Of a long run: one stray interval is no phase.
FEWEST = 2


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


@dataclass(frozen=True)
class _Clustered:
    """What k-means saw and said. keep: (m,) the intervals; clusters, merged: (m,) their labels before and after."""

    keep: IntArray
    clusters: IntArray
    merged: IntArray
    judgement: Judgement
    dispersion: float


def cluster_paper(features: Features, k: int | None, random_state: int, jobs: int) -> Clustering:
    """k-means on raw seconds, elbow, every interval in a phase (section V-A)."""
    fits = fit_range(features.x, random_state=random_state, jobs=jobs)
    judgement = judge(features.x, fits, None, k)
    labels = fits[judgement.k - 1].labels
    return Clustering(labels, labels, judgement, 1.0, None)


def cluster_robust(
    features: Features,
    alike: Alike,
    k: int | None,
    random_state: int,
    jobs: int,
    options: PhaseOptions,
) -> Clustering:
    """k-means on shares, without idle and border intervals; clusters that are one phase are merged."""
    waiting = bool(features.idle.mean() >= options.waiting and features.idle.sum() >= 2)
    busy = np.flatnonzero(~features.idle)
    x, ticks = features.x[busy], features.ticks[busy]
    dispersion = overdispersion(x, ticks, options)
    border = transitions(x, ticks, dispersion, options)
    keep = busy[~border]
    x, ticks = pooled(x[~border], ticks[~border], dispersion, options)

    def noise(fit: Fit) -> FloatArray:
        return dispersion * sampling_noise(fit.centers[fit.labels], ticks)

    def enough(fit: Fit) -> bool:
        return sufficient(x, fit, noise(fit), options) if k is None else fit.k >= k

    fits = fit_range(x, enough=enough, random_state=random_state, jobs=jobs)
    expected = [noise(fit) for fit in fits]
    judgement = judge(x, fits, expected, max(1, k - waiting) if k is not None else None, options)
    fit = fits[judgement.k - 1]
    merged, joins = fit.labels, list[Join]()
    if k is None:
        stray = _stray(x, fit, expected[fit.k - 1], judgement.rule, options)
        sites, calls = (lambda members: alike.sites(keep[members])), alike.calls(keep)
        merged, joins = _one_phase_each(x, np.where(stray, -1, fit.labels), sites, calls, options)
    clustered = _Clustered(keep, fit.labels, merged, judgement, dispersion)
    found = _spread(clustered, features.idle, waiting, options)
    joined = tuple(_told(step, found.clusters[keep], found.labels[keep]) for step in joins)
    return replace(found, scatter=usual_scatter(x, merged, ticks), joined=joined)


def _one_phase_each(
    x: FloatArray,
    labels: IntArray,
    sites: Callable[[IntArray], frozenset[int]],
    calls: csr_array | None,
    options: PhaseOptions,
) -> tuple[IntArray, list[Join]]:
    """Join and take apart clusters until each of them is a phase: what one rule does may show the next what to do.

    Returns:
        Labels (n,), and what was joined, in the order in which it was.
    """
    joins: list[Join] = []
    while True:
        count = int(labels.max(initial=-1)) + 1
        labels, interrupting = join_interruptions(x, without_mixtures(x, labels, options), options)
        labels, alike = merge_clusters(x, labels, sites, calls, options)
        joins += interrupting + alike
        if int(labels.max(initial=-1)) + 1 in (count, 0):
            break
    if not _distinct(x, labels, options.distinct):
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


def _distinct(x: FloatArray, labels: IntArray, least: float) -> bool:
    """Tell whether phases are more than parts of a mix that wanders about."""
    known = np.flatnonzero(labels >= 0)
    known = known[evenly(len(known), SILHOUETTE_SAMPLE)]
    value = silhouette(distances(x[known]), labels[known])
    return value is None or value >= least


def _stray(x: FloatArray, fit: Fit, noise: FloatArray, rule: str, options: PhaseOptions) -> BoolArray:
    """Mark intervals that fit no cluster, and clusters too small to be a phase of a long run. Shape (n,)."""
    stray = np.zeros(len(x), dtype=np.bool_)
    if rule == "noise_floor":
        stray = misfits(x, fit, noise, options.stray, options)
    if len(x) >= options.stray_run:
        least = max(FEWEST, int(np.ceil(options.stray_part * len(x))))
        small = np.bincount(fit.labels, minlength=fit.k) < least
        stray |= small[fit.labels]
    return stray | _left_over(x, fit, options.left_over) if rule == "silhouette" else stray


def _left_over(x: FloatArray, fit: Fit, least: float) -> BoolArray:
    """Mark the intervals of clusters without a structure of their own, where more kinds of them are than clusters."""
    seen = evenly(len(x), SILHOUETTE_SAMPLE)
    each = silhouettes(distances(x[seen]), fit.labels[seen])
    if each is None:
        return np.zeros(len(x), dtype=np.bool_)
    size = np.maximum(np.bincount(fit.labels[seen], minlength=fit.k), 1)
    mean = np.bincount(fit.labels[seen], weights=each, minlength=fit.k) / size
    return np.asarray(mean < least)[fit.labels]


def _spread(found: _Clustered, idle: BoolArray, waiting: bool, options: PhaseOptions) -> Clustering:
    """Put labels of the clustered intervals back among all n, with waiting as a phase of its own."""
    before, after = np.full(len(idle), -1, dtype=np.int64), np.full(len(idle), -1, dtype=np.int64)
    before[found.keep], after[found.keep] = found.clusters, found.merged
    after = fill_gaps(after, ~idle, options.short_visit)
    off_cpu = None
    if waiting:
        after[idle] = len(idle)
    after = by_first_appearance(after)
    if waiting:
        off_cpu = int(after[idle][0])
    return Clustering(by_first_appearance(before), after, found.judgement, found.dispersion, off_cpu)
