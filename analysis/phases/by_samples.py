"""From intervals to phases by their samples: top-down along the call tree, relative to counting noise.

docs/understand/phase-detection.md explains the whole. n intervals, m of them with ticks, s samples.
"""

from __future__ import annotations

from collections.abc import Sequence as Row
from dataclasses import replace

import numpy as np

from incprof.analysis.features import Features, entered_calls
from incprof.analysis.phases.clustering import Clustering, Judgement, Level
from incprof.analysis.phases.kmeans import LONG, Fit, make_fit, score_cuts, votes_of
from incprof.analysis.phases.levels import Parts, sequence_and_parts, stages_of
from incprof.analysis.phases.segments import explain_boundaries, levels_of, short_segments
from incprof.analysis.phases.sequence import Sequence, delayed_between
from incprof.analysis.segment_sums import Sums, evenly, overdispersion, sampling_noise, usual_scatter
from incprof.analysis.thresholds import PhaseOptions
from incprof.model import FloatArray, IntArray, IntervalProfile, by_first_appearance


def cluster_by_samples(
    profile: IntervalProfile, features: Features, k: int | None, level: int | None, options: PhaseOptions
) -> Clustering:
    """Find the phases of a run in its samples.

    Args:
        profile: n intervals.
        features: of the same profile, with inclusive ticks.
        k: number of phases, the most similar ones merged.
        level: least number, where the tree has as many.
        options: thresholds.
    """
    assert features.inclusive is not None
    sequence, parts = sequence_and_parts(profile, options, k or level)
    clusters = part_of_intervals(profile, sequence, parts)
    labels = by_first_appearance(phase_of_parts(parts)[clusters])
    waits = np.isin(clusters, _waiting(parts))
    # A phase that waits in functions that were called has something to instrument.
    called = np.diff(entered_calls(profile, waits).indptr)[waits] > 0
    off_cpu = int(labels[waits][0]) if waits.any() and 2 * called.sum() < len(called) else None
    use = np.flatnonzero(features.inclusive.total > 0)
    x, ticks, own = features.x[use], features.ticks[use], np.where(labels == off_cpu, -1, labels)[use]
    sums = Sums.of(features.inclusive.rows(use), labels[use])
    levels = levels_of(sums, own, profile.functions, _places(parts, clusters, labels))
    is_short = np.array([*(not phase for phase in parts.is_phase), False])
    dispersion = overdispersion(x, ticks)
    clustering = Clustering(
        by_first_appearance(clusters),
        labels,
        _score_k(x, ticks, dispersion, own, levels, k),
        dispersion,
        off_cpu,
        scatter=usual_scatter(x, own, ticks),
        borders=explain_boundaries(sums, labels[use], use, profile.functions, options),
        levels=levels,
        short=short_segments(profile, np.where(is_short[clusters], clusters, -1)),
    )
    requested_k = k or level
    clustering = clustering if requested_k is None else clustering.at_level(requested_k)
    phases = {int(part): int(label) for part, label in zip(clusters, clustering.labels, strict=True) if label >= 0}
    stages = stages_of(parts.root, parts, sequence, profile.functions, phases, float(profile.start_s[0]))
    return replace(clustering, stages=stages)


def _places(parts: Parts, clusters: IntArray, labels: IntArray) -> dict[int, tuple[int, ...]]:
    """Return the place in the tree of each phase. clusters, labels: (n,) part and phase of each interval."""
    return {int(label): parts.place[part] for part, label in zip(clusters.tolist(), labels.tolist(), strict=True)}


def part_of_intervals(profile: IntervalProfile, sequence: Sequence, parts: Parts) -> IntArray:
    """Return the part that has most of each interval, (n,); -1 for one without samples and waiting ticks.

    If the program waited for a processor meanwhile, such an interval belongs to the part before it.
    """
    row = np.minimum(np.searchsorted(profile.end_s, sequence.time_s, side="left"), profile.n_intervals - 1)
    size = len(parts.nodes) + 1
    count = np.bincount(row * size + parts.part + 1, minlength=profile.n_intervals * size)
    most: IntArray = count.reshape(-1, size).argmax(axis=1) - 1
    empty = np.flatnonzero(np.bincount(row, minlength=profile.n_intervals) == 0)
    after = np.searchsorted(sequence.time_s, profile.end_s[empty])
    is_inside = (after > 0) & (after < len(sequence))
    empty, after = empty[is_inside], after[is_inside]
    begin, end = sequence.time_s[after - 1], sequence.time_s[after]
    delayed_s = delayed_between(profile, np.stack([begin, end], axis=1).ravel())[::2]
    is_delayed = 2 * delayed_s > end - begin
    most[empty[is_delayed]] = parts.part[after[is_delayed] - 1]
    return most


def phase_of_parts(parts: Parts) -> IntArray:
    """Return the phase of each part, by number; -1 if too short, and for none. All waiting parts are one phase."""
    out = np.array([at if phase else -1 for at, phase in enumerate(parts.is_phase)] + [-1], dtype=np.int64)
    waiting = _waiting(parts)
    out[waiting] = waiting[:1] * len(waiting)
    return out


def _waiting(parts: Parts) -> list[int]:
    """Return the parts that are phases of waiting."""
    both = zip(parts.is_phase, parts.is_waiting, strict=True)
    return [at for at, (phase, waits) in enumerate(both) if phase and waits]


def _score_k(
    x: FloatArray, ticks: FloatArray, dispersion: float, labels: IntArray, levels: Row[Level], k: int | None
) -> Judgement:
    """Score every number of phases up to those found. labels: (m,), -1 for none."""
    labelled = np.flatnonzero(labels >= 0)
    labelled = labelled[evenly(len(labelled), LONG)]
    count = len(np.unique(labels[labels >= 0]))
    if not len(labelled):
        return Judgement(max(count, 1), "borders" if k is None else "user", votes_of(()), ())
    cuts = [tuple((phase,) for phase in np.unique(labels[labels >= 0]).tolist()), *(level.phases for level in levels)]
    fits: list[Fit] = []
    for groups in reversed(cuts):
        of_phase = np.full(int(labels.max()) + 1, -1)
        for number, group in enumerate(groups):
            of_phase[list(group)] = number
        fit = make_fit(x[labelled], by_first_appearance(of_phase[labels[labelled]]))
        # A sample of few intervals may lack a phase.
        if not fits or fit.k > fits[-1].k:
            fits.append(fit)
    noise = [dispersion * sampling_noise(fit.centers[fit.labels], ticks[labelled]) for fit in fits]
    scores = score_cuts(x[labelled], fits, noise)
    return Judgement(count, "borders" if k is None else "user", votes_of(scores), scores)
