"""Estimate calls that were not counted, from samples and machine code. n intervals, f functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import gammaincinv

from incprof.analysis.uncounted.loop_run import LoopPeriods, calls_of
from incprof.analysis.uncounted.sampled_calls import FEWEST_OBSERVED, calls_are_bounded, code_is_known
from incprof.model import PROFILER, BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.time_use import SELDOM, SURE, CallEstimate, entries_and_samples, estimate_calls, tree_ticks


class SampledCalls:
    """Estimates of the calls of all functions, from the samples of a profile with call paths."""

    def __init__(self, profile: IntervalProfile):
        # Unless the code is known, any number of calls may lie between two samples.
        bounded = calls_are_bounded(profile, profile.tree) & code_is_known(profile)
        self._bounded = _of_functions(profile, bounded)
        all_functions = np.ones(len(profile.functions), dtype=np.bool_)
        self._entered, self._inside = entries_and_samples(profile, profile.tree, all_functions)
        self._samples = np.bincount(
            profile.interval_of_samples()[profile.samples.kind != PROFILER], minlength=profile.n_intervals
        )
        self._windows = DenseWindows.of(profile, profile.tree)
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

    def of(self, members: IntArray) -> Callable[[int], CallEstimate]:
        """Return a function that estimates call counts over the given intervals."""
        entered = np.asarray(self._entered[members].sum(axis=0)).ravel()
        inside = np.asarray(self._inside[members].sum(axis=0)).ravel()
        around = int(self._samples[members].sum())
        estimate_in_windows = None if self._windows is None else self._windows.in_intervals(members)
        repeated = self._loops.in_intervals(members)
        ticks = self._chains.inclusive(np.asarray(self._ticks[members].sum(axis=0), dtype=np.float64).ravel())

        def estimate_function(function: int) -> CallEstimate:
            entries = round(entered[function])
            estimate = estimate_calls(entries, round(inside[function]), around, bounded=bool(self._bounded[function]))
            calls = calls_of(np.flatnonzero(self._chains.function == function).tolist(), ticks, repeated)
            if calls is not None and calls.estimate.is_closer_than(estimate):
                return calls.estimate
            if estimate.is_known or estimate_in_windows is None or not self._bounded_by_dense_samples[function]:
                return estimate
            return estimate_in_windows(self._on_stack(function)) or estimate

        return estimate_function

    @cached_property
    def _bounded_by_dense_samples(self) -> BoolArray:
        """Whether the calls of each function are bounded by dense samples, (f,)."""
        assert self._windows is not None
        return _of_functions(self._profile, self._windows.bounded)

    def _on_stack(self, function: int) -> BoolArray:
        """Return the nodes of the tree with a function on the stack, (q,)."""
        out: BoolArray = np.asarray(self._stacks[:, [function]].toarray()).ravel() > 0
        return out


def calls_from_samples(profile: IntervalProfile) -> SampledCalls | None:
    """Return estimates of calls from samples; None if calls were counted, or if there are no samples."""
    return None if profile.counted or not len(profile.samples.time_s) else SampledCalls(profile)


def _of_functions(profile: IntervalProfile, bounded: BoolArray) -> BoolArray:
    """Return whether all nodes of each function with samples are bounded, (f,). bounded: (q,) of the tree's nodes."""
    tree = profile.tree
    own = np.bincount(tree.of_node[profile.samples.node], minlength=len(tree.parent)).astype(np.float64)
    met = (tree.inclusive(own) > 0) & (tree.function >= 0)
    out = np.ones(len(profile.functions), dtype=np.bool_)
    out[tree.function[met & ~bounded]] = False
    return out


# Estimate calls from dense sampling windows, in which a thread is sampled every millisecond.
#
# Calls that begin within the windows are counted, and scaled up by the share of the thread's time in the windows. q
# call paths, m pairs of dense samples.


# Dense samples are a millisecond apart; with a larger gap, some were missed, or the thread was not running.
LONGEST_GAP_S = 0.0015
# One chance in 40 to either side.
OUTSIDE = 0.025


