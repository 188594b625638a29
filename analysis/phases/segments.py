"""Stretches of a run in which nothing changes, so that intervals of few ticks can be judged by their neighbours too.

An interval of five ticks looks like no other. Neighbours that do not differ by more than counting explains are joined,
the most alike first, until each border between two stretches is a change.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.noise import chi2_quantile, effective_dimensions
from incprof.model import FloatArray, IntArray


def segments(x: FloatArray, ticks: FloatArray, dispersion: float = 1.0, change: float = PHASES.change) -> IntArray:
    """Number the stretches of a run, shape (n,), ascending from 0.

    Args:
        x: (n, d) shares.
        ticks: (n,) samples per interval.
        dispersion: scatter of the intervals over tick counting.
        change: normal score from which two stretches that meet are different.
    """
    counts, label = x * ticks[:, None], np.arange(len(x), dtype=np.int64)
    while len(counts) > 1:
        score = _change(counts, dispersion, change)
        # Alike, and more so than either is like its other neighbour: pairs that share no stretch are joined at once.
        join = (score < 1.0) & (score <= np.append(score[1:], np.inf)) & (score < np.append(np.inf, score[:-1]))
        if not join.any():
            break
        place = np.concatenate([[0], np.cumsum(~join)])
        merged = np.zeros((int(place[-1]) + 1, counts.shape[1]))
        np.add.at(merged, place, counts)
        counts, label = merged, place[label]
    return label


def _change(counts: FloatArray, dispersion: float, change: float) -> FloatArray:
    """Return how different neighbours are, (s - 1,): 1 is the limit of what counting explains. counts: (s, d)."""
    total = np.maximum(counts.sum(axis=1), 1e-9)
    share = counts / total[:, None]
    both = (counts[1:] + counts[:-1] + 0.5 / counts.shape[1]) / (total[1:] + total[:-1] + 0.5)[:, None]
    noise = dispersion * np.maximum(1.0 - (both**2).sum(axis=1), 1e-9) * (1.0 / total[1:] + 1.0 / total[:-1])
    distance = ((share[1:] - share[:-1]) ** 2).sum(axis=1)
    result: FloatArray = distance / (noise * chi2_quantile(effective_dimensions(both), change))
    return result


def pooled(
    x: FloatArray, ticks: FloatArray, dispersion: float = 1.0, options: PhaseOptions = PHASES
) -> tuple[FloatArray, FloatArray]:
    """Return x (n, d) averaged over neighbours of the same stretch until there are about 50 ticks behind each row.

    Returns:
        The rows, and the ticks behind each of them, (n,). Both are as they were where an interval has enough.
    """
    half = int(np.ceil(options.enough_ticks / max(float(np.median(ticks)), 1.0))) // 2
    if half == 0:
        return x, ticks
    label = segments(x, ticks, dispersion, options.change)
    first = np.searchsorted(label, label, side="left")
    behind = np.searchsorted(label, label, side="right")
    place = np.arange(len(x))
    # A window at a border reaches further to the other side.
    low = np.maximum(np.minimum(place - half, behind - 2 * half - 1), first)
    high = np.minimum(np.maximum(place + half + 1, first + 2 * half + 1), behind)
    total = np.vstack([np.zeros(x.shape[1]), np.cumsum(x * ticks[:, None], axis=0)])
    count = np.concatenate([[0.0], np.cumsum(ticks)])
    behind_row = count[high] - count[low]
    rows: FloatArray = (total[high] - total[low]) / behind_row[:, None]
    return rows, behind_row
