"""Samples of a profile on its call tree. n intervals, q nodes, f functions, s samples; time is in ticks."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.model.arrays import BoolArray
from incprof.model.calltree import CallTree
from incprof.model.profile import PROFILER, IntervalProfile
from incprof.model.time_use import in_runtime


def entries(profile: IntervalProfile, tree: CallTree, uncounted: BoolArray) -> csr_array:
    """Count observed entries of the given functions, (f,), in each interval; sparse (n, f).

    Calls are not counted for functions that were inlined, or built without calls to mcount. But between a sample
    outside such a function and a following one inside it, in the same thread, there is at least one call. If samples
    have no order, intervals are compared instead: one with the function, after one without.
    """
    return entries_and_samples(profile, tree, uncounted)[0]


def entries_and_samples(profile: IntervalProfile, tree: CallTree, uncounted: BoolArray) -> tuple[csr_array, csr_array]:
    """Count entries, and the samples with each of the given functions on the stack: both sparse (n, f)."""
    samples, shape = profile.samples, (profile.n_intervals, len(profile.functions))
    wanted = np.append(uncounted, False)
    here = np.flatnonzero(wanted[np.maximum(tree.function, -1)])
    place = (here, tree.function[here])
    on_stack = tree.ancestors() @ csr_array((np.ones(len(here)), place), shape=(len(tree.parent), shape[1]))
    # An unreadable stack, or a thread that waits for its next parallel region, ends no call.
    lost = tree.of_node[profile.own_node[samples.node]] == 0
    use = np.flatnonzero((samples.kind != PROFILER) & ~lost)
    use = use[np.lexsort((samples.time_s[use], samples.thread[use]))]
    inside = csr_array((on_stack > 0).astype(np.float64)[tree.of_node[samples.node[use]]])
    same = np.diff(samples.thread[use], prepend=-1) == 0
    before = csr_array(inside[np.maximum(np.arange(len(use)) - 1, 0)] * same[:, None])
    row = profile.interval_of_samples()[use]
    gather = csr_array((np.ones(len(use)), (row, np.arange(len(use)))), shape=(shape[0], len(use)))
    if not profile.metadata.ordered:
        whole = csr_array(gather @ inside)
        there = csr_array((whole > 0).astype(np.float64))
        first = csr_array(there[np.maximum(np.arange(shape[0]) - 1, 0)] * (np.arange(shape[0]) > 0)[:, None])
        return csr_array(there - there * first), whole
    return csr_array(gather @ (inside - inside * before)), csr_array(gather @ inside)


def working(profile: IntervalProfile) -> BoolArray:
    """Mark the samples of work, (s,): neither the profiler's, nor those of threads that spin until the others are done.

    How long threads spin depends on the load of the processors, not on the program.
    """
    work: BoolArray = (profile.samples.kind != PROFILER) & ~in_runtime(profile)
    return work


def tree_ticks(profile: IntervalProfile, tree: CallTree) -> csr_array:
    """Return the ticks of work that end in each node of a tree, sparse (n, q).

    Samples without a function of the program on the stack, of library threads that wait for work, are left out as well.
    """
    samples = profile.samples
    node = tree.of_node[samples.node]
    use = working(profile) & (node > 0)
    place = (profile.interval_of_samples()[use], node[use])
    shape = (profile.n_intervals, len(tree.parent))
    return csr_array((samples.weight[use].astype(np.float64), place), shape=shape)
