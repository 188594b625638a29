"""Change points of a sequence of categories, by binary segmentation (Scott and Knott 1974).

A part of the sequence is cut where the likelihood ratio of two shares against one is largest, over all categories, as
long as that exceeds the penalty. n samples, c categories.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from incprof.analysis.phases.likelihood import ratio
from incprof.analysis.thresholds import PhaseOptions
from incprof.model import FloatArray, IntArray

# Fewest samples on each side of a change point.
FEWEST = 8
# An excursion closes at least this share of the gap between a category's mean share and 1.
HALF = 0.5
# Segments that stand out more often than this are steps.
RARE = 1
# Number of places that are tried first; then all places around the best one.
GRID = 512


class Counts:
    """Samples of each category in any part of a sequence, from prefix sums."""

    def __init__(self, category: IntArray, c: int):
        self._sums = np.zeros((len(category) + 1, c), dtype=np.int32)
        np.cumsum(np.eye(c, dtype=np.int8)[category], axis=0, out=self._sums[1:], dtype=np.int32)

    def between(self, first: IntArray | int, end: IntArray | int) -> FloatArray:
        """Return the samples from `first` to before `end`, (..., c)."""
        result: FloatArray = (self._sums[end] - self._sums[first]).astype(np.float64)
        return result

    def of(self, category: int, first: int, end: int) -> IntArray:
        """Return the number of samples of a category before each place from `first` to before `end`."""
        return self._sums[first:end, category]


def least_gain(n: int, c: int, penalty: float) -> float:
    """Return the least gain in log likelihood of a difference between two parts of a sequence."""
    return penalty * float(np.log(n)) + float(np.log(c))


def change_points(counts: Counts, n: int, scatter: FloatArray, penalty: float, fewest: int = FEWEST) -> list[int]:
    """Return the change points of a sequence of n samples, ascending.

    Args:
        counts: of the sequence.
        n: number of samples.
        scatter: (c,) see overdispersion.
        penalty: times log(n), the least gain of a change point.
        fewest: fewest samples on each side of a change point.
    """
    found = [0, *_by_halves(counts, (0, n), scatter, penalty, fewest), n]
    parts, more = list(itertools.pairwise(found)), list[tuple[int, int]]()
    while parts and len(more) <= RARE:
        first, end = parts.pop()
        begin, until, gain = _excursion(counts, first, end, scatter, fewest)
        # An excursion has two change points, so one more parameter than a single one.
        if gain >= least_gain(end - first, len(scatter), penalty + 1.0):
            more.append((begin, until))
            parts += [(first, begin), (until, end)]
    return sorted({*found[1:-1], *itertools.chain.from_iterable(more if len(more) <= RARE else [])})


def _by_halves(counts: Counts, whole: tuple[int, int], scatter: FloatArray, penalty: float, fewest: int) -> list[int]:
    """Return change points by binary segmentation, ascending."""
    found, parts = [], [whole]
    while parts:
        first, end = parts.pop()
        if end - first < 2 * fewest:
            continue
        place, gain = _best(counts, first, end, scatter, fewest)
        if gain >= least_gain(end - first, len(scatter), penalty):
            found.append(place)
            parts += [(first, place), (place, end)]
    return sorted(found)


def _excursion(counts: Counts, first: int, end: int, scatter: FloatArray, fewest: int) -> tuple[int, int, float]:
    """Return the part in which a category exceeds its mean share most, and the gain of both its change points.

    A short part in the middle gains little by either change point alone (Olshen et al. 2004).
    """
    n = end - first
    best = 0, 0, 0.0
    total = counts.between(first, end)
    for category in np.flatnonzero((total > 0) & (total < n)).tolist():
        share = total[category] / n
        more = share + HALF * (1.0 - share)
        present = np.diff(counts.of(category, first, end + 1))
        score = np.where(present > 0, np.log(more / share), np.log((1.0 - more) / (1.0 - share)))
        sums = np.concatenate([[0.0], np.cumsum(score)])
        rise = sums - np.minimum.accumulate(sums)
        until = int(np.argmax(rise))
        begin = int(np.argmin(sums[: until + 1]))
        if until - begin < fewest or min(begin, n - until) < fewest:
            continue
        inside = counts.between(first + begin, first + until)
        size = np.array([float(until - begin)])
        gain = float((ratio(inside, size, total - inside, n - size) / scatter).max())
        if gain > best[2]:
            best = first + begin, first + until, gain
    return best


def _best(counts: Counts, first: int, end: int, scatter: FloatArray, fewest: int) -> tuple[int, float]:
    """Return the best change point of a part, and its gain."""
    low, high = first + fewest, end - fewest
    step = max(1, (high - low) // GRID)
    places = np.arange(low, high + 1, step)
    while True:
        gain = _gains(counts, first, end, places, scatter)
        best = int(places[np.argmax(gain)])
        if step == 1:
            return best, float(gain.max())
        next_step = max(step // 8, 1)
        places = np.arange(max(low, best - step), min(high, best + step) + 1, next_step)
        step = next_step


def _gains(counts: Counts, first: int, end: int, places: IntArray, scatter: FloatArray) -> FloatArray:
    """Return the gain of a change point at each place, (m,): of the category that differs most."""
    left, right = counts.between(first, places), counts.between(places, end)
    total_left, total_right = (places - first)[:, None].astype(float), (end - places)[:, None].astype(float)
    gain: FloatArray = (ratio(left, total_left, right, total_right) / scatter).max(axis=1)
    return gain


@dataclass(frozen=True)
class Evidence:
    """Data that segments are judged by.

    Attributes:
        category: (n,) of each sample, in order of time.
        counts: samples of each category in any part.
        scatter: (c,) factor by which shares scatter more than counting explains.
        options: thresholds.
        blur: number of samples within which the order is unknown.
    """

    category: IntArray
    counts: Counts
    scatter: FloatArray
    options: PhaseOptions
    blur: int = 0
