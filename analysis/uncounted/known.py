"""Of which functions samples see nearly every call: as far as the code tells. q chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.uncounted.code import told_by_code
from incprof.analysis.uncounted.in_loops import seen_in_loops
from incprof.model import OUTSIDE_LOOPS, BoolArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.names import is_entry

# Calls that were seen so often have an end.
SEEN_AGAIN = 3


@dataclass(frozen=True)
class Uncounted:
    """What the code says of the calls of each chain, (q,).

    bounded: few hide between samples. again: it is called from within a loop. brief: it runs no loop.
    """

    bounded: BoolArray
    again: BoolArray
    brief: BoolArray


def uncounted_calls(profile: IntervalProfile, chains: CallTree) -> Uncounted | None:
    """Ask the code; None where calls were counted, or there are no samples."""
    if profile.counted or not len(profile.samples.time_s):
        return None
    told = told_by_code(profile, chains)
    return Uncounted(calls_are_bounded(profile, chains), told.again, told.brief)


def calls_are_bounded(
    profile: IntervalProfile, chains: CallTree, looks: tuple[IntArray, IntArray] | None = None
) -> BoolArray:
    """Whether no more calls of a chain than samples show can hide between two of them, (q,).

    So it is where the caller, of which the same is known, calls it outside of loops, or samples see it come again while
    the loop goes on, and last. All may be where nobody could look at the code (code_is_known): samples alone are asked.

    looks: neighbouring ones of bursts, of which the same is asked.
    """
    size = len(chains.parent)
    if not profile.metadata.ordered:
        return np.zeros(size, dtype=np.bool_)
    if not code_is_known(profile):
        return np.ones(size, dtype=np.bool_)
    told = told_by_code(profile, chains)
    seen = seen_in_loops(profile, chains).again >= SEEN_AGAIN
    if looks is not None:
        seen |= seen_in_loops(profile, chains, looks).again >= SEEN_AGAIN
    out = np.zeros(size, dtype=np.bool_)
    above: list[frozenset[int]] = [frozenset()]
    for chain in range(1, size):
        parent, function = int(chains.parent[chain]), int(chains.function[chain])
        begins = parent == 0 and function >= 0 and is_entry(profile.functions[function].mangled)
        out[chain] = begins or bool(seen[chain]) or bool(told.once[chain] and out[parent])
        out[chain] &= function not in above[parent]
        above.append(above[parent] | {function})
    return out


def code_is_known(profile: IntervalProfile) -> bool:
    """Whether anybody could look at the machine code, so that it says where calls are in loops."""
    return profile.code_loops is not None and bool((profile.code_loops.at >= OUTSIDE_LOOPS).any())
