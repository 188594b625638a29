"""Which stretches of a run are which of a known one: the cheapest alignment of both, in seconds that do not agree.

A stretch beside one of its kind costs what their lengths differ by; beside another one, or beside none, its length.
The known run may go on where the other ends: it is a part from the beginning, or the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray


@dataclass(frozen=True)
class Alignment:
    """What stands beside what.

    pairs: (stretch, of the known run), ascending. end: stretches of the known run that are used. similarity: from 0 to
    1, the share of both runs' seconds that agree.
    """

    pairs: tuple[tuple[int, int], ...]
    end: int
    similarity: float


def align(seconds: FloatArray, known_s: FloatArray, unlike: FloatArray) -> Alignment:
    """Align a run with the beginning of a known one.

    Args:
        seconds: lengths (n,) of the run's stretches; the last one may go on.
        known_s: lengths (m,) of the known run's stretches.
        unlike: (n, m) from 0 where stretches are of one kind to 1 where they have nothing in common.
    """
    n, m = len(seconds), len(known_s)
    if not n or not m:
        return Alignment((), 0, 0.0)
    total = seconds[:, None] + known_s
    beside = (1 - unlike) * np.abs(seconds[:, None] - known_s) + unlike * total
    # The last stretch goes on: it may be shorter than the known one, and what is left of that is not used.
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
    # An end that uses more of the known run is not cheaper for that: costs are held against what both use.
    last_used = used[:-1] + np.minimum(seconds[-1], known_s)
    agreement = 1 - cost[n, 1:] / (seconds.sum() + last_used)
    end = int(agreement.argmax()) + 1
    return Alignment(_traced(cost, beside, open_end, seconds, end), end, max(float(agreement[end - 1]), 0.0))


def _traced(
    cost: FloatArray, beside: FloatArray, open_end: FloatArray, seconds: FloatArray, end: int
) -> tuple[tuple[int, int], ...]:
    """The pairs of the cheapest way to `end`."""
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
