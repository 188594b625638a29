"""What an interval is made of, by call path: how much of it each chain of functions has to itself.

Self time by function cannot tell phases that share their small functions, and splits what one step does among the many
that it calls. Chains of functions tell the callers apart; those that hardly matter are counted for their caller. n
intervals, q chains, d kept ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.inclusive import Inclusive, from_chains, matters, with_functions
from incprof.analysis.phases.waiting import filled_by_calls
from incprof.model import IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.ticks import tree_ticks


@dataclass(frozen=True)
class Mixes:
    """What intervals are made of.

    own: sparse (n, d), the ticks that each chain that matters has to itself. functions: (d,) the innermost of each.
    above: the same from above, with all that a chain calls.
    chains: all of them, without recursion. ticks: sparse (n, q + u), of each chain, and of the functions `unseen` (u,)
    that are only called.
    """

    own: csr_array
    functions: IntArray
    above: Inclusive
    chains: CallTree
    ticks: csr_array
    unseen: IntArray


def chain_mixes(profile: IntervalProfile, options: PhaseOptions = PHASES) -> Mixes | None:
    """Return what the intervals of a profile are made of, by chains of calls.

    None without call paths (gmon directories), or when less than half of the ticks are known by them (damaged files).
    """
    if not len(profile.samples.time_s):
        return None
    plain = profile.tree
    chains, move = plain.without_recursion()
    ticks = csr_array(tree_ticks(profile, plain) @ move)
    told = float(ticks[:, np.flatnonzero(chains.function >= 0)].sum())
    if not told > options.known * float(ticks.sum()):
        return None
    ticks, unseen = filled_by_calls(profile, chains, ticks, options)
    inclusive = csr_array(ticks[:, : len(chains.parent)] @ chains.ancestors())
    in_interval = np.asarray(ticks.sum(axis=1), dtype=np.float64).ravel()
    often = matters(inclusive, in_interval, float(np.asarray(inclusive.sum(axis=0)).ravel()[0]), options)
    keep = np.zeros(len(chains.parent), dtype=np.bool_)
    keep[often] = True
    keep[0] = True
    own = _nearest_kept(keep, chains.parent)
    own = np.concatenate([own, int(keep.sum()) + np.arange(len(unseen))])
    gather = csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), int(own.max()) + 1))
    above = from_chains(profile, chains, inclusive, in_interval, np.flatnonzero(keep), options)
    if len(unseen):
        above = with_functions(above, ticks[:, len(chains.parent) :].toarray(), unseen)
    own_ticks = csr_array(ticks @ gather)
    return Mixes(own_ticks, np.concatenate([chains.function[keep], unseen]), above, chains, ticks, unseen)


def _nearest_kept(keep: np.ndarray, parent: IntArray) -> IntArray:
    """Return for each chain the place, among the kept ones, of itself or of its nearest caller that is kept."""
    place = np.cumsum(keep) - 1
    for chain in np.flatnonzero(~keep).tolist():
        place[chain] = place[parent[chain]]
    return place.astype(np.int64)
