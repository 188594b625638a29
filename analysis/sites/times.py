"""Calls of each call path, and their durations: what a heartbeat there would record.

A call path is a function below its callers; recursion and templates of the standard library are counted for their
callers. n intervals, q call paths, f functions. Calls are counted between two functions, not by call path: those
between the same two are divided among call paths in proportion to their time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.thresholds import SITES
from incprof.analysis.uncounted import DenseWindows, pairs_of_dense_samples
from incprof.analysis.uncounted.loop_run import LoopPeriods
from incprof.analysis.uncounted.sampled_calls import (
    FEWEST_OBSERVED,
    at_least_as_often,
    calls_in_loops,
    properties_of_code,
)
from incprof.model import PROFILER, BoolArray, FloatArray, IntArray, IntervalProfile, PathTree
from incprof.model.arrays import distinct
from incprof.model.calltree import CallTree, at_or_below, outermost
from incprof.model.names import starts_python_thread
from incprof.model.time_use import SELDOM, entries, tree_ticks


@dataclass(frozen=True)
class ChainTimes:
    """The call paths of a run.

    Attributes:
        chains: the call paths.
        ticks: sparse (n, q), of work that ends in each.
        calls: (q,) in the whole run, 0 if unknown.
        seconds: (q,) mean duration of a call, infinite if unknown.
        cpu_s: (q,) mean CPU time of a call, infinite if unknown.
        unsure: (q,) whether there may be far more calls than known: they were not counted, and samples are too rare.
        in_uncounted_loop: (q,) whether it is called within a loop, and the number of calls is unknown, as they were not
            counted. If a loop below it iterates visibly, calls are estimated from the recurrence of its parts instead.
        own: (q,) whether its function is the program's own; if none is, all count as such.
    """

    chains: CallTree
    ticks: csr_array
    calls: FloatArray
    seconds: FloatArray
    cpu_s: FloatArray
    unsure: BoolArray
    in_uncounted_loop: BoolArray
    own: BoolArray

    @cached_property
    def inclusive(self) -> csr_array:
        """Inclusive ticks of each call path, by interval: sparse (n, q)."""
        return csr_array(self.ticks @ self.chains.ancestors())

    @cached_property
    def total(self) -> FloatArray:
        """Inclusive ticks of each call path, in the whole run, (q,)."""
        return _inclusive_ticks(self.chains, self.ticks)


def chain_times(profile: IntervalProfile) -> ChainTimes | None:
    """Return the call paths of a profile, None if it has none (gmon directories)."""
    if not len(profile.samples.time_s):
        return None
    chains, _ = profile.own_tree.without_recursion()
    ticks = tree_ticks(profile, chains)
    used = _inclusive_ticks(chains, ticks)
    calls, unsure = _calls(profile, chains, used)
    in_uncounted_loop = np.zeros(len(calls), dtype=np.bool_)
    if not profile.counted:
        calls, unsure, in_uncounted_loop = _estimate_calls(profile, chains, calls, unsure)
    each = np.maximum(calls, 1e-300) * profile.metadata.rate_hz
    passed = _inclusive_ticks(chains, _with_waiting(profile, ticks))
    seconds, cpu_s = (np.where(calls > 0, time / each, np.inf) for time in (passed, used))
    seconds = np.maximum(seconds, _thread_lifetimes(profile, chains))
    return ChainTimes(chains, ticks, calls, seconds, cpu_s, unsure, in_uncounted_loop, _own(profile, chains))


def _own(profile: IntervalProfile, chains: CallTree) -> BoolArray:
    """Return which call paths end in a function of the program's own, (q,); all if none does."""
    takes = np.array([*(function.takes_beats for function in profile.functions), False], dtype=np.bool_)
    named = chains.function >= 0
    own: BoolArray = named & takes[np.maximum(chains.function, -1)]
    return own if own.any() else named


