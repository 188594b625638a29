"""How many phases: the elbow as published, of the fits of kmeans.fit_range, one for each k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def chord_elbow(ks: Sequence[int], inertia: Sequence[float]) -> int:
    """Return the k whose point lies furthest below the line from the first to the last point of the curve."""
    x, y = np.asarray(ks, dtype=np.float64), np.asarray(inertia, dtype=np.float64)
    if len(x) < 3 or y[0] <= y[-1]:
        return int(ks[0]) if len(x) == 0 or y[0] <= y[-1] else int(ks[-1])
    chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    return int(ks[int(np.argmax(np.round((chord - y) / (y[0] - y[-1]), 12)))])


def elbow(ks: Sequence[int], inertia: Sequence[float]) -> int:
    """Return the elbow that Kneedle finds, or the chord's where it finds none (paper, section V-A)."""
    if len(ks) < 3 or inertia[0] <= inertia[-1]:
        return chord_elbow(ks, inertia)
    knee = kneedle(ks, inertia)
    return chord_elbow(ks, inertia) if knee is None else int(ks[knee])


def kneedle(ks: Sequence[int], inertia: Sequence[float]) -> int | None:
    """Return the index of the elbow of a falling convex curve (Satopaa et al. 2011), as kneed finds it.

    How far the curve lies below the line between its ends has its first peak there, if it then falls by more than a
    step of k before it rises again. kneed itself takes two seconds to import: it draws, too.
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (ks, inertia))
    x, y = ((values - values.min()) / (values.max() - values.min()) for values in (x, y))
    below = (y.max() - y) - x
    before, after = np.append(below[0], below[:-1]), np.append(below[1:], below[-1])
    peak, valley = (below >= before) & (below >= after), (below <= before) & (below <= after)
    knee, threshold, falling = 0, 0.0, False
    for at in range(len(below) - 1):
        if peak[at]:
            knee, threshold, falling = at, float(below[at] - np.diff(x).mean()), True
        if valley[at]:
            falling = False
        if falling and below[at + 1] < threshold:
            return knee
    return None
