"""Every score of every k, what each rule would choose, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.choose_k import elbow, misfits, noise_floor
from incprof.analysis.phases.kmeans import Fit
from incprof.analysis.phases.results import KScore
from incprof.analysis.phases.separation import SILHOUETTE_SAMPLE, calinski_harabasz, distances, evenly, silhouette
from incprof.model import FloatArray


@dataclass(frozen=True)
class Judgement:
    """The chosen k, the rule that chose it, the votes of the rules but the elbow's, and the scores of every k."""

    k: int
    rule: str
    votes: dict[str, int | None]
    scores: tuple[KScore, ...]


def judge(
    x: FloatArray,
    fits: Sequence[Fit],
    noise: Sequence[FloatArray] | None,
    asked: int | None,
    options: PhaseOptions = PHASES,
) -> Judgement:
    """Score the fits and choose among them.

    Args:
        x: (n, d) what was clustered.
        fits: one for each k from 1.
        noise: per fit, expected squared distances (n,): the noise floor decides, and silhouette where no k reaches
            the floor. Without it the elbow decides.
        asked: overrides the choice, as far as there are that many distinct intervals.
        options: thresholds.
    """
    scores = score_all(x, fits, noise, options)
    floor = None if noise is None else noise_floor(x, fits, noise, options)
    votes = {
        "noise_floor": floor,
        "silhouette": best_silhouette(scores, options.silhouette),
        "calinski_harabasz": _largest({s.k: s.calinski_harabasz for s in scores}),
    }
    if asked is not None:
        return Judgement(min(asked, len(fits)), "user", votes, scores)
    if noise is None:
        return Judgement(elbow([fit.k for fit in fits], [fit.inertia for fit in fits]), "elbow", votes, scores)
    rule = "noise_floor" if floor is not None else "silhouette"
    return Judgement(votes[rule] or 1, rule, votes, scores)


def score_all(
    x: FloatArray, fits: Sequence[Fit], noise: Sequence[FloatArray] | None, options: PhaseOptions = PHASES
) -> tuple[KScore, ...]:
    """Compute the scores of every fit; silhouettes on at most 2 000 intervals, evenly spaced."""
    sample = evenly(len(x), SILHOUETTE_SAMPLE)
    apart = distances(x[sample])
    out = []
    for i, fit in enumerate(fits):
        floor = None if noise is None else float(noise[i].sum())
        far = None if noise is None else misfits(x, fit, noise[i], options.misfit, options)
        out.append(
            KScore(
                k=fit.k,
                inertia=fit.inertia,
                silhouette=silhouette(apart, fit.labels[sample]),
                calinski_harabasz=calinski_harabasz(fits[0].inertia, fit.inertia, len(x), fit.k),
                noise_ratio=fit.inertia / floor if floor else None,
                misfits=None if far is None else int(np.count_nonzero(far)),
                stability=fit.stability,
            )
        )
    return tuple(out)


def best_silhouette(scores: Sequence[KScore], least: float = PHASES.silhouette) -> int:
    """Return the k with the highest silhouette, or 1 when no k separates the intervals well."""
    best = _largest({s.k: s.silhouette for s in scores})
    value = scores[best - 1].silhouette if best is not None else None
    return best if best is not None and value is not None and value >= least else 1


def _largest(values: dict[int, float | None]) -> int | None:
    """Return the smallest key with the largest value (to 12 digits), None when no key has one."""
    known = [(-round(value, 12), k) for k, value in values.items() if value is not None]
    return min(known)[1] if known else None
