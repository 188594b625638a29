"""Agreement of found sites and steps with those chosen by a person.

A place is a function and a kind ("body" or "loop"). A true site may have equally good places: one of them suffices.
Sites are scored for the run as a whole, like the published tables.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TypeVar

from incprof.model import IntervalProfile

Place = tuple[str, str]
Graph = Mapping[str, Set[str]]
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Matches:
    """Counts that add up over runs.

    Attributes:
        found: number of found items.
        right: how many of them are right.
        true: number of true items.
        hit: how many of them were found.
    """

    found: int
    right: int
    true: int
    hit: int

    def __add__(self, other: Matches) -> Matches:
        """Add the counts of another run."""
        return Matches(self.found + other.found, self.right + other.right, self.true + other.true, self.hit + other.hit)

    @property
    def precision(self) -> float:
        """Return the share of the found items that is right; 1 where nothing was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Return the share of the true items that was found; 1 where there are none."""
        return self.hit / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2.0 * self.precision * self.recall / both if both else 0.0


NOTHING = Matches(0, 0, 0, 0)


@dataclass(frozen=True)
class SiteScores:
    """Scores of the sites of a run.

    Attributes:
        functions: counts without the kind.
        places: counts with the kind.
        hops: for each true site (by function) the calls between it and the nearest found function, None if there is no
            path.
    """

    functions: Matches
    places: Matches
    hops: tuple[int | None, ...]

    @property
    def near(self) -> int:
        """Return how many true sites have a found function at most one call away."""
        return sum(hop is not None and hop <= 1 for hop in self.hops)

    @property
    def near_recall(self) -> float:
        """Return the share of the true sites with a found function at most one call away; 1 where there are none."""
        return self.near / len(self.hops) if self.hops else 1.0


def score_sites(
    true: Iterable[Set[Place]], places: Collection[Place], graph: Graph, accepted: Set[Place] = frozenset()
) -> SiteScores:
    """Compare sites.

    Args:
        true: each true site as the set of equally good places.
        places: the found places.
        graph: call_graph() of the run, under the same names.
        accepted: places that are neither required nor wrong.
    """
    groups = sorted({frozenset(group) for group in true}, key=sorted)
    names = sorted({frozenset(function for function, _ in group) for group in groups}, key=sorted)
    functions = {function for function, _ in places}
    distance = distances_from(functions, graph)
    hops = tuple(min((distance[f] for f in name if f in distance), default=None) for name in names)
    return SiteScores(
        match(names, functions, {function for function, _ in accepted}), match(groups, set(places), accepted), hops
    )


def match(true: Collection[Set[Thing]], items: Set[Thing], accepted: Set[Thing] = frozenset()) -> Matches:
    """Count how much of `true`, each a set of equally good items, was found."""
    right = {item for group in true for item in group}
    counted = {item for item in items if item in right or item not in accepted}
    return Matches(len(counted), len(counted & right), len(true), sum(bool(group & items) for group in true))


def score_steps(true: Set[str], steps: Set[str], sites: Set[str], accepted: Set[str] = frozenset()) -> Matches:
    """Count steps: a true one is found as a step or as a site; a found step is right if it is true or accepted."""
    right = sum(step in true or step in accepted for step in steps)
    return Matches(len(steps), right, len(true), len(true & (steps | sites)))


def score_periods(periods: Iterable[tuple[float, float]]) -> Matches:
    """Count the periods with implied calls within 10 % of the actual ones: (implied, actual) of each."""
    right = [abs(calls - true) <= 0.1 * true for calls, true in periods]
    return Matches(len(right), sum(right), 0, 0)


def call_graph(profile: IntervalProfile, names: Collection[str]) -> dict[str, set[str]]:
    """Return the callers and callees of each function, from call counts and call paths.

    Args:
        profile: of f functions.
        names: (f,) name of each function; functions with the same name are one.
    """
    name = list(names)
    graph: dict[str, set[str]] = {own: set() for own in name}
    pairs = set(zip(profile.arcs.caller.tolist(), profile.arcs.callee.tolist(), strict=True))
    function = profile.paths.function
    pairs |= set(zip(function[profile.paths.parent].tolist(), function.tolist(), strict=True))
    for caller, callee in pairs:
        if caller >= 0 and callee >= 0:
            graph[name[caller]].add(name[callee])
            graph[name[callee]].add(name[caller])
    return graph


def distances_from(functions: Iterable[str], graph: Graph) -> dict[str, int]:
    """Return the fewest calls from any of some functions to each reachable function."""
    distance = dict.fromkeys(functions, 0)
    queue = deque(distance)
    while queue:
        function = queue.popleft()
        for other in graph.get(function, ()):
            if other not in distance:
                distance[other] = distance[function] + 1
                queue.append(other)
    return distance
