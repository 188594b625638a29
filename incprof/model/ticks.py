"""Samples of a profile on its call tree. n intervals, q nodes, f functions, s samples; time is in ticks."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.model.arrays import BoolArray
from incprof.model.calltree import CallTree
from incprof.model.profile import PROFILER, IntervalProfile
from incprof.model.spent import in_runtime


def entries(profile: IntervalProfile, tree: CallTree, uncounted: BoolArray) -> csr_array:
    """Count how often some functions, (f,), were seen to be entered in each interval, sparse (n, f).

    Nobody counts the calls of what was inlined, or built without calls to mcount. But a sample in such a function after
    one outside of it, in the same thread, has at least one call between them. Where samples are in no order, that is
    said of intervals: one with the function, after one without.
    """
    return entries_and_samples(profile, tree, uncounted)[0]


def entries_and_samples(profile: IntervalProfile, tree: CallTree, uncounted: BoolArray) -> tuple[csr_array, csr_array]:
    """Count entries, and the samples that have each of some functions on the stack: both sparse (n, f)."""
    samples, shape = profile.samples, (profile.n_intervals, len(profile.functions))
    wanted = np.append(uncounted, False)
    here = np.flatnonzero(wanted[np.maximum(tree.function, -1)])
    place = (here, tree.function[here])
    on_stack = tree.ancestors() @ csr_array((np.ones(len(here)), place), shape=(len(tree.parent), shape[1]))
    # Where a stack cannot be read, or a thread waits for its next parallel region, nothing is said to have ended.
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
    """Mark the samples of work, (s,): not the profiler's, and no thread that spins until the others are done.

    How long threads spin depends on who else wants the processors, and says nothing about what the program does.
    """
    work: BoolArray = (profile.samples.kind != PROFILER) & ~in_runtime(profile)
    return work


def tree_ticks(profile: IntervalProfile, tree: CallTree) -> csr_array:
    """Return the ticks of work that end in each node of a tree, sparse (n, q).

    Left out are also those without a function of the program on the stack: threads of libraries that wait for work.
    """
    samples = profile.samples
    node = tree.of_node[samples.node]
    use = working(profile) & (node > 0)
    place = (profile.interval_of_samples()[use], node[use])
    shape = (profile.n_intervals, len(tree.parent))
    return csr_array((samples.weight[use].astype(np.float64), place), shape=shape)
