"""The order of the steps that come once in each iteration, inferred from samples and counts.

Two kinds of evidence are combined: pairs of consecutive samples, whose distance in time is compared with the length of
an iteration; and the ends of intervals, at which some steps have been called in the current iteration and others have
not. All orders are tried; one is the answer only if it explains the data far better than every other. m steps, which
share an iteration; e pairs; s interval ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np

from incprof.analysis.options.step_thresholds import STEPS, StepOptions
from incprof.model import FloatArray, IntArray

# Relative scatter of the length of iterations: each value is tried. The last one leaves no trace of the order.
SCATTER = (0.01, 0.03, 0.1, 0.3)
# Bins of an iteration, and classes of scatter that pairs are counted in.
BINS = 128
CLASSES = (0.02, 0.05, 0.1, 0.2, 0.4)
# Orders of more steps are too many to try: the smallest steps are left out.
MOST = 8


@dataclass(frozen=True)
class Pairs:
    """Pairs of consecutive samples.

    Attributes:
        first: (e,) step of the first sample.
        second: (e,) step of the second.
        lag: (e,) iterations between them.
        error: (e,) standard error of lag, from the uncertain length of an iteration.
    """

    first: IntArray
    second: IntArray
    lag: FloatArray
    error: FloatArray


def order_of(share: FloatArray, pairs: Pairs, ahead: IntArray, options: StepOptions = STEPS) -> list[int]:
    """Return steps in their order, from step 0 on; steps whose order is unknown are left out.

    Args:
        share: (m,) share of an iteration that each step takes. Step 0 is the one that `ahead` refers to.
        pairs: of these steps.
        ahead: (s, m) at the end of an interval: 1 where the step has been called since step 0, 0 where not, -1 unknown.
        options: thresholds.
    """
    steps = np.argsort(-share[1:], kind="stable")[: MOST - 1] + 1
    kept = [0, *np.sort(steps).tolist()]
    while len(kept) > 2:
        order = _best_order(share[kept], _of_steps(pairs, kept, len(share), options.furthest), ahead[:, kept], options)
        if order is not None:
            return [kept[i] for i in order]
        # Of the steps without an order, drop the smallest, which has the fewest samples.
        kept.remove(min(kept[1:], key=lambda step: (share[step], step)))
    return kept


def _of_steps(pairs: Pairs, kept: list[int], count: int, furthest: float) -> Pairs:
    """Return the pairs of some steps, renumbered from 0."""
    number = np.full(count, -1)
    number[kept] = np.arange(len(kept))
    use = (number[pairs.first] >= 0) & (number[pairs.second] >= 0) & (pairs.lag <= furthest)
    return Pairs(number[pairs.first[use]], number[pairs.second[use]], pairs.lag[use], pairs.error[use])


def _best_order(share: FloatArray, pairs: Pairs, ahead: IntArray, options: StepOptions) -> list[int] | None:
    """Return the order that is far more likely than all others, None if there is none."""
    part = share / share.sum()
    rest = np.array(list(permutations(range(1, len(part)))))
    orders = np.concatenate([np.zeros((len(rest), 1), dtype=np.int64), rest], axis=1)
    ends = _from_ends(orders, part, ahead, options.misread)
    stays, changes = _from_pairs(orders, part, pairs, options.stray)
    seen = ends + stays + changes
    probability = np.exp(options.weight * (seen - seen.max()))
    best = int(np.argmax(probability))
    if probability[best] < options.sure * probability.sum():
        return None
    # Steps whose order varies often contradict every order.
    return orders[best].tolist() if ends[best] >= 0 and changes[best] >= 0 else None


def _from_ends(orders: IntArray, part: FloatArray, ahead: IntArray, misread: float) -> FloatArray:
    """Return the log likelihood of each order, over chance, from the steps called by the ends of intervals."""
    m = len(part)
    bit = 1 << np.arange(m)
    # Steps that have been called while the k-th one runs.
    called = np.cumsum(bit[orders], axis=1)
    out = np.zeros(len(orders))
    patterns, count = np.unique(ahead[:, 1:], axis=0, return_counts=True)
    for pattern, times in zip(patterns, count, strict=True):
        known = int(bit[1:][pattern >= 0].sum())
        if known:
            fits = (called & known) == int(bit[1:][pattern == 1].sum())
            likely = (fits * part[orders]).sum(axis=1)
            chance = 0.5 ** int((pattern >= 0).sum())
            out += times * np.log((1 - misread) * likely / chance + misread)
    return out


def _from_pairs(orders: IntArray, part: FloatArray, pairs: Pairs, stray: float) -> FloatArray:
    """Return the log likelihood of each order, over chance, from pairs of samples: (2, orders).

    The first row is whether the step has changed between them, the second what it has changed to. For the scatter of
    iterations that explains them best.
    """
    start = np.cumsum(part[orders], axis=1) - part[orders]
    offset = np.empty_like(start)
    np.put_along_axis(offset, orders, start, axis=1)
    bins = np.rint(offset * BINS).astype(np.int64)
    seen = _count_pairs(pairs, len(part))
    out = np.zeros((2, len(SCATTER), len(orders)))
    for i, j in np.argwhere(seen.any(axis=(0, 3, 4))).tolist():
        likely = _likelihoods(seen[:, i, j], part[i], part[j], stray)[:, (bins[:, j] - bins[:, i]) % BINS]
        left = _leaving(seen[:, i, j], part[i], stray)[:, None] if i != j else likely
        out[0] += left
        out[1] += likely - left
    best: FloatArray = np.take_along_axis(out, out.sum(axis=0).argmax(axis=0)[None, None, :], axis=1)[:, 0]
    return best


def _count_pairs(pairs: Pairs, m: int) -> IntArray:
    """Count pairs of samples, shape (scatters, m, m, classes, bins): by the shares of an iteration between them."""
    classes = np.array(CLASSES)
    phase = np.floor(np.mod(pairs.lag, 1.0) * BINS).astype(np.int64) % BINS
    out = np.zeros((len(SCATTER), m, m, len(classes), BINS), dtype=np.int64)
    for counts, scatter in zip(out, SCATTER, strict=True):
        width = np.sqrt(scatter**2 * np.maximum(pairs.lag, 0.1) + pairs.error**2)
        use = width <= classes[-1]
        of_class = np.searchsorted(classes, width[use])
        np.add.at(counts, (pairs.first[use], pairs.second[use], of_class, phase[use]), 1)
    return out


def _likelihoods(seen: IntArray, first: float, second: float, stray: float) -> FloatArray:
    """Return the log likelihood of the pairs of two steps over chance, shape (scatters, bins).

    seen: (scatters, classes, bins) pairs. first, second: shares of an iteration that the steps take. Bin d of the
    answer: the second step begins d bins after the first.
    """
    at = np.arange(BINS)
    turned = (at[None, :] - at[:, None]) % BINS
    out = np.zeros((len(seen), BINS))
    for number, width in enumerate(CLASSES):
        if seen[:, number].any():
            out += seen[:, number] @ np.log(_over_chance(first, second, width, stray))[turned].T
    return out


def _leaving(seen: IntArray, first: float, stray: float) -> FloatArray:
    """Return the log likelihood over chance of pairs whose second sample has left the first's step: (scatters,)."""
    out = np.zeros(len(seen))
    for number, width in enumerate(CLASSES):
        stays = _over_chance(first, first, width, stray) * first
        out += seen[:, number] @ np.log(np.maximum(1 - stays, stray * (1 - first)) / (1 - first))
    return out


