"""Align the segments of a run with those of a known run: the alignment of least cost in disagreeing seconds.

Two aligned segments of one kind cost the difference of their lengths. Segments of different kinds, or without a
partner, cost their length. The known run may continue where the other ends: the run may be its beginning, or all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray


@dataclass(frozen=True)
class Alignment:
    """An alignment of two runs.

    Attributes:
        pairs: (segment, segment of the known run), ascending.
        end: Number of segments of the known run that are used.
        similarity: From 0 to 1, the share of both runs' seconds that agree.
    """

    pairs: tuple[tuple[int, int], ...]
    end: int
    similarity: float


def align(seconds: FloatArray, known_s: FloatArray, unlike: FloatArray) -> Alignment:
    """Align a run with the beginning of a known one.

    Args:
        seconds: (n,) lengths of the run's segments; the last one may be incomplete.
        known_s: (m,) lengths of the known run's segments.
        unlike: (n, m) from 0 for segments of one kind to 1 for segments that have nothing in common.
    """
    n, m = len(seconds), len(known_s)
    if not n or not m:
        return Alignment((), 0, 0.0)
    total = seconds[:, None] + known_s
    beside = (1 - unlike) * np.abs(seconds[:, None] - known_s) + unlike * total
    # The last segment is incomplete: it may be shorter than the known one, whose rest is not used.
    open_end = (1 - unlike[-1]) * np.maximum(seconds[-1] - known_s, 0) + unlike[-1] * 2 * seconds[-1]
    cost = np.zeros((n + 1, m + 1))
    cost[1:, 0], cost[0, 1:] = np.cumsum(seconds), np.cumsum(known_s)
    for i in range(1, n + 1):
        step = open_end if i == n else beside[i - 1]
        best = np.minimum(cost[i - 1, :-1] + step, cost[i - 1, 1:] + seconds[i - 1])
        row, left = cost[i], float(cost[i, 0])
        for j, (value, length) in enumerate(zip(best.tolist(), known_s.tolist(), strict=True), 1):
            left = min(value, left + length)
            row[j] = left
    used = np.concatenate([[0], np.cumsum(np.minimum(known_s, np.inf))])
    # Ends that use more of the known run must not be favoured: costs are relative to the seconds of both used parts.
    last_used = used[:-1] + np.minimum(seconds[-1], known_s)
    agreement = 1 - cost[n, 1:] / (seconds.sum() + last_used)
    end = int(agreement.argmax()) + 1
    return Alignment(_traced(cost, beside, open_end, seconds, end), end, max(float(agreement[end - 1]), 0.0))


def _traced(
    cost: FloatArray, beside: FloatArray, open_end: FloatArray, seconds: FloatArray, end: int
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of the path of least cost to `end`."""
    i, j, pairs = len(seconds), end, []
    while i and j:
        step = open_end[j - 1] if i == len(seconds) else beside[i - 1, j - 1]
        if np.isclose(cost[i, j], cost[i - 1, j - 1] + step):
            pairs.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif np.isclose(cost[i, j], cost[i - 1, j] + seconds[i - 1]):
            i -= 1
        else:
            j -= 1
    return tuple(pairs[::-1])
