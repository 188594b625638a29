"""Positions of samples within an iteration of a loop, from their call paths. p path nodes, q call paths.

Calls by a loop's code outside of inner loops, and by these callees outside of loops, come at most once in an iteration.
So each path leads, from a loop on its stack, through calls that come once to a part of the iteration: an inner loop, or
code outside of loops. The parts follow one another, and recur with the next iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from incprof.model import OUTSIDE_LOOPS, CodeLoops, IntArray, IntervalProfile

# A loop in a calling context: the loop, and the call path of the function that it is in.
Key = tuple[int, int]
# Addresses of calls that come once, ending in the address of the part; an inner loop is negative.
Part = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Position of a path node in an iteration.

    Attributes:
        execution: the path node that called the loop's function.
        part: of the iteration.
        is_open: only calls that come once lead there, and no loop, and no address that calls several functions.
        sure: length of the prefix of the part whose execution implies that of the rest.
    """

    execution: int
    part: Part
    is_open: bool
    sure: int


@dataclass
class Iterated:
    """A loop where it is called from one call path.

    Attributes:
        place: position of each sampled path node below it.
        calls: call paths that its iterations call at most once, by part, with `sure` of each.
        recursive: whether it runs within itself.
    """

    place: dict[int, Place] = field(default_factory=dict)
    calls: dict[int, dict[Part, int]] = field(default_factory=dict)
    recursive: bool = False


def iterated(profile: IntervalProfile, own: IntArray, samples: IntArray, fewest: int) -> dict[Key, Iterated]:
    """Return the loops with at least so many samples; none for code that is not available.

    Args:
        profile: the run.
        own: (p,) call path of the function of each path node's frame, 0 where it is left out.
        samples: (p,) at each path node and below.
        fewest: samples that a loop needs.
    """
    loops = profile.code_loops
    if loops is None:
        return {}
    out: dict[Key, Iterated] = {}
    parent, address = profile.paths.parent.tolist(), profile.paths.address.astype(np.int64).tolist()
    top, always = loops.outermost().tolist(), loops.always.tolist()
    several = _several(profile)
    met: dict[Key, int] = {}
    for node in np.flatnonzero((own > 0) & (loops.at > 0)).tolist():
        for loop, _ in _around(loops, node):
            met[loop, int(own[node])] = met.get((loop, int(own[node])), 0) + int(samples[node])
    places: list[dict[Key, Place]] = [{}]
    for node in range(1, len(parent)):
        chain = int(own[node])
        here: dict[Key, Place] = {}
        for key, above in places[parent[node]].items():
            here[key] = above
            if above.is_open:
                is_recursion = 0 < chain <= own[parent[node]]
                if chain and not is_recursion:
                    out[key].calls.setdefault(chain, {})[above.part] = above.sure
                part = (*above.part, -top[node] if top[node] > 0 else address[node])
                is_open = top[node] == OUTSIDE_LOOPS and not several[node] and not is_recursion
                here[key] = Place(above.execution, part, is_open, above.sure if always[node] else len(part))
        for loop, inner in _around(loops, node) if chain else ():
            key = loop, chain
            if met[key] < fewest:
                continue
            out.setdefault(key, Iterated()).recursive |= key in here
            part = (-inner if inner else address[node],)
            here[key] = Place(parent[node], part, not inner and not several[node], 0 if always[node] else 1)
        for key, place in here.items():
            out[key].place[node] = place
        places.append(here)
    return out


def _several(profile: IntervalProfile) -> list[bool]:
    """Return for each path node whether its address calls different functions at different times."""
    function: dict[int, int] = {}
    out = [False] * len(profile.paths.parent)
    for node, parent in enumerate(profile.paths.parent.tolist()[1:], start=1):
        called = int(profile.paths.function[node])
        out[parent] |= function.setdefault(parent, called) != called
    return out


def _around(loops: CodeLoops, node: int) -> list[tuple[int, int]]:
    """Return the loops that a path node's address lies in, each with the next one inside, 0 for the innermost."""
    found, inner, loop = [], 0, max(int(loops.at[node]), 0)
    while loop:
        found.append((loop, inner))
        inner, loop = loop, int(loops.around[loop])
    return found
