"""What machine code tells of calls that nobody has counted: who is called from a loop, and who cannot take long.

Calls of one function right after each other leave no mark in samples. But a call from within a loop is one of many, and
code without a loop, below which there is none either, is gone at once. q chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import LIBRARY, OUTSIDE_LOOPS, BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree

# The C library's functions of numbers, and what compilers call in their place.
BRIEF_LIBRARIES = ("libm.", "libm-", "libmvec.", "libmvec-", "libimf.", "libsvml.", "libquadmath.", "libgcc_s.")


@dataclass(frozen=True)
class Told:
    """What is known of each chain, (q,).

    again: its caller calls it from within a loop; once: outside of loops, at most once each time. brief: it runs no
    loop.
    """

    again: BoolArray
    once: BoolArray
    brief: BoolArray


def told_by_code(profile: IntervalProfile, chains: CallTree) -> Told:
    """Return what the code says; nothing of chains where nobody has looked, or of code that is not here."""
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
        # A loop, code that nobody knows, or a recursion: nobody knows for how long.
        lasting[chain] |= bool(where[node] != OUTSIDE_LOOPS) or (node > 0 and int(of_node[above]) == chain)
        entered = _entered(chains, int(of_node[above]), chain)
        if node and entered and where[above] > OUTSIDE_LOOPS:
            looped[entered] += ticks[node]
        elif node and entered and where[above] == OUTSIDE_LOOPS:
            straight[entered] += ticks[node]
    # What libraries do may last, but not a square root.
    mathematics = [m.id for m in profile.metadata.modules if m.path.rpartition("/")[2].startswith(BRIEF_LIBRARIES)]
    in_library = (profile.samples.kind == LIBRARY) & ~np.isin(profile.samples.library, mathematics)
    lasting[of_node[profile.samples.node[in_library]]] = True
    for chain in range(size - 1, 0, -1):
        lasting[chains.parent[chain]] |= lasting[chain]
    return Told(looped > straight, straight > looped, ~lasting & (looped + straight > 0))


def called_again(profile: IntervalProfile) -> set[int]:
    """Return the functions that the code says are called time and again: from a loop, or by who is called from one."""
    chains, _ = profile.own_tree.without_recursion()
    told = told_by_code(profile, chains)
    again = told.again.copy()
    for chain in range(1, len(again)):
        again[chain] |= told.once[chain] & again[chains.parent[chain]]
    return set(chains.function[again].tolist())


def at_least_as_often(chains: CallTree, told: Told, calls: FloatArray, unsure: BoolArray) -> FloatArray:
    """Return the calls of each chain, (q,): no fewer than of what it calls at most once each time."""
    out = calls.copy()
    for chain in np.flatnonzero(told.once & ~unsure)[::-1].tolist():
        caller = int(chains.parent[chain])
        if caller:
            out[caller] = max(out[caller], out[chain])
    return out


def _entered(chains: CallTree, above: int, chain: int) -> int:
    """Return the chain right below another one on the way to a third; 0 where it is not on that way."""
    while chain and int(chains.parent[chain]) != above:
        chain = int(chains.parent[chain])
    return chain


def _inclusive(profile: IntervalProfile) -> FloatArray:
    """Return the ticks of each path node with all below it, (p,)."""
    parent: IntArray = profile.paths.parent
    total = np.bincount(profile.samples.node, weights=profile.samples.weight, minlength=len(parent)).astype(np.float64)
    for node in range(len(total) - 1, 0, -1):
        total[parent[node]] += total[node]
    return total
