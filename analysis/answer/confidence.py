"""Confidence of the phases of a result: the part of each phase that is found again in resampled runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from incprof.analysis.features import Features
from incprof.analysis.phase_result import PhaseResult, verdict
from incprof.analysis.phases.by_samples import phase_of_parts
from incprof.analysis.phases.changepoints import BLOCK
from incprof.analysis.phases.kmeans import KMeansRuns
from incprof.analysis.phases.levels import parts_of
from incprof.analysis.phases.sequence import Sequence, sequence_of
from incprof.analysis.segment_sums import episodes_of, evenly
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile

# The longer a run, the more one resampled run shows: draw this many samples in all, in FEWEST to MOST runs.
IN_ALL, FEWEST, MOST = 160_000, 4, 12


def resampled_labels(
    labels: IntArray, segment: IntArray, find: Callable[[IntArray], IntArray], random_state: int, row: int
) -> IntArray:
    """Resample the run and find the phases of each resampled run, (r, m).

    Args:
        labels: (m,) phases, -1 for none: such samples are not drawn.
        segment: (m,) the segment of each sample, ascending: each is replaced by a sample of its own segment.
        find: returns the phases of some samples (ascending or not) as a run, -1 for none.
        random_state: seed. Same seed, same answer.
        row: block length: this many consecutive samples are drawn at a time, as neighbours depend on each other.
    """
    use = np.flatnonzero(labels >= 0)
    runs = int(np.clip(IN_ALL // max(len(use), 1), FEWEST, MOST))
    rng = np.random.default_rng(random_state)
    out = np.full((runs, len(labels)), -1, dtype=np.int64)
    # A change of phase ends a segment as well.
    parts = segment[use] * (int(labels.max(initial=0)) + 1) + labels[use]
    for run in range(runs if len(use) else 0):
        out[run, use] = find(use[_resampled_in_episodes(parts, rng, row)])
    return out


def _resampled_in_episodes(parts: IntArray, rng: np.random.Generator, many: int) -> IntArray:
    """Replace each of some samples, in order of time, by one of the same part of the run, (m,)."""
    out = np.arange(len(parts))
    episodes = episodes_of(parts)
    for first, end in zip(episodes.first.tolist(), episodes.end.tolist(), strict=True):
        length = end - first
        row = min(many, -(-length // many))
        start = first + rng.integers(0, length - row + 1, -(-length // row))
        out[first:end] = (start[:, None] + np.arange(row)).ravel()[:length]
    return out


def recovery_rates(labels: IntArray, drawn: IntArray, *, whole: bool = True) -> FloatArray:
    """Return the share of each phase that is found again, (k,), over one more than its number of samples.

    Two samples are no certainty, however far they are from all others.

    Args:
        labels: (m,) phases 0..k-1, -1 for none.
        drawn: (r, m) as resampled_labels returns them.
        whole: a group must also hold most of the phase: half a phase is not the same phase.
    """
    k = int(labels.max(initial=-1)) + 1
    use = labels >= 0
    kept = np.zeros(k)
    if not use.any():
        return kept
    for resampled in drawn:
        kept += np.bincount(labels[use], weights=_recovered(resampled[use], labels[use], k, whole=whole), minlength=k)
    return kept / len(drawn) / (np.bincount(labels[use], minlength=k) + 1.0)


def same_k_rate(labels: IntArray, drawn: IntArray) -> float:
    """Return the share of the resampled runs that have the same number of phases."""
    k = len(np.unique(labels[labels >= 0]))
    return float(np.mean([len(np.unique(resampled[resampled >= 0])) == k for resampled in drawn]))


def _recovered(resampled: IntArray, labels: IntArray, k: int, *, whole: bool) -> BoolArray:
    """Return which samples are in a group whose majority is of their own phase, (m,)."""
    table = np.zeros((int(resampled.max(initial=-1)) + 2, k))
    np.add.at(table, (resampled, labels), 1.0)
    is_recovered: BoolArray = (resampled >= 0) & (np.argmax(table, axis=1)[resampled] == labels)
    return is_recovered & (np.argmax(table, axis=0)[labels] == resampled) if whole else is_recovered


# Size of a resampled run: intervals for the paper's method, whose k-means is slow; samples for the other method.
INTERVALS, SAMPLES = 500, 40_000
# Block length of intervals: neighbours depend on each other.
IN_A_ROW = 4


def with_confidence(
    profile: IntervalProfile,
    features: Features,
    result: PhaseResult,
    *,
    random_state: int = 0,
    runs: KMeansRuns | None = None,
) -> PhaseResult:
    """Add to each phase its confidence, and to the result how often the number of phases is found again.

    Args:
        profile: that the phases were found in.
        features: that the phases were found from.
        result: phases.
        random_state: seed of the resampling. Same seed, same answer.
        runs: of k-means (paper).

    Returns:
        The result; unchanged where most of the time is in unresolved code, which cannot be told apart.
    """
    if result.k_again is not None or verdict(result) == "nameless":
        return result
    if result.method == "paper":
        use = np.flatnonzero(result.labels >= 0)
        use = use[evenly(len(use), INTERVALS)]
        labels, segment, row = result.labels[use], np.zeros(len(use), dtype=np.int64), IN_A_ROW
        find = _by_kmeans(features, result, use, random_state, runs or KMeansRuns())
    else:
        sequence = sequence_of(profile)
        sequence = sequence.select(evenly(len(sequence), SAMPLES))
        at = np.minimum(np.searchsorted(profile.end_s, sequence.time_s, side="left"), profile.n_intervals - 1)
        labels, row = result.labels[at], BLOCK
        segment = np.cumsum(np.diff(labels, prepend=labels[:1]) != 0)
        find = _by_samples(sequence, result)
    drawn = resampled_labels(labels, segment, find, random_state, row)
    sure = np.zeros(max(result.k, 1))
    present = np.unique(labels[labels >= 0])
    sure[present] = recovery_rates(labels, drawn, whole=result.rule != "level")[present] if len(present) else 0.0
    phases = tuple(replace(phase, confidence=float(sure[phase.id])) for phase in result.phases)
    is_preset = result.rule in ("user", "level") or not len(present)
    return replace(result, phases=phases, k_again=None if is_preset else same_k_rate(labels, drawn))


def _by_samples(sequence: Sequence, result: PhaseResult) -> Callable[[IntArray], IntArray]:
    """Return a function that finds phases in the given samples, taken in the given order."""
    k = result.k if result.rule in ("user", "level") else None

    def find(drawn: IntArray) -> IntArray:
        parts = parts_of(sequence.select(drawn), result.options.phases, k)
        return phase_of_parts(parts)[parts.part]

    return find


def _by_kmeans(
    features: Features, result: PhaseResult, use: IntArray, seed: int, runs: KMeansRuns
) -> Callable[[IntArray], IntArray]:
    """Return a function that finds phases in some of the intervals `use`, taken in the given order."""

    def find(drawn: IntArray) -> IntArray:
        x = features.x[use[drawn]]
        fits = runs.fits(x, seed)
        k = min(result.k_clusters, len(fits)) if result.rule == "user" else runs.elbow(x, seed, fits)
        return fits[k - 1].labels

    return find
