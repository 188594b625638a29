"""Whether what looks like a periodicity may be an accident: how alike its instances are, and how much there is."""

from __future__ import annotations

import math

import numpy as np

from incprof.analysis.patterns.plain import UP, carriers
from incprof.model import FloatArray, IntArray


def is_credible(x: FloatArray, instances: IntArray, pattern: FloatArray) -> bool:
    """Tell whether instances that follow each other are closer than chance makes them, given how many values they are.

    Random series have stretches that resemble the stretch after them, the more so the shorter or smoother they are. So
    few or smooth instances must be very alike, and many may be noisy.

    Args:
        x: (n,) the series.
        instances: (q, 2) ranges in order.
        pattern: (p,) the one in their middle.
    """
    apart, variance, count = 0.0, 0.0, 0
    for (start, middle), (second, end) in zip(instances[:-1].tolist(), instances[1:].tolist(), strict=True):
        if middle == second:
            length = min(middle - start, end - second)
            apart += float(np.mean((x[start : start + length] - x[second : second + length]) ** 2))
            variance += float(x[start:middle].var() + x[second:end].var()) / 2
            count += 1
    if not count or not variance > 0:
        return False
    values = count * min(len(pattern) / correlated(pattern), carriers(pattern))
    return math.sqrt(apart / (2 * variance)) <= credible(values)


def credible(values: float) -> float:
    """Return how far apart neighbours may be, of what unlike ones are, with so many independent values."""
    return max(min(0.3 * values / 15, 0.3), 1 - 4.35 / math.sqrt(values))


def correlated(pattern: FloatArray) -> int:
    """Return the least turn of a pattern from which it is about as far as from any other; its length if none."""
    centred = pattern - pattern.mean()
    power = float(centred @ centred)
    if not power > 0:
        return len(pattern)
    likeness = np.fft.irfft(np.abs(np.fft.rfft(centred)) ** 2, len(centred))[: len(centred) // 2 + 1] / power
    # Unlike pieces are sqrt(2) times their deviation apart: this is the same measure as f over its usual value.
    turns = np.flatnonzero(np.sqrt(np.maximum(1 - likeness, 0)) >= UP)
    return int(turns[0]) if len(turns) else len(pattern)
