"""Phases of one process as in EPAS: the local logical trace, cut where a type of communication recurs.

The paper's Sections 4.2 and 4.3. An event's logical time is that of the previous event in its process plus one, so the
ticks of a process are its events in order. A segment ends before the first tick whose type it already contains. It is
the same phase as an earlier one if their types are equal, tick for tick, and their work is similar, tick for tick. n
ticks, s segments.
"""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray

# The paper's similarity of two ticks: the smaller amount of work over the larger one.
SIMILAR = 0.85


def segments_of(kinds: IntArray) -> IntArray:
    """Return the boundaries of segments, (s + 1,), in each of which no kind occurs twice. kinds: (n,) from 0."""
    n = len(kinds)
    order = np.argsort(kinds, kind="stable")
    before = np.full(n, -1, dtype=np.int64)
    again = kinds[order][1:] == kinds[order][:-1]
    before[order[1:][again]] = order[:-1][again]
    # A segment that begins at i ends before the first tick whose kind last occurred at i or later.
    end = np.searchsorted(np.maximum.accumulate(before), np.arange(n), side="left").tolist()
    borders, at = [0], 0
    while at < n:
        at = end[at]
        borders.append(at)
    return np.array(borders, dtype=np.int64)


def same_phase(
    kinds: IntArray, work: FloatArray, borders: IntArray, similar: float = SIMILAR, *, noisy: bool = False
) -> IntArray:
    """Return the phase of each segment, (s,), numbered from 0 by first appearance.

    Args:
        kinds: (n,) kinds of communication.
        work: (n, w) amounts of work before each event, of one process or of several; 0 without work.
        borders: (s + 1,) boundaries of segments.
        similar: Least ratio of two amounts that count as equal; two zeros do.
        noisy: Whether the work is a time: then occurrences are distinguished by its modes, not by single ratios.
    """
    first, length = borders[:-1], np.diff(borders)
    phase = np.full(len(first), -1, dtype=np.int64)
    alike: dict[int, IntArray] = {}
    for size in np.unique(length).tolist():
        mine = np.flatnonzero(length == size)
        rows = kinds[first[mine][:, None] + np.arange(size)]
        _, which = np.unique(rows, axis=0, return_inverse=True)
        for group in range(int(which.max()) + 1):
            members = mine[which.ravel() == group]
            alike[int(members[0])] = members
    # A segment belongs to the first phase to which it is similar, or starts a new one.
    for members in alike.values():
        left = members
        if noisy:
            place = first[members][:, None] + np.arange(int(length[members[0]]))
            which = modes(work[place].sum(axis=2), similar)
            _, opens = np.unique(which, return_index=True)
            phase[members] = members[opens][which]
            continue
        while len(left):
            place = first[left][:, None] + np.arange(int(length[left[0]]))
            near = _similar(work[place], work[place[0]], similar)
            phase[left[near]] = left[0]
            left = left[~near]
    _, numbered = np.unique(phase, return_inverse=True)
    return numbered.ravel().astype(np.int64)


def _similar(work: FloatArray, pattern: FloatArray, least: float) -> np.ndarray:
    """Return which segments, (s, ticks, w), have similar work to another one, (ticks, w), in every tick."""
    less, more = np.minimum(work, pattern), np.maximum(work, pattern)
    return np.asarray((less >= least * more).all(axis=(1, 2)))


def epas(
    kinds: IntArray, work: FloatArray, similar: float = SIMILAR, *, noisy: bool = False
) -> tuple[IntArray, IntArray]:
    """Return the boundaries of segments, (s + 1,), and the phase of each, (s,). See `same_phase`."""
    borders = segments_of(kinds)
    return borders, same_phase(kinds, work, borders, similar, noisy=noisy)


# Greatest height of a valley, as a share of the lower of the two peaks next to it, and the least number of standard
# deviations by which its count is lower.
DEPTH = 0.5
DEVIATIONS = 4.0
# Bins per factor of one similarity, and the smoothing kernel of their counts.
BINS = 4
WINDOW = np.array([1.0, 2.0, 3.0, 2.0, 1.0])
FEWEST = 8
# Least share of the occurrences on either side of a valley: fewer are outliers.
LEAST = 0.05
# Window of the running median, which is searched too: a lasting phase stands out from its noise.
AROUND = 9


def modes(work: FloatArray, similar: float) -> IntArray:
    """Return the group of each occurrence, (m,), numbered from 0 by first appearance.

    Args:
        work: (m, t) work before the ticks of each occurrence.
        similar: Least ratio of two amounts that count as equal.
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
    """Return which occurrences, (m,), are above the deepest valley of any tick or of the sum; None without a valley."""
    whole = work.sum(axis=1)
    best, found = 0.0, None
    for amount in (whole, *work.T):
        for smoothed, turns in ((amount, 1), (_running_median(amount), AROUND)):
            valley, depth = _valley(smoothed, similar)
            # Overlapping medians are not independent.
            depth /= np.sqrt(turns)
            above = smoothed > valley
            fewer = min(int(above.sum()), int((~above).sum()))
            if depth <= max(best, DEVIATIONS) or fewer < LEAST * len(above):
                continue
            low, high = float(np.median(amount[~above])), float(np.median(amount[above]))
            # Amounts whose sums are similar, by the paper's ratio, are the same phase.
            if high - low > (1.0 - similar) * float(np.median(whole[above])):
                best, found = depth, above
    return found


def _running_median(amount: FloatArray) -> FloatArray:
    """Return the running median over neighbouring occurrences, (m,)."""
    if len(amount) < AROUND:
        return amount
    padded = np.pad(amount, AROUND // 2, mode="reflect")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, AROUND), axis=1))


def _valley(amount: FloatArray, similar: float) -> tuple[float, float]:
    """Return the amount at the deepest valley, and its depth in standard deviations; 0 without a valley."""
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
    # Of a wide valley, the middle is used.
    deepest = np.flatnonzero(depth >= depth.max())
    at = deepest[len(deepest) // 2] - len(WINDOW) + low + 0.5
    return float(np.exp(at * width)), float(depth.max())
