"""Call paths as chains of functions: who was on the stack, and for how long, interval by interval.

A chain is a call path without its call sites. p path nodes, q chains, n intervals, f functions. Time is in ticks.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.model import LIBRARY, PROFILER, BoolArray, FloatArray, IntArray, IntervalProfile

# Run-time libraries of OpenMP, whose barriers spin.
RUNTIME = re.compile(r"lib(gomp|i?omp5?)\b.*\.so")


@dataclass(frozen=True)
class Chains:
    """Call paths without call sites.

    parent, function: (q,), a parent before its children. of_node: (p,) the chain of each path node.
    """

    parent: IntArray
    function: IntArray
    of_node: IntArray

    def inclusive(self, own: FloatArray) -> FloatArray:
        """Add what happens below each chain. own: (..., q)."""
        total = np.array(own, dtype=np.float64)
        columns = np.moveaxis(total, -1, 0)
        parent = self.parent.tolist()
        for chain in range(len(parent) - 1, 0, -1):
            columns[parent[chain]] += columns[chain]
        return total

    def outermost(self) -> IntArray:
        """Return the chains whose function is not on the stack above them as well, ascending."""
        above: list[frozenset[int]] = [frozenset()]
        first = []
        for chain in range(1, len(self.parent)):
            parent, function = int(self.parent[chain]), int(self.function[chain])
            if function not in above[parent]:
                first.append(chain)
                above.append(above[parent] | {function})
            else:
                above.append(above[parent])
        return np.array(first, dtype=np.int64)

    def ancestors(self) -> csr_array:
        """Sparse (q, q): row c has a 1 for c and for each chain above it."""
        size = len(self.parent)
        row = column = np.arange(size)
        rows, columns = [], []
        while len(row):
            rows.append(row)
            columns.append(column)
            up = column > 0
            row, column = row[up], self.parent[column[up]]
        place = (np.concatenate(rows), np.concatenate(columns))
        return csr_array((np.ones(len(place[0])), place), shape=(size, size))


def merge_call_sites(profile: IntervalProfile) -> Chains:
    """Make path nodes that differ only in the address within their functions one.

    Inlined functions that were looked up are called by those that they were inlined into.
    """
    known: dict[tuple[int, int], int] = {}
    of_node: list[int] = [0]
    inlined = inlined_at(profile)
    nodes = zip(profile.paths.parent.tolist()[1:], profile.paths.function.tolist()[1:], strict=True)
    for node, (parent, function) in enumerate(nodes, start=1):
        chain = known.setdefault((of_node[parent], function), len(known) + 1)
        for inner in inlined.get(node, ()):
            chain = known.setdefault((chain, inner), len(known) + 1)
        of_node.append(chain)
    parents = np.array([0, *(parent for parent, _ in known)], dtype=np.int64)
    functions = np.array([-1, *(function for _, function in known)], dtype=np.int64)
    return Chains(parents, functions, np.array(of_node, dtype=np.int64))


def inlined_at(profile: IntervalProfile) -> dict[int, list[int]]:
    """Return the inlined functions of the path nodes that have some, outermost first."""
    if profile.inlined is None:
        return {}
    first, function = profile.inlined.first, profile.inlined.function.tolist()
    nodes = np.flatnonzero(np.diff(first))
    return {node: function[first[node] : first[node + 1]] for node in nodes.tolist()}


def fold_recursion(chains: Chains) -> tuple[Chains, csr_array]:
    """Make a function that is already on the stack the same chain again, however deep the recursion is.

    Returns:
        Chains without recursion, and sparse (q, fewer) with a 1 where an old chain became a new one. `of_node` leads
        to the new ones.
    """
    known: dict[tuple[int, int], int] = {}
    place = [0]
    above: list[dict[int, int]] = [{}]
    for parent, function in zip(chains.parent.tolist()[1:], chains.function.tolist()[1:], strict=True):
        caller = place[parent]
        again = above[caller].get(function)
        if again is None:
            again = known.setdefault((caller, function), len(known) + 1)
            if again == len(above):
                above.append(above[caller] | {function: again} if function >= 0 else above[caller])
        place.append(again)
    parents = np.array([0, *(parent for parent, _ in known)], dtype=np.int64)
    functions = np.array([-1, *(function for _, function in known)], dtype=np.int64)
    old = np.array(place, dtype=np.int64)
    move = csr_array((np.ones(len(old)), (np.arange(len(old)), old)), shape=(len(old), len(parents)))
    return Chains(parents, functions, old[chains.of_node]), move


def fold_library(profile: IntervalProfile, chains: Chains) -> Chains:
    """Count what the standard library's templates do for the function that called them: nobody puts a heartbeat there.

    What they call in turn is called by that function. Without a caller in the program they stay.
    """
    library = [function.is_library for function in profile.functions]
    known: dict[tuple[int, int], int] = {}
    place, own = [0], [False]  # own: the new chain has a function of the program's own on it
    for parent, function in zip(chains.parent.tolist()[1:], chains.function.tolist()[1:], strict=True):
        caller = place[parent]
        foreign = function >= 0 and library[function]
        if foreign and own[caller]:
            place.append(caller)
            continue
        again = known.setdefault((caller, function), len(known) + 1)
        if again == len(own):
            own.append(own[caller] or (function >= 0 and not foreign))
        place.append(again)
    parents = np.array([0, *(parent for parent, _ in known)], dtype=np.int64)
    functions = np.array([-1, *(function for _, function in known)], dtype=np.int64)
    return Chains(parents, functions, np.array(place, dtype=np.int64)[chains.of_node])


def entries(profile: IntervalProfile, chains: Chains) -> csr_array:
    """Count how often inlined functions were seen to be entered in each interval, sparse (n, f).

    Nobody counts their calls. But a sample in such a function after one outside of it, in the same thread, has at least
    one call between them.
    """
    samples, shape = profile.samples, (profile.n_intervals, len(profile.functions))
    if profile.inlined is None:
        return csr_array(shape, dtype=np.float64)
    wanted = np.zeros(len(profile.functions) + 1, dtype=np.bool_)
    wanted[profile.inlined.function] = True
    here = np.flatnonzero(wanted[np.maximum(chains.function, -1)])
    place = (here, chains.function[here])
    on_stack = chains.ancestors() @ csr_array((np.ones(len(here)), place), shape=(len(chains.parent), shape[1]))
    use = np.flatnonzero(samples.kind != PROFILER)
    use = use[np.lexsort((samples.time_s[use], samples.thread[use]))]
    inside = csr_array((on_stack > 0).astype(np.float64)[chains.of_node[samples.node[use]]])
    same = np.diff(samples.thread[use], prepend=-1) == 0
    before = csr_array(inside[np.maximum(np.arange(len(use)) - 1, 0)] * same[:, None])
    row = profile.interval_of_samples()[use]
    gather = csr_array((np.ones(len(use)), (row, np.arange(len(use)))), shape=(shape[0], len(use)))
    return csr_array(gather @ (inside - inside * before))


def working(profile: IntervalProfile) -> BoolArray:
    """Mark the samples of work, (s,): not the profiler's, and no thread that spins until the others are done.

    How long threads spin depends on who else wants the processors, and says nothing about what the program does.
    """
    samples = profile.samples
    spinning = [module.id for module in profile.metadata.modules if RUNTIME.match(os.path.basename(module.path))]
    work: BoolArray = (samples.kind != PROFILER) & ~((samples.kind == LIBRARY) & np.isin(samples.library, spinning))
    return work


def chain_ticks(profile: IntervalProfile, chains: Chains) -> csr_array:
    """Return the ticks of work that end in each chain, sparse (n, q).

    Left out are also those without a function of the program on the stack: threads of libraries that wait for work.
    """
    samples = profile.samples
    chain = chains.of_node[samples.node]
    use = working(profile) & (chain > 0)
    place = (profile.interval_of_samples()[use], chain[use])
    shape = (profile.n_intervals, len(chains.parent))
    return csr_array((samples.weight[use].astype(np.float64), place), shape=shape)
