"""Estimates of call counts from samples, where calls were not counted. n intervals, f functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array

from incprof.analysis.uncounted.bursts import Bursts
from incprof.analysis.uncounted.loop_calls import calls_of
from incprof.analysis.uncounted.periods import LoopPeriods
from incprof.analysis.uncounted.sampled_calls import calls_are_bounded, code_is_known
from incprof.model import PROFILER, BoolArray, IntArray, IntervalProfile
from incprof.model.ticks import entries_and_samples, tree_ticks
from incprof.model.visits import Visits, visits


class CallsSeen:
    """Estimates of the calls of all functions, from the samples of a profile with call paths."""

    def __init__(self, profile: IntervalProfile):
        # Unless the code is known, any number of calls may lie between two samples.
        bounded = calls_are_bounded(profile, profile.tree) & code_is_known(profile)
        self._bounded = _of_functions(profile, bounded)
        everybody = np.ones(len(profile.functions), dtype=np.bool_)
        self._entered, self._inside = entries_and_samples(profile, profile.tree, everybody)
        self._samples = np.bincount(
            profile.interval_of_samples()[profile.samples.kind != PROFILER], minlength=profile.n_intervals
        )
        self._bursts = Bursts.of(profile, profile.tree)
        self._chains, _ = profile.own_tree.without_recursion()
        self._ticks = tree_ticks(profile, self._chains)
        self._loops = LoopPeriods(profile, self._chains)
        self._profile, tree = profile, profile.tree
        named = np.flatnonzero(tree.function >= 0)
        place = (named, tree.function[named])
        shape = (len(tree.parent), len(profile.functions))
        self._stacks = csc_array(tree.ancestors() @ csr_array((np.ones(len(named)), place), shape=shape))

    def samples_inside(self) -> csr_array:
        """Samples that have each function on the stack, by interval: sparse (n, f)."""
        return self._inside

    def of(self, members: IntArray) -> Callable[[int], Visits]:
        """Return a function that estimates call counts over the given intervals."""
        entered = np.asarray(self._entered[members].sum(axis=0)).ravel()
        inside = np.asarray(self._inside[members].sum(axis=0)).ravel()
        around = int(self._samples[members].sum())
        judge = None if self._bursts is None else self._bursts.in_intervals(members)
        repeated = self._loops.in_intervals(members)
        ticks = self._chains.inclusive(np.asarray(self._ticks[members].sum(axis=0), dtype=np.float64).ravel())

        def judged(function: int) -> Visits:
            seen = round(entered[function])
            found = visits(seen, round(inside[function]), around, bounded=bool(self._bounded[function]))
            calls = calls_of(np.flatnonzero(self._chains.function == function).tolist(), ticks, repeated)
            if calls is not None and calls.visits.is_closer_than(found):
                return calls.visits
            if found.is_known or judge is None or not self._bounded_by_looks[function]:
                return found
            return judge(self._on_stack(function)) or found

        return judged

    @cached_property
    def _bounded_by_looks(self) -> BoolArray:
        """Whether the calls of each function are bounded by dense samples, (f,)."""
        assert self._bursts is not None
        return _of_functions(self._profile, self._bursts.bounded)

    def _on_stack(self, function: int) -> BoolArray:
        """Return the nodes of the tree with a function on the stack, (q,)."""
        out: BoolArray = np.asarray(self._stacks[:, [function]].toarray()).ravel() > 0
        return out


def calls_seen(profile: IntervalProfile) -> CallsSeen | None:
    """Return estimates of calls from samples; None if calls were counted, or if there are no samples."""
    return None if profile.counted or not len(profile.samples.time_s) else CallsSeen(profile)


def _of_functions(profile: IntervalProfile, bounded: BoolArray) -> BoolArray:
    """Return whether all nodes of each function with samples are bounded, (f,). bounded: (q,) of the tree's nodes."""
    tree = profile.tree
    own = np.bincount(tree.of_node[profile.samples.node], minlength=len(tree.parent)).astype(np.float64)
    met = (tree.inclusive(own) > 0) & (tree.function >= 0)
    out = np.ones(len(profile.functions), dtype=np.bool_)
    out[tree.function[met & ~bounded]] = False
    return out
