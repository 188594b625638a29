"""How many phases: the elbow as published, of the fits of kmeans.fit_range, one for each k."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

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
    with warnings.catch_warnings():
        # Where there is no elbow, some versions of kneed warn of it.
        warnings.simplefilter("ignore")
        knee = _locator()(ks, inertia, curve="convex", direction="decreasing").knee
    return chord_elbow(ks, inertia) if knee is None else int(knee)


def _locator() -> Any:
    """Import kneed, which imports matplotlib where it is installed: that may complain about its cache of fonts."""
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        from kneed import KneeLocator
    finally:
        log.setLevel(level)
    return KneeLocator
