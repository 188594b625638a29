"""How sure a phase is: its intervals would be in it again, had the samples fallen a little differently.

Two questions are asked, and the answers multiplied. The ticks of an interval are counts: how likely is it that other
counts bring it nearer to another phase? And the clustering saw these intervals: if it sees two thirds of them, do all
intervals still fall into the same groups? n intervals, d columns, k phases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.phases.choose_k import sufficient
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.kmeans import MAX_K, Fit, make_fit, one_thread
from incprof.analysis.phases.lloyd import k_means
from incprof.analysis.phases.noise import normal_cdf, sampling_noise
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.phases.scores_of_k import judge
from incprof.analysis.phases.separation import evenly
from incprof.model import BoolArray, FloatArray, IntArray

REFITS = 20
# In a long run, so many intervals say what there is to say of all.
MOST = 20_000
# Of the intervals, each refit sees this part, and at most so many of each phase: what they cost must not grow.
SEEN = 2 / 3
MOST_PER_PHASE = 60
STARTS = 2


@dataclass(frozen=True)
class Confidence:
    """How sure an answer is.

    phases: (k,) for each phase, 0..1. k_again: part of the refits with the same number of clusters; None when the
    number was asked for, or no refit was possible.
    """

    phases: FloatArray
    k_again: float | None


def with_confidence(features: Features, result: PhaseResult, rate_hz: float, *, random_state: int = 0) -> PhaseResult:
    """Say of each phase of a result how sure it is, and of the number of clusters how often it comes again."""
    found = confidence(features, result, rate_hz, random_state=random_state)
    phases = tuple(replace(p, confidence=float(found.phases[p.id])) for p in result.phases)
    return replace(result, phases=phases, k_again=found.k_again)


def confidence(features: Features, result: PhaseResult, rate_hz: float, *, random_state: int = 0) -> Confidence:
    """Return how sure the phases of a result are.

    Args:
        features: that were clustered.
        result: phases; a phase of clusters that were joined has a center for each.
        rate_hz: ticks per second.
        random_state: which intervals the refits see. Same seed, same answer.
    """
    off_cpu = [phase.id for phase in result.phases if phase.off_cpu]
    use = np.flatnonzero((result.labels >= 0) & ~np.isin(result.labels, off_cpu))
    use = use[evenly(len(use), MOST)]
    kept, k_again = np.ones(len(use)), None
    if len(use):
        again, k_again = _keep_by_refits(features, result, use, random_state)
        kept = again * _keep_by_counting(features, result, use, rate_hz)
    # Of waiting, and of a phase that is hardly there among so many intervals, nothing was seen that speaks against it.
    phases = np.ones(result.k)
    for phase in np.unique(result.labels[use]):
        phases[phase] = kept[result.labels[use] == phase].mean()
    # Nobody can be sure of two intervals, however far they are from all others.
    size = np.bincount(result.labels[result.labels >= 0], minlength=result.k)
    return Confidence(phases * size / (size + 1.0), k_again)


@dataclass(frozen=True)
class _Counting:
    """What scatters: the variance of w @ x of a row p is scale * (p @ w**2 - whole * (p @ w)**2)."""

    scale: FloatArray
    whole: bool


def _counting(features: Features, use: IntArray, rate_hz: float, result: PhaseResult) -> _Counting:
    """Return how the rows `use` scatter by counting ticks, times the measured over-dispersion."""
    if result.method == "robust":
        return _Counting(result.dispersion / np.maximum(features.ticks[use], 1.0), True)
    return _Counting(np.full(len(use), result.dispersion / rate_hz), False)


def _keep_by_counting(features: Features, result: PhaseResult, use: IntArray, rate_hz: float) -> FloatArray:
    """Return for each row of `use` the chance to stay nearer to its own phase than to any other, (m,).

    Whether a row lies nearer to one center than to another depends on one number, which is nearly normal. Chances to
    leave for several phases are added, so that the answer is never too good. Intervals that came to a phase without
    being clustered have no say in where its centers are.
    """
    x, labels, clusters = features.x[use], result.labels[use], result.clusters[use]
    counting = _counting(features, use, rate_hz, result)
    groups = np.unique(np.stack([labels, clusters]), axis=1).T
    clustered = np.unique(groups[groups[:, 1] >= 0, 0])
    groups = groups[(groups[:, 1] >= 0) | ~np.isin(groups[:, 0], clustered)]
    centers = np.stack([x[(labels == p) & (clusters == c)].mean(axis=0) for p, c in groups])
    squares = (centers**2).sum(axis=1)
    distance = squares[None, :] - 2.0 * x @ centers.T
    leave = np.zeros(len(x))
    for phase in np.unique(labels):
        rows, inside = np.flatnonzero(labels == phase), groups[:, 0] == phase
        own = np.flatnonzero(inside)[np.argmin(distance[rows][:, inside], axis=1)]
        for other in np.flatnonzero(~inside):
            leave[rows] += _crossing(x, rows, centers, own, int(other), counting)
    kept: FloatArray = np.maximum(1.0 - leave, 0.0)
    return kept


def _crossing(
    x: FloatArray, rows: IntArray, centers: FloatArray, own: IntArray, other: int, counting: _Counting
) -> FloatArray:
    """Return the chance of each of some rows to lie nearer to center `other` than to its own, (len(rows),)."""
    out = np.zeros(len(rows))
    for mine in np.unique(own):
        part = own == mine
        w = centers[other] - centers[mine]
        middle = 0.5 * float(centers[other] @ centers[other] - centers[mine] @ centers[mine])
        y = x[rows[part]]
        along = y @ w
        variance = counting.scale[rows[part]] * np.maximum(y @ w**2 - (along**2 if counting.whole else 0.0), 1e-12)
        out[part] = normal_cdf((along - middle) / np.sqrt(variance))
    return out


def _keep_by_refits(
    features: Features, result: PhaseResult, use: IntArray, random_state: int
) -> tuple[FloatArray, float | None]:
    """Cluster again and again. Returns the part of the refits in which each row of `use` keeps its phase, and k."""
    labels = result.labels[use]
    sample = np.sort(np.concatenate([_of_phase(np.flatnonzero(labels == p)) for p in np.unique(labels)]))
    x, ticks = features.x[use], features.ticks[use]
    rng = np.random.default_rng(random_state)
    asked = result.k_clusters if result.rule == "user" else None
    kept, same = np.zeros(len(use)), 0
    with one_thread():
        for number in range(REFITS):
            seen = sample[np.sort(rng.permutation(len(sample))[: max(int(np.ceil(SEEN * len(sample))), 1)])]
            fit = _refit(x[seen], ticks[seen], result, asked, random_state + number)
            same += fit.k == result.k_clusters
            kept += _same_phase(_nearest(x, fit.centers), labels, result.k)
    return kept / REFITS, None if asked is not None else same / REFITS


def _of_phase(members: IntArray) -> IntArray:
    """Return at most MOST_PER_PHASE of a phase's intervals, evenly spread."""
    return members[evenly(len(members), MOST_PER_PHASE)]


