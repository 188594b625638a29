"""How many phases: the elbow as published, and a rule that knows what sampling alone explains.

Both work on the fits of kmeans.fit_range, one for each k.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from incprof.analysis.phases.kmeans import Fit
from incprof.analysis.phases.noise import chi2_quantile, effective_dimensions
from incprof.model import BoolArray, FloatArray

# Inertia up to this multiple of what sampling explains is nobody's phase.
NOISE_SLACK = 1.3
# Normal score from which an interval does not look like its phase; a phase may have a few of them.
MISFIT = 2.5
# This far out it is not the tail of a phase either, but something else.
STRAY = 6.0
MISFIT_SHARE = 0.005
# Less than this is a weak structure that may be made by clustering itself (Kaufman and Rousseeuw 1990, table 2.4).
SILHOUETTE_FLOOR = 0.5


def chord_elbow(ks: Sequence[int], inertia: Sequence[float]) -> int:
    """Return the k whose point lies furthest below the line from the first to the last point of the curve."""
    x, y = np.asarray(ks, dtype=np.float64), np.asarray(inertia, dtype=np.float64)
    if len(x) < 3 or y[0] <= y[-1]:
        return int(ks[0]) if len(x) == 0 or y[0] <= y[-1] else int(ks[-1])
    chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    return int(ks[int(np.argmax(np.round((chord - y) / (y[0] - y[-1]), 12)))])


def elbow(ks: Sequence[int], inertia: Sequence[float]) -> int:
    """Return the elbow that kneed finds, or the chord's where it finds none (paper, section V-A)."""
    if len(ks) < 3 or inertia[0] <= inertia[-1]:
        return chord_elbow(ks, inertia)
    from kneed import KneeLocator  # here: with all that it imports, it takes longer than finding the phases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        knee = KneeLocator(ks, inertia, curve="convex", direction="decreasing").knee
    return chord_elbow(ks, inertia) if knee is None else int(knee)


def misfits(x: FloatArray, fit: Fit, noise: FloatArray, score: float = MISFIT) -> BoolArray:
    """Mark the intervals that lie too far from their center to be explained by `noise` (n,)."""
    distance = ((x - fit.centers[fit.labels]) ** 2).sum(axis=1)
    dof = effective_dimensions(fit.centers)[fit.labels]
    limit = NOISE_SLACK * noise * chi2_quantile(dof, score)
    far: BoolArray = distance > limit
    return far


def sufficient(x: FloatArray, fit: Fit, noise: FloatArray) -> bool:
    """Tell whether a fit leaves no more scatter than `noise` (n,) explains, over all and in its parts."""
    allowed = max(2, int(np.ceil(MISFIT_SHARE * len(x))))
    return fit.inertia <= NOISE_SLACK * float(noise.sum()) and int(misfits(x, fit, noise).sum()) <= allowed


def noise_floor(x: FloatArray, fits: Sequence[Fit], noise: Sequence[FloatArray]) -> int | None:
    """Return the smallest k that is sufficient, None when none is.

    Args:
        x: (n, d) shares.
        fits: one per k.
        noise: per fit, expected squared distance of each interval to its center, shape (n,).
    """
    for fit, expected in zip(fits, noise, strict=True):
        if sufficient(x, fit, expected):
            return fit.k
    return None