@lru_cache(maxsize=1024)
def _over_chance(first: float, second: float, width: float, stray: float) -> FloatArray:
    """Return how much more likely than by chance the second step is, by the phase of an iteration since the first."""
    shift = np.mod((np.arange(BINS) + 0.5) / BINS + 0.5, 1.0) - 0.5
    meet = np.clip(_meeting(shift, first, second, width) / first, 0.0, 1.0)
    likely: FloatArray = (1 - stray) * meet / second + stray
    return likely


def _meeting(shift: FloatArray, first: float, second: float, width: float) -> FloatArray:
    """Return the overlap of [0, first), moved by `shift` with an error of this deviation, with [0, second).

    The overlap of two uniform densities is a trapezium, made of four ramps; a ramp with an error is smooth. Everything
    repeats with period 1.
    """
    at = shift + np.array([[-1.0], [0.0], [1.0]])
    ramps = _ramp(at + first, width) - _ramp(at, width) - _ramp(at + first - second, width) + _ramp(at - second, width)
    overlap: FloatArray = ramps.sum(axis=0)
    return overlap


def _ramp(at: FloatArray, width: float) -> FloatArray:
    """Return max(at, 0) with a normal error."""
    from scipy.special import ndtr  # here: few runs have steps whose order must be inferred

    smooth: FloatArray = at * ndtr(at / width) + width * np.exp(-0.5 * (at / width) ** 2) / np.sqrt(2 * np.pi)
    return smooth
