"""Functions whose calls samples show nearly completely, as far as the code determines. q call paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.uncounted.code import told_by_code
from incprof.analysis.uncounted.in_loops import seen_in_loops
from incprof.model import OUTSIDE_LOOPS, BoolArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.names import is_entry

# Calls seen this often are known to end.
SEEN_AGAIN = 3


@dataclass(frozen=True)
class Uncounted:
    """Properties of the calls of each call path, from the code.

    Attributes:
        bounded: (q,) at most few calls lie between samples.
        again: (q,) it is called from within a loop.
        brief: (q,) it runs no loop.
    """

    bounded: BoolArray
    again: BoolArray
    brief: BoolArray


def uncounted_calls(profile: IntervalProfile, chains: CallTree) -> Uncounted | None:
    """Return the properties; None if calls were counted, or if there are no samples."""
    if profile.counted or not len(profile.samples.time_s):
        return None
    told = told_by_code(profile, chains)
    return Uncounted(calls_are_bounded(profile, chains), told.again, told.brief)


def calls_are_bounded(
    profile: IntervalProfile, chains: CallTree, looks: tuple[IntArray, IntArray] | None = None
) -> BoolArray:
    """Return whether at most few calls of a call path can lie between two samples unnoticed, (q,).

    This holds if its caller, for which the same holds, calls it outside of loops, or if samples show it to recur while
    the loop continues. If the code is not available (code_is_known), all count as bounded, and samples alone decide.

    looks: pairs of neighbouring dense samples, for the same test between these.
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
    """Return whether the machine code was available, so that it shows which calls are in loops."""
    return profile.code_loops is not None and bool((profile.code_loops.at >= OUTSIDE_LOOPS).any())
