"""Borders that are no change: a mix that drifts is different after a while, and never from one interval to the next.

A border is abrupt if the function that names it jumps there: lines through its shares before and after the border do
not meet. s stretches, c functions.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.difference import differences
from incprof.analysis.phases.stretches import Stretches, Sums
from incprof.model import FloatArray

# A line through so many intervals; few are enough where their scatter is small beside the jump (STEADY times).
FEWEST, MOST, STEADY = 4, 100, 7.0
# A trend that is surely there, in standard errors, of a stretch with so many intervals.
SURE, ENOUGH = 3.0, 6
LEAST_VARIANCE = 0.01


def without_drifts(sums: Sums, stretches: Stretches, options: PhaseOptions = PHASES) -> Stretches:
    """Join stretches that meet without a jump, the least abrupt border first. Short ones are judged elsewhere."""
    known: dict[tuple[int, int, int, int], float] = {}
    while len(stretches) > 1:
        spans = list(zip(stretches.first.tolist(), stretches.end.tolist(), strict=True))
        borders = [(*one, *other) for one, other in pairwise(spans)]
        for border in borders:
            if border not in known:
                known[border] = _abruptness(sums, border, options)
        score = np.array([known[border] for border in borders])
        join = (score < 1.0) & (score <= np.append(score[1:], np.inf)) & (score < np.append(np.inf, score[:-1]))
        if not join.any():
            break
        stretches = stretches.joined(np.flatnonzero(join))
    return stretches


def _abruptness(sums: Sums, border: tuple[int, int, int, int], options: PhaseOptions) -> float:
    """Return how abrupt a border is, from 1 on it is one; infinite where it is not asked."""
    first, end, after, last = border
    lengths = end - first, last - after
    # Where a way lies between them, they are two.
    if min(lengths) <= options.short_visit or after - end > options.short_visit:
        return np.inf
    at, to = np.array([first, after]), np.array([end, last])
    counts, total = sums.counts(at, to), sums.total(at, to)
    score, apart = differences(counts[0], total[0], counts[1], total[1], sums.scatter)
    column = int(np.argmax(np.minimum(score / options.beyond, apart / options.named)))
    share = counts[:, column].sum() / total.sum()
    ticks = sums.ticks.total.mean()
    variance = float(sums.scatter[column] * max(share * (1.0 - share), LEAST_VARIANCE) / ticks)
    change = float(counts[1, column] / total[1] - counts[0, column] / total[0])
    y = sums.ticks.counts[first:last, column] / sums.ticks.total[first:last]
    left, right = y[: end - first], y[after - first :]
    for mine, others in ((left, right), (right, left)):
        if len(mine) <= options.way * len(others) and _drifts(mine, variance, change, options):
            return 0.0
    width = int(np.clip(np.ceil(8.0 * variance * (STEADY / max(abs(change), 1e-9)) ** 2), FEWEST, MOST))
    # What is not surely a drift is a change.
    error = np.sqrt(8.0 * variance / min(width, *lengths))
    return float((abs(_jump(left, right, width)) + error) / max(abs(change) * options.abrupt, 1e-9))


def _drifts(y: FloatArray, variance: float, change: float, options: PhaseOptions) -> bool:
    """Tell whether a stretch moves by most of the change itself, in its direction."""
    if len(y) < ENOUGH:
        return False
    x = np.arange(len(y)) - (len(y) - 1) / 2.0
    slope = float(x @ y / (x @ x))
    return slope * len(y) / change >= options.drift and abs(slope) >= SURE * float(np.sqrt(variance / (x @ x)))


def _jump(left: FloatArray, right: FloatArray, width: int) -> float:
    """Return how far lines through the last `width` intervals before a border and the first ones behind it are apart.

    The intervals at the border may be a bit of both: they are left out where there are others.
    """
    left = left[:-1] if len(left) > FEWEST else left
    right = right[1:] if len(right) > FEWEST else right
    return _at_end(right[:width][::-1]) - _at_end(left[-width:])


def _at_end(y: FloatArray) -> float:
    """Return where a line through some shares is half an interval behind the last one; the mean of few."""
    if len(y) < FEWEST:
        return float(y.mean())
    x = np.arange(len(y)) - (len(y) - 1) / 2.0
    return float(y.mean() + (x @ y / (x @ x)) * len(y) / 2.0)
