"""Change points of a sequence of categories, by binary segmentation (Scott and Knott 1974).

A part of the sequence is cut where the likelihood ratio of two shares against one is largest, over all categories, as
long as that exceeds the penalty. n samples, c categories.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import xlogy

from incprof.analysis.features import WORKS
from incprof.analysis.thresholds import PhaseOptions
from incprof.model import BoolArray, FloatArray, IntArray

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


def least_gain(n: int | FloatArray, c: int, penalty: float) -> FloatArray:
    """Return the least gain in log likelihood of a difference between two parts of sequences of n samples, (...)."""
    result: FloatArray = penalty * np.log(n) + np.log(c)
    return result


def change_points(counts: Counts, n: int, scatter: FloatArray, penalty: float, fewest: int = FEWEST) -> list[int]:
    """Return the change points of a sequence of n samples, ascending.

    Args:
        counts: of the sequence.
        n: number of samples.
        scatter: (c,) see overdispersion.
        penalty: times log(n), the least gain of a change point.
        fewest: fewest samples on each side of a change point.
    """
    points = [0, *_binary_segmentation(counts, (0, n), scatter, penalty, fewest), n]
    parts, more = list(itertools.pairwise(points)), list[tuple[int, int]]()
    while parts and len(more) <= RARE:
        first, end = parts.pop()
        begin, until, gain = _excursion(counts, first, end, scatter, fewest)
        # An excursion has two change points, so one more parameter than a single one.
        if gain >= least_gain(end - first, len(scatter), penalty + 1.0):
            more.append((begin, until))
            parts += [(first, begin), (until, end)]
    return sorted({*points[1:-1], *itertools.chain.from_iterable(more if len(more) <= RARE else [])})


def _binary_segmentation(
    counts: Counts, span: tuple[int, int], scatter: FloatArray, penalty: float, fewest: int
) -> list[int]:
    """Return change points by binary segmentation, ascending."""
    points, parts = [], [span]
    while parts:
        first, end = parts.pop()
        if end - first < 2 * fewest:
            continue
        place, gain = _best(counts, first, end, scatter, fewest)
        if gain >= least_gain(end - first, len(scatter), penalty):
            points.append(place)
            parts += [(first, place), (place, end)]
    return sorted(points)


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


# Group similar segments: merged by the test that cut them, the longest first; groups that alternate are steps.
#
# m segments, g groups, c categories.


# Groups that come at least so often, in this share of their episodes one after another, are steps.
TURNS, INSIDE = 4, 0.8

Segment = tuple[int, int]


@dataclass
class Group:
    """Segments with the same profile.

    Attributes:
        count: (c,) samples of each category.
        segments: first sample and one past the last of each.
    """

    count: FloatArray
    segments: list[Segment] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Return the number of samples."""
        return sum(end - first for first, end in self.segments)


def similar_groups(evidence: Evidence, segments: Sequence[Segment], named: FloatArray) -> list[Group]:
    """Return groups of similar segments, the longest first. named: (c,) least difference of each category."""
    return _merge_similar(
        evidence, [Group(evidence.counts.between(*segment), [segment]) for segment in segments], named
    )


def without_steps(
    evidence: Evidence,
    groups: list[Group],
    segments: Sequence[Segment],
    named: FloatArray,
    is_one: Callable[[Group], bool] | None = None,
) -> list[Group]:
    """Return groups in order of their first segments, with steps merged into the group that they alternate with.

    Args:
        evidence: of the samples.
        groups: of similar segments.
        segments: of all groups, in order.
        named: (c,) least difference of each category.
        is_one: returns whether a group has one behaviour, where a driver calls functions in turn; None without a
            driver.
    """
    if is_one is not None:
        while (steps := _alternating(groups, sorted(segments), is_one)) is not None:
            loop = Group(np.zeros_like(groups[0].count))
            for at in steps:
                loop.count = loop.count + groups[at].count
                loop.segments += groups[at].segments
            others = [group for at, group in enumerate(groups) if at not in steps]
            groups = _merge_similar(evidence, [loop, *others], named)
    return sorted(groups, key=lambda group: min(group.segments))


def merge_waiting(groups: Sequence[Group], waits: BoolArray, waits_inside: BoolArray) -> list[Group]:
    """Merge a group of waiting into a neighbour that waits for half of its own time.

    Args:
        groups: of segments.
        waits: (n,) whether the thread waits outside of all functions of the groups.
        waits_inside: (n,) whether it waits in a function of a group.
    """
    groups = sorted(groups, key=lambda group: min(group.segments))
    part, inside = ([_mean(group, each) for group in groups] for each in (waits, waits_inside))
    owner = {segment: at for at, group in enumerate(groups) for segment in group.segments}
    order = [owner[segment] for segment in sorted(owner)]
    for at, group in enumerate(groups):
        if part[at] < 1.0 - WORKS:
            continue
        neighbours = [set(order[max(i - 1, 0) : i + 2]) for i, one in enumerate(order) if one == at]
        for host in sorted(set(order) - {at}, key=lambda one: -groups[one].size):
            if inside[host] >= HALF and sum(host in each for each in neighbours) >= INSIDE * len(neighbours):
                groups[host].count = groups[host].count + group.count
                groups[host].segments += group.segments
                others = [one for other, one in enumerate(groups) if other != at]
                return merge_waiting(others, waits, waits_inside)
    return groups


def _mean(group: Group, values: BoolArray) -> float:
    """Return the share of a group's samples with a value. values: (n,)."""
    return float(np.concatenate([values[first:end] for first, end in group.segments]).mean())


