"""Calls inferred from machine code where they were not counted: calls from loops, and functions that return quickly.

Calls of one function right after each other leave no trace in samples. But a call from within a loop is one of many,
and code that contains no loop, and calls none that does, returns quickly. q call paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import LIBRARY, OUTSIDE_LOOPS, BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree

# Mathematical functions of the C library, and the compilers' replacements for them.
BRIEF_LIBRARIES = ("libm.", "libm-", "libmvec.", "libmvec-", "libimf.", "libsvml.", "libquadmath.", "libgcc_s.")


@dataclass(frozen=True)
class Told:
    """Properties of each call path.

    Attributes:
        again: (q,) its caller calls it from within a loop.
        once: (q,) its caller calls it outside of loops, at most once per call.
        brief: (q,) it runs no loop.
    """

    again: BoolArray
    once: BoolArray
    brief: BoolArray


def told_by_code(profile: IntervalProfile, chains: CallTree) -> Told:
    """Return the properties that the code shows; none for call paths without data on their code."""
    size = len(chains.parent)
    nothing = np.zeros(size, dtype=np.bool_)
    if profile.code_loops is None:
        return Told(nothing, nothing, nothing)
    where = profile.code_loops.at
    ticks = _inclusive(profile)
    parent, of_node = profile.paths.parent, chains.of_node
    looped, straight = np.zeros(size), np.zeros(size)
    lasting = np.zeros(size, dtype=np.bool_)
    for node in np.flatnonzero(ticks > 0).tolist():
        above = int(parent[node])
        chain = int(of_node[node])
        # A loop, unknown code, or a recursion: its duration is unknown.
        lasting[chain] |= bool(where[node] != OUTSIDE_LOOPS) or (node > 0 and int(of_node[above]) == chain)
        entered = _entered(chains, int(of_node[above]), chain)
        if node and entered and where[above] > OUTSIDE_LOOPS:
            looped[entered] += ticks[node]
        elif node and entered and where[above] == OUTSIDE_LOOPS:
            straight[entered] += ticks[node]
    # Functions of libraries may take long, but not mathematical ones.
    mathematics = [m.id for m in profile.metadata.modules if m.path.rpartition("/")[2].startswith(BRIEF_LIBRARIES)]
    in_library = (profile.samples.kind == LIBRARY) & ~np.isin(profile.samples.library, mathematics)
    lasting[of_node[profile.samples.node[in_library]]] = True
    for chain in range(size - 1, 0, -1):
        lasting[chains.parent[chain]] |= lasting[chain]
    return Told(looped > straight, straight > looped, ~lasting & (looped + straight > 0))


def called_again(profile: IntervalProfile) -> set[int]:
    """Return the functions that are called repeatedly by the code: from a loop, or by a function called from one."""
    chains, _ = profile.own_tree.without_recursion()
    told = told_by_code(profile, chains)
    again = told.again.copy()
    for chain in range(1, len(again)):
        again[chain] |= told.once[chain] & again[chains.parent[chain]]
    return set(chains.function[again].tolist())


def at_least_as_often(chains: CallTree, told: Told, calls: FloatArray, unsure: BoolArray) -> FloatArray:
    """Return the calls of each call path, (q,): no fewer than those of callees that it calls at most once per call."""
    out = calls.copy()
    for chain in np.flatnonzero(told.once & ~unsure)[::-1].tolist():
        caller = int(chains.parent[chain])
        if caller:
            out[caller] = max(out[caller], out[chain])
    return out


def _entered(chains: CallTree, above: int, chain: int) -> int:
    """Return the call path right below one of its ancestors, on the way to it; 0 if that is not an ancestor."""
    while chain and int(chains.parent[chain]) != above:
        chain = int(chains.parent[chain])
    return chain


def _inclusive(profile: IntervalProfile) -> FloatArray:
    """Return the inclusive ticks of each path node, (p,)."""
    parent: IntArray = profile.paths.parent
    total = np.bincount(profile.samples.node, weights=profile.samples.weight, minlength=len(parent)).astype(np.float64)
    for node in range(len(total) - 1, 0, -1):
        total[parent[node]] += total[node]
    return total