def _refit(x: FloatArray, ticks: FloatArray, result: PhaseResult, asked: int | None, seed: int) -> Fit:
    """Cluster some rows as the method does, from fewer starts, and choose k by its rule."""
    fits = [make_fit(x, np.zeros(len(x), dtype=np.int64))]
    noise = [_noise(fits[0], ticks, result)]
    most = min(asked or max(MAX_K, result.k_clusters), len(np.unique(np.round(x, 12), axis=0)))
    floor = result.method == "robust" and asked is None
    for k in range(2, most + 1):
        if floor and sufficient(x, fits[-1], noise[-1], result.options.phases):
            return fits[-1]
        labels = k_means(x, k, seed=seed, starts=STARTS)[1]
        found = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        if int(found.max()) + 1 < k:
            break
        fits.append(make_fit(x, found))
        noise.append(_noise(fits[-1], ticks, result))
    return fits[judge(x, fits, noise if result.method == "robust" else None, asked, result.options.phases).k - 1]


def _noise(fit: Fit, ticks: FloatArray, result: PhaseResult) -> FloatArray:
    """Return the squared distance to its center that is expected of each row, (m,)."""
    return result.dispersion * sampling_noise(fit.centers[fit.labels], ticks)


def _nearest(x: FloatArray, centers: FloatArray) -> IntArray:
    """Return the nearest center of each row, (m,)."""
    found: IntArray = np.argmin((centers**2).sum(axis=1)[None, :] - 2.0 * x @ centers.T, axis=1)
    return found


def _same_phase(found: IntArray, labels: IntArray, k: int) -> BoolArray:
    """Tell which rows are in a cluster of which most rows are of their own phase, (m,)."""
    table = np.zeros((int(found.max()) + 1, k))
    np.add.at(table, (found, labels), 1.0)
    same: BoolArray = np.argmax(table, axis=1)[found] == labels
    return same
