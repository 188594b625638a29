"""Length of phases to fractions of an interval: an interval in which the phase changes is shared between both phases.

With whole intervals, the length of a phase of ten of them is uncertain by a tenth or more. The composition of the
interval at a change shows how much of it belongs to each phase. n intervals, k phases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.features import Features
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.segment_sums import visits_of
from incprof.model import FloatArray, IntArray

# Episodes of this length or more are compared with the interval at their end.
CORE = 3
# How far a share may lie outside 0..1 by chance, in standard errors. A smaller value would bias all boundaries.
BEYOND = 3.0
UNIFORM = 1.0 / 12.0


@dataclass(frozen=True)
class Membership:
    """Membership of intervals in phases.

    Attributes:
        weight: (n, k + 1) share of each interval in each phase, the last column for none; rows sum to 1.
        variance: (k,) of the seconds in each phase, s^2.
    """

    weight: FloatArray
    variance: FloatArray


def share_borders(features: Features, result: PhaseResult, length: FloatArray) -> Membership:
    """Share the intervals at changes between the phases before and after.

    Args:
        features: composition of the intervals.
        result: k phases of the same profile.
        length: (n,) seconds to be shared.
    """
    labels, k, n = result.labels, result.k, len(result.labels)
    weight, variance = np.zeros((n, k + 1)), np.zeros(k)
    weight[np.arange(n), np.where(labels >= 0, labels, k)] = 1.0
    centers = [_center(features, labels == phase) for phase in range(k)]
    visits = visits_of(labels)
    for at in range(len(visits.group) - 1):
        one, other = int(visits.group[at]), int(visits.group[at + 1])
        gap = np.arange(visits.end[at], visits.first[at + 1])
        if one == other or len(gap) > result.options.phases.short_visit:
            continue
        last, first = int(visits.end[at]) - 1, int(visits.first[at + 1])
        ends = [end for end, visit in ((last, at), (first, at + 1)) if visits.size[visit] >= CORE]
        window = np.sort(np.concatenate([gap, np.array(ends, dtype=np.int64)])).astype(np.int64)
        part, error = _part(features, window, centers[one], centers[other], result.dispersion)
        # Where the share is unknown, an unassigned interval is shared evenly, and any other stays in its phase.
        known = np.isfinite(part)
        part = np.where(known, part, np.where(labels[window] < 0, 0.5, labels[window] == other))
        weight[window] = 0.0
        weight[window, one] += 1.0 - part
        weight[window, other] += part
        border = float((length[window] ** 2 * np.where(known, error**2, UNIFORM)).sum())
        if not len(window):
            border = float(UNIFORM * length[first] ** 2)
        variance[[one, other]] += border
    return Membership(weight, variance)


def _center(features: Features, members: np.ndarray) -> FloatArray | None:
    """Return the mean composition of a phase; None for one that mostly waits."""
    busy = members & ~features.idle
    if busy.sum() * 2 < members.sum() or not busy.any():
        return None
    center: FloatArray = features.x[busy].mean(axis=0)
    return center


def _part(
    features: Features, window: IntArray, start: FloatArray | None, end: FloatArray | None, dispersion: float
) -> tuple[FloatArray, FloatArray]:
    """Return the share of each interval in the phase after, and its standard error; NaN where unknown."""
    unknown = np.full(len(window), np.nan)
    if start is None or end is None:
        return unknown, unknown
    line = end - start
    width = float(line @ line)
    ticks = features.ticks[window]
    if width <= 0:
        return unknown, unknown
    x = features.x[window]
    part = (x - start) @ line / width
    # Error of a mixture at that place, so that a pure interval does not appear free of noise by chance.
    at = np.clip(part, 0.0, 1.0)[:, None]
    mixed = (1 - at) * start + at * end
    spread = np.clip(mixed @ line**2 - (mixed @ line) ** 2, 0.0, None) / width**2
    error = np.sqrt(dispersion * spread / np.maximum(ticks, 1.0))
    part = np.clip(part, -BEYOND * error, 1.0 + BEYOND * error)
    seen = (ticks > 0) & ~features.idle[window]
    return np.where(seen, part, np.nan), error
