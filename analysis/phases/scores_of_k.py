"""Scores of every k, the choice of each rule, and the final choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.phases.clustering import Judgement, KScore
from incprof.analysis.phases.kmeans import Fit
from incprof.analysis.segment_sums import (
    SILHOUETTE_SAMPLE,
    calinski_harabasz,
    chi2_quantile,
    distances,
    effective_dimensions,
    evenly,
    silhouette,
)
from incprof.model import FloatArray

# A lower silhouette is a weak structure, perhaps an artefact of clustering (Kaufman and Rousseeuw 1990, table 2.4).
WEAK = 0.5
# Normal score, and factor of the scatter, from which an interval does not look like its group.
FAR, SLACK = 2.5, 1.3


def judge(x: FloatArray, fits: Sequence[Fit], asked: int | None, elbow: int) -> Judgement:
    """Score the fits of k-means and choose one of them.

    Args:
        x: (n, d) the clustered rows.
        fits: one for each k from 1.
        asked: overrides the choice, as far as there are that many distinct intervals.
        elbow: the choice otherwise.
    """
    scores = score_cuts(x, fits, None)
    if asked is not None:
        return Judgement(min(asked, len(fits)), "user", votes_of(scores, elbow), scores)
    return Judgement(elbow, "elbow", votes_of(scores, elbow), scores)


def votes_of(scores: Sequence[KScore], elbow: int | None = None) -> dict[str, int | None]:
    """Return the choice of each rule. elbow: None where k-means was not run."""
    return {
        "elbow": elbow,
        "silhouette": best_silhouette(scores),
        "calinski_harabasz": _largest({s.k: s.calinski_harabasz for s in scores}),
    }


def score_cuts(x: FloatArray, fits: Sequence[Fit], noise: Sequence[FloatArray] | None) -> tuple[KScore, ...]:
    """Compute the scores of every number of groups; silhouettes on at most 2 000 intervals, evenly spaced.

    noise: for each, the squared distance of each interval to its group's mean that counting explains, (n,); None for
    groups from k-means, which have a stability instead.
    """
    sample = evenly(len(x), SILHOUETTE_SAMPLE)
    apart = distances(x[sample])
    out = []
    for i, fit in enumerate(fits):
        floor = None if noise is None else float(noise[i].sum())
        far = None if noise is None else _misfits(x, fit, noise[i])
        out.append(
            KScore(
                k=fit.k,
                inertia=fit.inertia,
                silhouette=silhouette(apart, fit.labels[sample]),
                calinski_harabasz=calinski_harabasz(fits[0].inertia, fit.inertia, len(x), fit.k),
                noise_ratio=fit.inertia / floor if floor else None,
                misfits=far,
                stability=fit.stability if noise is None else None,
            )
        )
    return tuple(out)


def _misfits(x: FloatArray, fit: Fit, noise: FloatArray) -> int:
    """Count the intervals that lie farther from their center than `noise` (n,) explains."""
    distance = ((x - fit.centers[fit.labels]) ** 2).sum(axis=1)
    limit = SLACK * noise * chi2_quantile(effective_dimensions(fit.centers), FAR)[fit.labels]
    return int(np.count_nonzero(distance > limit))


def best_silhouette(scores: Sequence[KScore], least: float = WEAK) -> int:
    """Return the k with the highest silhouette, or 1 if no k separates the intervals well."""
    best = _largest({s.k: s.silhouette for s in scores})
    value = scores[best - 1].silhouette if best is not None else None
    return best if best is not None and value is not None and value >= least else 1


def _largest(values: dict[int, float | None]) -> int | None:
    """Return the smallest key with the largest value (to 12 digits), None if no key has one."""
    known = [(-round(value, 12), k) for k, value in values.items() if value is not None]
    return min(known)[1] if known else None