@dataclass(frozen=True)
class DenseWindows:
    """Pairs of neighbouring dense samples of a tree.

    Attributes:
        profile: the run.
        tree: its call tree.
        before: (m,) node of the earlier sample.
        after: (m,) node of the later sample.
        gap_s: (m,) seconds between them.
        thread: (m,) of the later sample.
        interval: (m,) of the later sample.
    """

    profile: IntervalProfile
    tree: CallTree
    before: IntArray
    after: IntArray
    gap_s: FloatArray
    thread: IntArray
    interval: IntArray

    @classmethod
    def of(cls, profile: IntervalProfile, tree: CallTree) -> DenseWindows | None:
        """Return the pairs of a profile; None if there are none."""
        first, second = pairs_of_dense_samples(profile)
        if not len(first):
            return None
        samples, at = profile.samples, tree.of_node[profile.samples.node]
        gap = samples.time_s[second] - samples.time_s[first]
        return cls(
            profile, tree, at[first], at[second], gap, samples.thread[second], profile.interval_of_samples()[second]
        )

    @cached_property
    def bounded(self) -> BoolArray:
        """Whether at most few calls of a call path can lie between two dense samples, (q,), by its code."""
        return calls_are_bounded(self.profile, self.tree, pairs_of_dense_samples(self.profile))

    def at_least(self) -> FloatArray:
        """Return lower bounds of the calls of each call path in the run, (q,), wrong with one chance in 40.

        0 where dense samples are too few.
        """
        everywhere = np.ones(self.profile.n_intervals, dtype=np.bool_)
        stands_for = self._stands_for(everywhere, everywhere[self.interval])
        transitions, place = np.unique(np.stack([self.before, self.after]), axis=1, return_inverse=True)
        above = self.tree.ancestors()
        on_stack = above[transitions[1]]
        entered = csr_array(on_stack - on_stack.multiply(above[transitions[0]]))
        entries, calls, squares = (
            entered.T @ np.bincount(place.ravel(), weights=weights, minlength=transitions.shape[1])
            for weights in (None, stands_for, stands_for**2)
        )
        effective_count = np.where(entries >= FEWEST_OBSERVED, calls**2 / np.maximum(squares, 1e-300), 1.0)
        return np.where(
            entries >= FEWEST_OBSERVED, gammaincinv(effective_count, OUTSIDE) / effective_count * calls, 0.0
        )

    def in_intervals(self, members: IntArray) -> Callable[[BoolArray], CallEstimate | None]:
        """Return a function that estimates the calls of a function on the stack of nodes, (q,), in some intervals.

        It returns None if dense samples are too few, or too sparse as well.
        """
        selected = np.zeros(self.profile.n_intervals, dtype=np.bool_)
        selected[members] = True
        in_selection = selected[self.interval]
        stands_for = self._stands_for(selected, in_selection)

        def estimate_below(inside: BoolArray) -> CallEstimate | None:
            entered = in_selection & inside[self.after] & ~inside[self.before]
            entries, samples = int(entered.sum()), int(in_selection.sum())
            samples_inside = int((in_selection & inside[self.after]).sum())
            chance = samples_inside * (1.0 - samples_inside / samples) if samples else 0.0
            if entries < FEWEST_OBSERVED or entries + SURE * math.sqrt(entries) >= SELDOM * chance:
                return None
            weight = stands_for[entered]
            calls = float(weight.sum())
            effective_count = calls**2 / float((weight**2).sum())
            low = (
                float(gammaincinv(effective_count, OUTSIDE)) / effective_count
            )  # of a chi-squared variable with twice as many degrees
            high = float(gammaincinv(effective_count + 1.0, 1.0 - OUTSIDE)) / effective_count
            missed = -math.log1p(-entries / chance) * chance / entries
            return CallEstimate(max(round(low * calls), 1), high * missed * calls, calls)

        return estimate_below

    def _stands_for(self, selected: BoolArray, in_selection: BoolArray) -> FloatArray:
        """Return the share of a thread's time in some intervals that each dense sample of it stands for, (m,)."""
        samples = self.profile.samples
        threads = int(samples.thread.max(initial=0)) + 1
        work = selected[self.profile.interval_of_samples()] & (samples.kind != PROFILER)
        ticks = np.bincount(samples.thread[work], weights=samples.weight[work], minlength=threads)
        sampled_s = np.bincount(self.thread[in_selection], weights=self.gap_s[in_selection], minlength=threads)
        # Threads without dense samples are assumed to be like the others.
        part = ticks.sum() / max(float(ticks[sampled_s > 0].sum()), 1e-300)
        seconds = ticks / self.profile.metadata.rate_hz * part
        return np.where(in_selection, (seconds / np.where(sampled_s > 0, sampled_s, 1.0))[self.thread], 0.0)


def pairs_of_dense_samples(profile: IntervalProfile) -> tuple[IntArray, IntArray]:
    """Return pairs of neighbouring dense samples of threads, (m,) each: indices of samples."""
    samples = profile.samples
    use = np.flatnonzero(samples.is_dense)
    use = use[np.lexsort((samples.time_s[use], samples.thread[use]))]
    first, second = use[:-1], use[1:]
    is_pair = samples.time_s[second] - samples.time_s[first] <= LONGEST_GAP_S
    is_pair &= samples.thread[first] == samples.thread[second]
    return first[is_pair], second[is_pair]
