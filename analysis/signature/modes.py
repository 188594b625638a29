"""Which occurrences do the same work, where the work is a time: by the modes of its distribution.

A time is never the same twice: caches are cold or warm, a processor slows down, a clock has its steps. So the paper's
ratio of two single amounts (Section 4.3) takes noise for other phases. Here occurrences of the same calls are one
phase unless the work before one of these calls has two modes: two ranges of amounts that are frequent, with a valley
between them that chance does not explain, and as far apart as would make the paper's ratio tell occurrences apart.
m occurrences, t ticks.
"""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray

# A valley has at most this part of the lower one of the two peaks beside it, and that many standard deviations of the
# counts less.
DEPTH = 0.5
DEVIATIONS = 4.0
# Bins on the way of one similarity, and what their counts are smoothed by.
BINS = 4
WINDOW = np.array([1.0, 2.0, 3.0, 2.0, 1.0])
FEWEST = 8
# Of the occurrences, so many lie on either side: fewer are outliers.
LEAST = 0.05
# Occurrences whose median is looked at too: a phase that lasts stands out of its noise.
AROUND = 9


def modes(work: FloatArray, similar: float) -> IntArray:
    """Return the group of each occurrence, (m,), numbered from 0 as they first appear.

    Args:
        work: (m, t) before the ticks of each.
        similar: ratio of two amounts from which on they are the same.
    """
    group = np.zeros(len(work), dtype=np.int64)
    left, count = [np.arange(len(work))], 1
    while left:
        mine = left.pop()
        parted = _parted(work[mine], similar)
        if parted is not None:
            group[mine[parted]] = count
            count += 1
            left += [mine[~parted], mine[parted]]
    _, first, which = np.unique(group, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[which]


def _parted(work: FloatArray, similar: float) -> np.ndarray | None:
    """Mark the occurrences, (m,), above the deepest valley of any tick or of the sum; None where there is none."""
    whole = work.sum(axis=1)
    best, found = 0.0, None
    for amount in (whole, *work.T):
        for smoothed, turns in ((amount, 1), (_running_median(amount), AROUND)):
            valley, depth = _valley(smoothed, similar)
            # Medians of the same occurrences are no others.
            depth /= np.sqrt(turns)
            above = smoothed > valley
            fewer = min(int(above.sum()), int((~above).sum()))
            if depth <= max(best, DEVIATIONS) or fewer < LEAST * len(above):
                continue
            low, high = float(np.median(amount[~above])), float(np.median(amount[above]))
            # What would be as much in all, by the paper's ratio, is the same phase.
            if high - low > (1.0 - similar) * float(np.median(whole[above])):
                best, found = depth, above
    return found


def _running_median(amount: FloatArray) -> FloatArray:
    """Return the median of each occurrence and those around it, (m,)."""
    if len(amount) < AROUND:
        return amount
    padded = np.pad(amount, AROUND // 2, mode="reflect")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, AROUND), axis=1))


def _valley(amount: FloatArray, similar: float) -> tuple[float, float]:
    """Return the amount at the deepest valley, and how many standard deviations deep it is; 0 where there is none."""
    positive = amount[amount > 0]
    if len(positive) < FEWEST or not 0.0 < similar < 1.0:
        return 0.0, 0.0
    width = -np.log(similar) / BINS
    place = np.floor(np.log(positive) / width).astype(np.int64)
    low = int(place.min())
    counts = np.bincount(place - low)
    smooth = np.convolve(np.pad(counts, len(WINDOW)), WINDOW / WINDOW.max(), mode="same")
    left, right = np.maximum.accumulate(smooth), np.maximum.accumulate(smooth[::-1])[::-1]
    lower = np.minimum(left, right)
    depth = (lower - smooth) / np.sqrt(np.maximum(lower + smooth, 1.0))
    depth[smooth > DEPTH * lower] = 0.0
    # Of a wide valley, its middle.
    deepest = np.flatnonzero(depth >= depth.max())
    at = deepest[len(deepest) // 2] - len(WINDOW) + low + 0.5
    return float(np.exp(at * width)), float(depth.max())