def _estimate_calls(
    profile: IntervalProfile, chains: CallTree, calls: FloatArray, unsure: BoolArray
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return calls, unsure and again where calls were not counted, from code, dense samples and periods of loops."""
    code, from_loops = properties_of_code(profile, chains), calls_in_loops(profile, chains)
    most, least = from_loops.most, from_loops.least
    windows = DenseWindows.of(profile, chains)
    if windows is not None:
        from_windows = calls_in_loops(profile, chains, pairs_of_dense_samples(profile))
        calls, least = np.maximum(calls, windows.at_least()), np.maximum(least, from_windows.least)
    for chain, each in LoopPeriods(profile, chains).in_intervals(np.arange(profile.n_intervals)).items():
        most[chain] = max(most[chain], float(each.estimate.calls))
    calls = at_least_as_often(chains, code, np.maximum(calls, most), unsure)
    unsure = (unsure & ~code.in_loop & ~_starts_threads(profile, chains)) | code.brief
    in_uncounted_loop = code.in_loop & (at_least_as_often(chains, code, most, unsure) < FEWEST_OBSERVED) & ~unsure
    iterates = in_uncounted_loop & _iterates_below(
        chains, np.maximum(from_loops.repeats, np.where(unsure | in_uncounted_loop, 0, from_loops.least))
    )
    return np.where(iterates, np.maximum(calls, least), calls), unsure, in_uncounted_loop & ~iterates


def _starts_threads(profile: IntervalProfile, chains: CallTree) -> BoolArray:
    """Return which call paths are entry functions of threads without a caller, (q,): each thread is one call.

    Functions of Python in which its threads begin are no callers.
    """
    has_caller = _below(chains, ~_begins_threads(profile, chains))
    begins = (chains.function >= 0) & ~has_caller
    called = np.zeros(len(profile.functions), dtype=np.bool_)
    called[chains.function[has_caller & (chains.function >= 0)]] = True
    out: BoolArray = begins & ~called[np.maximum(chains.function, 0)]
    return out


def _begins_threads(profile: IntervalProfile, chains: CallTree) -> BoolArray:
    """Mark the root, and functions of Python in which its threads begin, (q,)."""
    begins = np.array([*(starts_python_thread(function.name) for function in profile.functions), False], dtype=np.bool_)
    marked: BoolArray = begins[np.maximum(chains.function, -1)]
    marked[0] = True
    return marked


def _below(chains: CallTree, marked: BoolArray) -> BoolArray:
    """Return which call paths are below a marked one, (q,)."""
    return at_or_below(chains.parent, marked)[chains.parent]


def _thread_lifetimes(profile: IntervalProfile, chains: CallTree) -> FloatArray:
    """Return the mean lifetime of the threads whose single call a call path is, seconds, (q,); 0 for all others.

    A thread that waits while others work has few samples, but exists all the same.
    """
    samples, begins = profile.samples, _begins_threads(profile, chains)
    top = outermost(np.where(begins[chains.parent], 0, chains.parent))
    top[begins | ~_own(profile, chains)[top]] = 0
    thread, place = np.unique(samples.thread, return_inverse=True)
    first, last = np.full(len(thread), np.inf), np.zeros(len(thread))
    np.minimum.at(first, place, samples.time_s)
    np.maximum.at(last, place, samples.time_s)
    use = samples.kind != PROFILER
    use &= top[chains.of_node[samples.node]] > 0
    pairs = distinct(place[use].astype(np.int64) * len(top) + top[chains.of_node[samples.node[use]]])
    thread_index, chain = pairs // len(top), pairs % len(top)
    single = (np.bincount(thread_index, minlength=len(thread)) == 1)[thread_index] & _starts_threads(profile, chains)[
        chain
    ]
    thread_index, chain = thread_index[single], chain[single]
    lives = np.bincount(chain, weights=(last - first)[thread_index], minlength=len(top))
    return lives / np.maximum(np.bincount(chain, minlength=len(top)), 1)


def _iterates_below(chains: CallTree, lower_bound: IntArray) -> BoolArray:
    """Return whether a loop in each call path or below it is seen to iterate, (q,). seen: least calls of each."""
    inside = np.zeros(len(lower_bound), dtype=np.bool_)
    for chain in range(len(lower_bound) - 1, 0, -1):
        inside[chains.parent[chain]] |= inside[chain] or lower_bound[chain] >= FEWEST_OBSERVED
    return inside


def _inclusive_ticks(chains: CallTree, ticks: csr_array) -> FloatArray:
    """Return the inclusive ticks of each call path, (q,)."""
    return chains.inclusive(np.asarray(ticks.sum(axis=0), dtype=np.float64).ravel())


def _with_waiting(profile: IntervalProfile, ticks: csr_array) -> csr_array:
    """Scale ticks up to those missing while the program waits: it is assumed to wait where it is sampled."""
    expected = (profile.end_s - profile.start_s) * profile.metadata.rate_hz
    ticks_by_interval = np.asarray(ticks.sum(axis=1)).ravel()
    return csr_array(ticks.multiply(np.maximum(expected / np.maximum(ticks_by_interval, 1.0), 1.0)[:, None]))


def _calls(profile: IntervalProfile, chains: CallTree, used: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the calls of each call path, (q,), and whether there may be far more."""
    size, arcs = len(profile.functions), profile.arcs
    callee, caller = chains.function, chains.function[chains.parent]
    named = np.flatnonzero(callee >= 0)
    pair, place = np.unique(arcs.caller.astype(np.int64) * size + arcs.callee, return_inverse=True)
    count = np.bincount(place.ravel(), weights=arcs.count, minlength=len(pair))
    counted_nodes = named[np.isin(caller[named] * size + callee[named], pair) & (caller[named] >= 0)]
    at = np.searchsorted(pair, caller[counted_nodes] * size + callee[counted_nodes])
    calls = np.zeros(len(callee))
    calls[counted_nodes] = count[at] * _part(at, used[counted_nodes])
    # Calls by way of a library, or from inlined code, are counted below another caller than that of the call path.
    counted = np.asarray(csr_array(profile.calls).sum(axis=0), dtype=np.float64).ravel()
    met = np.unique(at)
    remaining = counted - np.bincount(pair[met] % size, weights=count[met], minlength=size)
    other = np.setdiff1d(named, counted_nodes)
    calls[other] = np.where(remaining > 0, remaining, counted)[callee[other]] * _part(callee[other], used[other])
    return _with_uncounted(profile, chains, used, calls, counted)


def _part(group: IntArray, weight: FloatArray) -> FloatArray:
    """Return the share that each has of its group's weight, (m,); equal shares where the weight is zero."""
    total, size = np.bincount(group, weights=weight), np.bincount(group)
    return np.where(total[group] > 0, weight / np.maximum(total[group], 1e-300), 1.0 / np.maximum(size[group], 1))


def _with_uncounted(
    profile: IntervalProfile, chains: CallTree, used: FloatArray, calls: FloatArray, counted: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Add calls that were not counted: as many as of functions called beside an inlined one, and as entries in samples.

    A function that is not inlined and is entered seldom was called once, before counting began; if nothing is counted
    at all, its calls are the entries in samples.
    """
    unsure = np.zeros(len(calls), dtype=np.bool_)
    inlined, related = (
        (set(), {}) if profile.inlined is None else (set(profile.inlined.function.tolist()), profile.inlined.beside)
    )
    entry_counts = np.asarray(entries(profile, chains, counted <= 0).sum(axis=0)).ravel()
    nodes = np.flatnonzero((chains.function >= 0) & (counted[np.maximum(chains.function, 0)] <= 0))
    part = _part(chains.function[nodes], used[nodes])
    for chain, share in zip(nodes.tolist(), part.tolist(), strict=True):
        function = int(chains.function[chain])
        if others := related.get(function):
            calls[chain] = share * max(counted[list(others)].max(), entry_counts[function])
            continue
        chance = used[chain] * (1.0 - used[chain] / max(float(used[chains.parent[chain]]), 1e-300))
        unsure[chain] = share * entry_counts[function] >= SELDOM * chance or not profile.metadata.ordered
        is_called = function in inlined or unsure[chain] or not profile.counts_of[function]
        calls[chain] = share * entry_counts[function] if is_called else 0.0
    return calls, unsure


# Callers of a function in a phase, from the call paths: the next candidates where the function itself is no site.


def heaviest_callers(paths: PathTree, own: FloatArray, function: int, part: float = SITES.caller) -> list[int]:
    """Return the function that calls most of a function's time, then that one's main caller, and so on upwards.

    Args:
        paths: p nodes.
        own: (p,) time of each node without its callees.
        function: whose callers are wanted. Each is returned once, and the function itself never.
        part: least share of its time; a caller of less is not representative.
    """
    callers: list[int] = []
    node = np.flatnonzero((paths.function == function) & (own > 0))
    weight = own[node]
    total = float(weight.sum())
    while len(node):
        node = paths.parent[node]
        caller = paths.function[node].astype(np.int64)
        present = caller >= 0
        share = np.bincount(caller[present], weights=weight[present])
        if not len(share) or share.max() < part * total:
            break
        best = int(np.argmax(share))
        if best != function and best not in callers:
            callers.append(best)
        node, weight = node[caller == best], weight[caller == best]
    return callers
