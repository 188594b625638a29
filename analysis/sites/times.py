"""How often each chain of calls is entered and how long a call of it lasts: what a heartbeat there would see.

A chain is a function below its callers; recursion and the standard library's templates count for who called them. n
intervals, q chains, f functions. Calls are counted between two functions, not by chain: of those between the same two,
a chain has as much as it has of their time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.uncounted.bursts import Bursts, pairs_of_looks
from incprof.analysis.uncounted.code import at_least_as_often, told_by_code
from incprof.analysis.uncounted.in_loops import seen_in_loops
from incprof.analysis.uncounted.known import SEEN_AGAIN
from incprof.analysis.uncounted.periods import LoopPeriods
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.ticks import entries, tree_ticks
from incprof.model.visits import SELDOM


@dataclass(frozen=True)
class ChainTimes:
    """The chains of a run.

    ticks: sparse (n, q), of work that ends in each. calls: (q,) in the whole run, 0 where none is known of. seconds:
    (q,) mean duration of a call, infinite where none is known of. cpu_s: the same of CPU time. unsure: (q,) whether
    calls may be far more than is known: nobody counted them, and samples are too rare to tell.
    again: (q,) whether it is called from within a loop, and nothing says how often, as nobody counted. But where a loop
    below it is seen to go on, it is called as often as its own parts come again, as far as anybody can tell.
    own: (q,) whether its function is the program's own; where none is, all count as such.
    """

    chains: CallTree
    ticks: csr_array
    calls: FloatArray
    seconds: FloatArray
    cpu_s: FloatArray
    unsure: BoolArray
    again: BoolArray
    own: BoolArray

    @cached_property
    def inclusive(self) -> csr_array:
        """Ticks of each chain with what it calls, by interval: sparse (n, q)."""
        return csr_array(self.ticks @ self.chains.ancestors())

    @cached_property
    def total(self) -> FloatArray:
        """Ticks of each chain with what it calls, in the whole run, (q,)."""
        return _whole(self.chains, self.ticks)


def chain_times(profile: IntervalProfile) -> ChainTimes | None:
    """Return the chains of a profile, None when it has none (gmon directories)."""
    if not len(profile.samples.time_s):
        return None
    chains, _ = profile.own_tree.without_recursion()
    ticks = tree_ticks(profile, chains)
    used = _whole(chains, ticks)
    calls, unsure = _calls(profile, chains, used)
    again = np.zeros(len(calls), dtype=np.bool_)
    if not profile.counted:
        calls, unsure, again = _told(profile, chains, calls, unsure)
    each = np.maximum(calls, 1e-300) * profile.metadata.rate_hz
    passed = _whole(chains, _with_waiting(profile, ticks))
    seconds, cpu_s = (np.where(calls > 0, time / each, np.inf) for time in (passed, used))
    return ChainTimes(chains, ticks, calls, seconds, cpu_s, unsure, again, _own(profile, chains))


def _own(profile: IntervalProfile, chains: CallTree) -> BoolArray:
    """Return which chains end in a function of the program's own, (q,); all where there is none."""
    library = np.array([*(function.is_library for function in profile.functions), True], dtype=np.bool_)
    named = chains.function >= 0
    own: BoolArray = named & ~library[np.maximum(chains.function, -1)]
    return own if own.any() else named


