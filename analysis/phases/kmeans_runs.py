"""k-means of a table of rows and its elbow, each computed once: what was computed before is taken from a mapping.

scikit-learn and kneed take longer to import than most answers take. The mapping holds JSON values, so that it can be
kept in a file; its contents may be damaged. n rows, d columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from incprof.analysis.phases.choose_k import elbow
from incprof.analysis.phases.kmeans import MAX_K, Fit, by_first_appearance, fit_range, make_fit
from incprof.model import FloatArray


class KMeansRuns:
    """k-means runs by a digest of their rows and seed.

    Attributes:
        used: what this object was asked for, as JSON values by digest: labels and stability for each k, and the elbow.
    """

    def __init__(self, known: Mapping[str, object] | None = None):
        """known: what an object like this used before."""
        self._known = dict(known or {})
        self.used: dict[str, object] = {}

    def fits(self, x: FloatArray, random_state: int, jobs: int = 1) -> list[Fit]:
        """Return the fits of k = 1..8 of rows x (n, d), as `fit_range` does."""
        key = _digest(x, random_state)
        kept = self.used.get(key, self._known.get(key))
        fits = _fits(x, kept)
        if fits is None:
            fits = fit_range(x, random_state=random_state, jobs=jobs)
            kept = {"labels": [fit.labels.tolist() for fit in fits], "stability": [fit.stability for fit in fits]}
        assert isinstance(kept, dict)
        self.used[key] = dict(kept)
        return fits

    def elbow(self, x: FloatArray, random_state: int, fits: list[Fit]) -> int:
        """Return the k that the elbow method chooses among the fits of rows x (n, d)."""
        kept = self.used[_digest(x, random_state)]
        assert isinstance(kept, dict)
        k = kept.get("elbow")
        if not isinstance(k, int) or not 1 <= k <= len(fits):
            k = elbow([fit.k for fit in fits], [fit.inertia for fit in fits])
            kept["elbow"] = k
        return k


def _digest(x: FloatArray, random_state: int) -> str:
    """Return what identifies rows and seed."""
    rows = np.ascontiguousarray(x, dtype=np.float64)
    return hashlib.sha256(repr((rows.shape, random_state)).encode() + rows.tobytes()).hexdigest()


def _fits(x: FloatArray, kept: object) -> list[Fit] | None:
    """Return the fits that were kept for rows x (n, d), None where there are none that can be right."""
    if not isinstance(kept, dict):
        return None
    try:
        labels = np.array(kept["labels"], dtype=np.int64).reshape(-1, len(x))
        stability = [float(value) for value in kept["stability"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if not 1 <= len(labels) == len(stability) <= MAX_K:
        return None
    if any(row.max(initial=-1) != k or (row != by_first_appearance(row)).any() for k, row in enumerate(labels)):
        return None
    return [make_fit(x, row, value) for row, value in zip(labels, stability, strict=True)]
