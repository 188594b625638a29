"""Intervals in which the program mostly waited: they hold few ticks, so calls are used as well.

A thread that waits has no ticks, but what it waits for was called. So an interval with hardly any ticks is filled up
with the ticks that the functions called in it usually have. Where calls were not counted, functions that were sampled
waiting take their place. n intervals, q call paths, f functions.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack

from incprof.analysis.options.phase_thresholds import PHASES, PhaseOptions
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.names import is_entry
from incprof.model.time_use import in_runtime


def filled_by_calls(
    profile: IntervalProfile, chains: CallTree, ticks: csr_array, options: PhaseOptions = PHASES
) -> tuple[csr_array, IntArray]:
    """Fill up intervals of few ticks.

    Args:
        profile: its calls and arcs are used, or samples in the OpenMP runtime; without them nothing is filled.
        chains: call paths of the profile.
        ticks: sparse (n, q).
        options: thresholds.

    Returns:
        Ticks, sparse (n, q + u), and the functions (u,) of the last u columns: those that are called where the program
        waits and never have a tick themselves.
    """
    level = options.fill * profile.metadata.interval_s * profile.metadata.rate_hz
    missing = np.maximum(level - np.asarray(ticks.sum(axis=1)).ravel(), 0.0)
    entered = entered_calls(profile, missing > 0) if profile.counted else seen_waiting(profile, missing > 0)
    if not entered.nnz:
        return ticks, np.zeros(0, dtype=np.int64)
    below = _mix_below(chains, ticks, len(profile.functions))
    seen = np.asarray(below.sum(axis=1)).ravel()
    counts = profile.calls if profile.counted else seen_waiting(profile, missing >= 0)
    calls = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    weight = csr_array(entered * (np.maximum(seen, options.unseen) / np.maximum(calls, 1.0))[None, :])
    whole = np.asarray(weight.sum(axis=1)).ravel()
    weight.data *= np.repeat(missing / np.maximum(whole, 1e-300), np.diff(weight.indptr))
    unseen = np.flatnonzero((seen <= 0) & (np.asarray(weight.sum(axis=0)).ravel() > 0))
    mix = csr_array(below.multiply(1.0 / np.maximum(seen, 1e-300)[:, None]))
    return csr_array(hstack([ticks + weight @ mix, weight[:, unseen]])), unseen


def entered_calls(profile: IntervalProfile, wanted: BoolArray) -> csr_array:
    """Return the calls from functions that were already running, in the intervals wanted (n,): (n, f)."""
    arcs, size = profile.arcs, (profile.n_intervals, len(profile.functions))
    use = np.flatnonzero(wanted[arcs.interval]) if len(arcs.interval) else np.zeros(0, dtype=np.int64)
    interval, caller = arcs.interval[use].astype(np.int64), arcs.caller[use].astype(np.int64)
    callee, count = arcs.callee[use].astype(np.int64), arcs.count[use].astype(np.float64)
    called = np.unique(interval * size[1] + callee)
    outside = (caller < 0) | ~np.isin(interval * size[1] + caller, called)
    place = (interval[outside], callee[outside])
    return csr_array((count[outside], place), shape=size)


def seen_waiting(profile: IntervalProfile, wanted: BoolArray) -> csr_array:
    """Return how often functions were sampled in the OpenMP runtime, in the intervals wanted (n,): (n, f).

    The program's entry functions are left out: everything is below them.
    """
    row = profile.interval_of_samples()
    function = profile.paths.function[profile.own_node[profile.samples.node]].astype(np.int64)
    begins = np.array([*(is_entry(f.mangled) for f in profile.functions), True], dtype=np.bool_)
    use = in_runtime(profile) & wanted[row] & (function >= 0)
    use &= ~begins[np.maximum(function, -1)]
    place = (row[use], function[use])
    return csr_array((np.ones(int(use.sum())), place), shape=(profile.n_intervals, len(profile.functions)))


def who_was_called(profile: IntervalProfile, members: IntArray, part: float) -> list[tuple[int, float]]:
    """Return the functions entered in at least this share of some intervals, with that share; most frequent first.

    They represent a phase that has no tick at all.
    """
    wanted = np.zeros(profile.n_intervals, dtype=np.bool_)
    wanted[members] = True
    often = np.asarray((entered_calls(profile, wanted) > 0).sum(axis=0)).ravel() / max(len(members), 1)
    order = np.lexsort((np.arange(len(often)), -often))
    return [(int(f), float(often[f])) for f in order if often[f] >= part]


def _mix_below(chains: CallTree, ticks: csr_array, functions: int) -> csr_array:
    """Return the ticks of each call path that has a function on its stack, sparse (f, q)."""
    chain = np.flatnonzero(chains.function >= 0)
    shape = (len(chains.parent), functions)
    is_function = csr_array((np.ones(len(chain)), (chain, chains.function[chain])), shape=shape)
    on_stack = ((chains.ancestors() @ is_function) > 0).astype(np.float64)
    own: FloatArray = np.asarray(ticks.sum(axis=0)).ravel()
    return csr_array(on_stack.multiply(own[:, None]).T.tocsr())