def _told(
    profile: IntervalProfile, chains: CallTree, calls: FloatArray, unsure: BoolArray
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return calls, unsure and again where nobody counted: what code, looks and the rhythm of loops say besides."""
    told, found = told_by_code(profile, chains), seen_in_loops(profile, chains)
    known, least = found.most, found.least
    bursts = Bursts.of(profile, chains)
    if bursts is not None:
        looked = seen_in_loops(profile, chains, pairs_of_looks(profile))
        calls, least = np.maximum(calls, bursts.at_least()), np.maximum(least, looked.least)
    for chain, each in LoopPeriods(profile, chains).in_intervals(np.arange(profile.n_intervals)).items():
        known[chain] = max(known[chain], float(each.visits.calls))
    calls = at_least_as_often(chains, told, np.maximum(calls, known), unsure)
    unsure = (unsure & ~told.again & ~_starts_threads(profile, chains)) | told.brief
    again = told.again & (at_least_as_often(chains, told, known, unsure) < SEEN_AGAIN) & ~unsure
    lasts = again & _goes_on_inside(chains, found.again)
    return np.where(lasts, np.maximum(calls, least), calls), unsure, again & ~lasts


def _starts_threads(profile: IntervalProfile, chains: CallTree) -> BoolArray:
    """Return which chains are functions that threads begin with, and nobody calls: each thread is one call, (q,)."""
    begins = (chains.parent == 0) & (chains.function >= 0)
    called = np.zeros(len(profile.functions), dtype=np.bool_)
    called[chains.function[(chains.parent > 0) & (chains.function >= 0)]] = True
    out: BoolArray = begins & ~called[np.maximum(chains.function, 0)]
    return out


def _goes_on_inside(chains: CallTree, seen: IntArray) -> BoolArray:
    """Return whether a loop in each chain or below it is seen to go on, (q,). seen: calls of each from a loop."""
    inside = np.zeros(len(seen), dtype=np.bool_)
    for chain in range(len(seen) - 1, 0, -1):
        inside[chains.parent[chain]] |= inside[chain] or seen[chain] >= SEEN_AGAIN
    return inside


def _whole(chains: CallTree, ticks: csr_array) -> FloatArray:
    """Return the ticks of each chain with what it calls, (q,)."""
    return chains.inclusive(np.asarray(ticks.sum(axis=0), dtype=np.float64).ravel())


def _with_waiting(profile: IntervalProfile, ticks: csr_array) -> csr_array:
    """Return the ticks with those that are missing while the program waits: where it is seen, there it waited."""
    expected = (profile.end_s - profile.start_s) * profile.metadata.rate_hz
    seen = np.asarray(ticks.sum(axis=1)).ravel()
    return csr_array(ticks.multiply(np.maximum(expected / np.maximum(seen, 1.0), 1.0)[:, None]))


def _calls(profile: IntervalProfile, chains: CallTree, used: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the calls of each chain, (q,), and whether they may be far more."""
    size, arcs = len(profile.functions), profile.arcs
    callee, caller = chains.function, chains.function[chains.parent]
    named = np.flatnonzero(callee >= 0)
    pair, place = np.unique(arcs.caller.astype(np.int64) * size + arcs.callee, return_inverse=True)
    count = np.bincount(place.ravel(), weights=arcs.count, minlength=len(pair))
    known = named[np.isin(caller[named] * size + callee[named], pair) & (caller[named] >= 0)]
    at = np.searchsorted(pair, caller[known] * size + callee[known])
    calls = np.zeros(len(callee))
    calls[known] = count[at] * _part(at, used[known])
    # Who is called by way of a library, or by what was inlined, is counted below another caller than the chain's.
    counted = np.asarray(csr_array(profile.calls).sum(axis=0), dtype=np.float64).ravel()
    met = np.unique(at)
    left = counted - np.bincount(pair[met] % size, weights=count[met], minlength=size)
    other = np.setdiff1d(named, known)
    calls[other] = np.where(left > 0, left, counted)[callee[other]] * _part(callee[other], used[other])
    return _with_uncounted(profile, chains, used, calls, counted)


def _part(group: IntArray, weight: FloatArray) -> FloatArray:
    """Return what part of its group's weight each has, (m,); equal parts where there is none."""
    whole, size = np.bincount(group, weights=weight), np.bincount(group)
    return np.where(whole[group] > 0, weight / np.maximum(whole[group], 1e-300), 1.0 / np.maximum(size[group], 1))


def _with_uncounted(
    profile: IntervalProfile, chains: CallTree, used: FloatArray, calls: FloatArray, counted: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Add calls that nobody counted: as many as of what is called beside an inlined function, and as were seen.

    What was not inlined and is entered seldom was called once, before anybody could count it; where nothing is counted
    at all, as often as was seen.
    """
    unsure = np.zeros(len(calls), dtype=np.bool_)
    inlined, beside = (
        (set(), {}) if profile.inlined is None else (set(profile.inlined.function.tolist()), profile.inlined.beside)
    )
    seen = np.asarray(entries(profile, chains, counted <= 0).sum(axis=0)).ravel()
    here = np.flatnonzero((chains.function >= 0) & (counted[np.maximum(chains.function, 0)] <= 0))
    part = _part(chains.function[here], used[here])
    for chain, share in zip(here.tolist(), part.tolist(), strict=True):
        function = int(chains.function[chain])
        if others := beside.get(function):
            calls[chain] = share * max(counted[list(others)].max(), seen[function])
            continue
        chance = used[chain] * (1.0 - used[chain] / max(float(used[chains.parent[chain]]), 1e-300))
        unsure[chain] = share * seen[function] >= SELDOM * chance or not profile.metadata.ordered
        known = function in inlined or unsure[chain] or not profile.counts_of[function]
        calls[chain] = share * seen[function] if known else 0.0
    return calls, unsure
