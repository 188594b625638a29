"""Intervals of the analysis: recorded ones, joined or cut so that each holds enough samples and no change of phase.

b bins.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.phases.levels import borders_s, sequence_and_parts
from incprof.analysis.phases.sequence import Sequence
from incprof.analysis.segment_sums import pooled_by
from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, IntervalProfile, pooled
from incprof.model.intervals import cut

# A heartbeat is read about once a second. A short run has as many bins as USUAL, as far as it was recorded so finely; a
# long one has at most MOST.
LONGEST_S, USUAL, MOST = 1.0, 200, 100_000
# An edge that is no boundary is dropped if nearer to a boundary than this share of a bin.
NEAR = 0.25
LEAST_S = 1e-6


def in_bins(profile: IntervalProfile, options: PhaseOptions = PHASES, k: int | None = None) -> IntervalProfile:
    """Return a profile in intervals, none of which lies in two phases.

    Args:
        profile: as recorded, with call paths or without.
        options: thresholds.
        k: least number of phases wanted.
    """
    if not profile.n_intervals or not float(profile.self_s.sum()) > 0:
        return profile
    if not has_times(profile):
        return pooled(profile, pooled_by(profile, options))
    sequence, parts = sequence_and_parts(profile, options, k)
    recorded_s = profile.metadata.interval_s
    width_s = _width_s(sequence)
    by = max(pooled_by(profile, options), _whole_number(width_s / recorded_s))
    grid = pooled(profile, by)
    cuts = 1 if by > 1 else max(1, round(recorded_s / max(LONGEST_S, width_s)))
    edges = _edges(grid, cuts)
    borders = borders_s(sequence, parts.part)
    edges = _with_borders(edges, borders, sequence.period_s, NEAR * recorded_s * by / cuts)
    start_s, end_s = _without_holes(profile, edges)
    metadata = replace(profile.metadata, interval_s=recorded_s * by / cuts, pooled=by)
    if len(start_s) == profile.n_intervals and np.array_equal(end_s, profile.end_s):
        return profile
    return replace(cut(profile, start_s, end_s), metadata=metadata)


def has_times(profile: IntervalProfile) -> bool:
    """Return whether the times of samples are known, rather than their intervals alone."""
    return bool(len(profile.samples.time_s)) and profile.metadata.ordered


def _width_s(sequence: Sequence) -> float:
    """Return the least length of a bin, seconds."""
    whole_s = len(sequence) * sequence.period_s
    return max(min(LONGEST_S, whole_s / USUAL), whole_s / MOST)


def _whole_number(times: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, ... up to a number; 1 at least."""
    power = 10 ** max(int(np.floor(np.log10(max(times, 1.0)) + LEAST_S)), 0)
    return int(max(step * power for step in (1, 2, 5) if step * power <= max(times, 1.0) * (1.0 + LEAST_S)))


def _edges(grid: IntervalProfile, parts: int) -> FloatArray:
    """Return the edges of intervals, each cut into the given number of parts."""
    step = (grid.end_s - grid.start_s) / parts
    inner = grid.start_s[:, None] + step[:, None] * np.arange(1, parts)
    return np.unique(np.concatenate([grid.start_s, inner.ravel(), grid.end_s]))


def _with_borders(edges: FloatArray, borders: FloatArray, period_s: float, near_s: float) -> FloatArray:
    """Add boundaries to edges, except those within a sample of an edge."""
    nearest = np.clip(np.searchsorted(edges, borders), 1, len(edges) - 1)
    nearest -= borders - edges[nearest - 1] < edges[nearest] - borders
    new = borders[np.abs(edges[nearest] - borders) > period_s]
    if not len(new):
        return edges
    at = np.clip(np.searchsorted(new, edges), 1, len(new)) - 1
    apart = np.abs(new[at] - edges)
    apart = np.minimum(apart, np.abs(new[np.minimum(at + 1, len(new) - 1)] - edges))
    kept = apart > near_s
    kept[nearest] |= np.abs(edges[nearest] - borders) <= period_s
    kept[[0, -1]] = True
    return np.unique(np.concatenate([edges[kept], new]))


def _without_holes(profile: IntervalProfile, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return start and end of the intervals between edges, without the times that no recorded interval covers."""
    hole = np.flatnonzero(profile.start_s[1:] > profile.end_s[:-1] + LEAST_S)
    edges = np.unique(np.concatenate([edges, profile.end_s[hole], profile.start_s[hole + 1]]))
    start_s, end_s = edges[:-1], edges[1:]
    middle = (start_s + end_s) / 2.0
    at = np.minimum(np.searchsorted(profile.end_s, middle), profile.n_intervals - 1)
    there = (middle >= profile.start_s[at] - LEAST_S) & (end_s - start_s > LEAST_S)
    return start_s[there], end_s[there]
