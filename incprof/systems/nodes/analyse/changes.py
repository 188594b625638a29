"""Detect when a node's activity changes: change points of levels, by seeded binary segmentation.

Windows of lengths 8, 16, ... cover the series, each overlapping the next by three quarters (Kovacs et al., 2023). The
best split of a window is where the means of its two sides differ most relative to the noise. Of the significant splits
those of the narrowest windows are accepted first, so that no accepted window contains two changes.
"""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray

SHORTEST, WIDEST = 8, 512
# A side has at least two rows: a single odd row is not a state.
SIDE = 2
# Scatter of a state's mean between occurrences, relative to the scatter of its rows.
AGAIN = 0.3
# A difference must be this many times the difference expected by chance.
BEYOND = 2.0


def changes(table: FloatArray) -> IntArray:
    """Find the rows at which a state begins, ascending; row 0 is never one of them.

    Args:
        table: (rows, counters) in coordinates in which rows of one state scatter by 1, independently.
    """
    rows, counters = table.shape
    table = table.astype(np.float64)
    sums = np.vstack([np.zeros(counters), np.cumsum(table - table.mean(axis=0), axis=0)])
    chance = counters + 2 * np.sqrt(counters * np.log(max(rows, 2))) + 2 * np.log(max(rows, 2))
    taken = np.zeros(rows + 1, dtype=bool)
    length = SHORTEST
    while length <= min(WIDEST, 2 * rows):
        for at, _ in _splits(sums, min(length, rows), BEYOND * chance, taken):
            taken[at] = True
        length *= 2
    return np.flatnonzero(taken)


def _splits(sums: FloatArray, length: int, least: float, taken: np.ndarray) -> list[tuple[int, float]]:
    """Find splits of windows of one length without a change yet, strongest first; none within a window of another."""
    rows = len(sums) - 1
    starts = np.unique(np.append(np.arange(0, rows - length + 1, max(1, length // 4)), rows - length))
    before = np.concatenate([[0], np.cumsum(taken)])
    starts = starts[before[starts + length] == before[starts + 1]]
    found: list[tuple[float, int, int]] = []
    offsets = np.arange(SIDE, length - SIDE + 1)
    for part in np.array_split(starts, max(1, len(starts) * length // 200_000)):
        if not len(part):
            continue
        left = sums[part[:, None] + offsets] - sums[part][:, None]
        right = (sums[part + length] - sums[part])[:, None] - left
        n, m = offsets[None, :, None], (length - offsets)[None, :, None]
        gain = ((left / n - right / m) ** 2 / (1 / n + 1 / m + 2 * AGAIN**2)).sum(axis=2)
        best = gain.argmax(axis=1)
        strength = gain[np.arange(len(part)), best]
        found += [(-s, a + SIDE + b, a) for s, a, b in zip(strength, part, best, strict=True) if s > least]
    chosen: list[tuple[int, float]] = []
    used = np.zeros(rows + 1, dtype=bool)
    for strength, at, start in sorted(found):
        if not used[start + 1 : start + length].any():
            used[at] = True
            chosen.append((at, -strength))
    return chosen