def _merge_similar(evidence: Evidence, parts: Sequence[Group], named: FloatArray) -> list[Group]:
    """Return groups of similar parts, the longest first."""
    n, groups = len(evidence.category), list[Group]()
    limit = least_gain(n, len(named), evidence.options.penalty)
    for part in sorted(parts, key=lambda one: (-one.size, min(one.segments))):
        distances = [_distance(evidence, group.count, part.count, named) for group in groups]
        if distances and min(distances) < limit:
            group = groups[int(np.argmin(distances))]
            group.count = group.count + part.count
            group.segments += part.segments
        else:
            groups.append(part)
    return groups


def _distance(evidence: Evidence, one: FloatArray, other: FloatArray, named: FloatArray) -> float:
    """Return the log likelihood ratio of two profiles, over categories whose shares differ significantly."""
    n1, n2 = one.sum(keepdims=True), other.sum(keepdims=True)
    scatter, options = evidence.scatter, evidence.options
    gain = ratio(one, n1, other, n2) / scatter
    share = (one + other) / (n1 + n2)
    error = np.sqrt(scatter * variance(share, n1 + n2) * (1.0 / n1 + 1.0 / n2))
    differ = np.abs(one / n1 - other / n2)
    surely = differ - options.surely * error >= named
    # With few samples, no difference can gain much: one as large as HALF is significant by itself.
    return float(np.where(surely, np.where(differ >= HALF, np.inf, gain), 0.0).max())


def _alternating(
    groups: Sequence[Group], segments: Sequence[Segment], is_one: Callable[[Group], bool]
) -> list[int] | None:
    """Return groups that follow one another repeatedly: steps of one loop, however long its iterations are."""
    owner = {segment: at for at, group in enumerate(groups) for segment in group.segments}
    order = [at for at, _ in itertools.groupby(owner[segment] for segment in segments if segment in owner)]
    episodes = Counter(order)
    links = Counter(
        pair for pair in map(frozenset, itertools.pairwise(order)) if min(episodes[at] for at in pair) >= TURNS
    )
    # Many pairs lead to the same groups.
    has_one_behaviour = functools.cache(lambda at: is_one(groups[at]))
    for pair, _ in sorted(links.items(), key=lambda item: (-item[1], sorted(item[0]))):
        steps = set(pair)
        while sum(links[each] for each in links if each <= steps) < INSIDE * (sum(episodes[at] for at in steps) - 1):
            neighbours = Counter[int]()
            for each, times in links.items():
                if len(each & steps) == 1:
                    neighbours[next(iter(each - steps))] += times
            if not neighbours:
                break
            steps.add(max(neighbours, key=lambda at: (neighbours[at], -at)))
        else:
            if all(map(has_one_behaviour, steps)):
                return sorted(steps)
    return None


# Likelihood ratio of two binomial shares against one, for each category of two sets of samples.
#
# Also estimates how much shares scatter more than counting explains. c categories. Counts are samples.


# Half a sample more than observed: a category with all of a segment, or nothing, is not free of noise.
PRIOR = 0.5


def ratio(one: FloatArray, one_total: FloatArray, other: FloatArray, other_total: FloatArray) -> FloatArray:
    """Return the log likelihood ratio of two shares against one, (..., c). Totals: (..., 1)."""
    both, total = one + other, one_total + other_total
    result: FloatArray = _log(one, one_total) + _log(other, other_total) - _log(both, total)
    return result


def _log(count: FloatArray, total: FloatArray) -> FloatArray:
    result: FloatArray = xlogy(count, count / total) + xlogy(total - count, (total - count) / total)
    return result


def variance(share: FloatArray, total: float | FloatArray) -> FloatArray:
    """Return the variance of one sample of categories with these shares of `total` samples, (..., c)."""
    result: FloatArray = np.maximum(share * (1.0 - share), PRIOR / (total + 1.0))
    return result


# Size of a block of samples; fewest blocks; largest distance of two blocks that are compared.
BLOCK, FEWEST_BLOCKS, LAGS = 24, 8, 8
# At the best lag, a quarter of the pairs is of one phase; a chi-squared variable is below EXPECTED with that
# probability.
QUANTILE, EXPECTED = 0.25, 0.1015


def overdispersion(category: IntArray, c: int) -> FloatArray:
    """Return the factor by which the share of each category scatters more than counting explains, (c,), at least 1.

    The lag at which blocks differ least is used: where phases alternate, most pairs are of one phase at that lag.

    Args:
        category: (n,) of the samples in order of time.
        c: number of categories.
    """
    blocks = len(category) // BLOCK
    if blocks < FEWEST_BLOCKS:
        return np.ones(c)
    row = np.repeat(np.arange(blocks), BLOCK)
    count = np.bincount(row * c + category[: blocks * BLOCK], minlength=blocks * c).reshape(blocks, c).astype(float)
    out = np.full(c, np.inf)
    for lag in range(1, min(LAGS, blocks // 3) + 1):
        one, other = count[lag:], count[:-lag]
        expected = 2.0 * BLOCK * variance((one + other) / (2.0 * BLOCK), 2.0 * BLOCK)
        out = np.minimum(out, _quantile((one - other) ** 2 / expected) / EXPECTED)
    result: FloatArray = np.maximum(out, 1.0)
    return result


def _quantile(values: FloatArray) -> FloatArray:
    """Return the QUANTILE of each column, (c,). On so few values numpy's own takes a tenth of the time of `phases`."""
    place = QUANTILE * (len(values) - 1)
    low = int(place)
    ordered = np.sort(values, axis=0)
    result: FloatArray = ordered[low] + (place - low) * (ordered[min(low + 1, len(values) - 1)] - ordered[low])
    return result
