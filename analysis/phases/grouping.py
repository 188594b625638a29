"""Group similar segments: merged by the test that cut them, the longest first; groups that alternate are steps.

m segments, g groups, c categories.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from incprof.analysis.phases.changepoints import Evidence, least_gain
from incprof.analysis.phases.likelihood import ratio, variance
from incprof.model import BoolArray, FloatArray

# Groups that come at least so often, in this share of their episodes one after another, are steps.
TURNS, INSIDE = 4, 0.8
# A share that differs by this is significant, however few the samples.
HALF = 0.5
# A group with this share of waiting is waiting alone.
ALL = 0.95

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


def alike_groups(evidence: Evidence, segments: Sequence[Segment], named: FloatArray) -> list[Group]:
    """Return groups of similar segments, the longest first. named: (c,) least difference of each category."""
    return _alike(evidence, [Group(evidence.counts.between(*segment), [segment]) for segment in segments], named)


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
        while (steps := _in_turn(groups, sorted(segments), is_one)) is not None:
            loop = Group(np.zeros_like(groups[0].count))
            for at in steps:
                loop.count = loop.count + groups[at].count
                loop.segments += groups[at].segments
            rest = [group for at, group in enumerate(groups) if at not in steps]
            groups = _alike(evidence, [loop, *rest], named)
    return sorted(groups, key=lambda group: min(group.segments))


def with_their_waiting(groups: Sequence[Group], waits: BoolArray, waits_inside: BoolArray) -> list[Group]:
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
        if part[at] < ALL:
            continue
        beside = [set(order[max(i - 1, 0) : i + 2]) for i, one in enumerate(order) if one == at]
        for host in sorted(set(order) - {at}, key=lambda one: -groups[one].size):
            if inside[host] >= HALF and sum(host in each for each in beside) >= INSIDE * len(beside):
                groups[host].count = groups[host].count + group.count
                groups[host].segments += group.segments
                rest = [one for other, one in enumerate(groups) if other != at]
                return with_their_waiting(rest, waits, waits_inside)
    return groups


def _mean(group: Group, values: BoolArray) -> float:
    """Return the share of a group's samples with a value. values: (n,)."""
    return float(np.concatenate([values[first:end] for first, end in group.segments]).mean())


def _alike(evidence: Evidence, parts: Sequence[Group], named: FloatArray) -> list[Group]:
    """Return groups of similar parts, the longest first."""
    n, groups = len(evidence.category), list[Group]()
    limit = least_gain(n, len(named), evidence.options.penalty)
    for part in sorted(parts, key=lambda one: (-one.size, min(one.segments))):
        apart = [_apart(evidence, group.count, part.count, named) for group in groups]
        if apart and min(apart) < limit:
            group = groups[int(np.argmin(apart))]
            group.count = group.count + part.count
            group.segments += part.segments
        else:
            groups.append(part)
    return groups


def _apart(evidence: Evidence, one: FloatArray, other: FloatArray, named: FloatArray) -> float:
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


def _in_turn(groups: Sequence[Group], segments: Sequence[Segment], is_one: Callable[[Group], bool]) -> list[int] | None:
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
            beside = Counter[int]()
            for each, times in links.items():
                if len(each & steps) == 1:
                    beside[next(iter(each - steps))] += times
            if not beside:
                break
            steps.add(max(beside, key=lambda at: (beside[at], -at)))
        else:
            if all(map(has_one_behaviour, steps)):
                return sorted(steps)
    return None
