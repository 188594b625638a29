"""Calls between functions in a phase: functions below others on the call tree, with their time and counted calls.

n intervals, q nodes of the tree without recursion, s samples of the phase; time is in ticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.steps.step_samples import driving_threads, spans_of
from incprof.analysis.thresholds import StepOptions
from incprof.analysis.uncounted import DenseWindows
from incprof.analysis.uncounted.loop_run import LoopPeriods, Repeated, calls_of
from incprof.analysis.uncounted.sampled_calls import Uncounted
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree, at_or_below
from incprof.model.time_use import CallEstimate, estimate_calls, kind_of_time

# The samples of a phase on the call tree. n intervals, q nodes of the tree, s samples; time is in ticks.


class PhaseSamples:
    """The samples of a phase.

    Attributes:
        total: (q,) inclusive ticks of each node.
        members: intervals of the phase.
        use: (s,) its samples, ascending.
        node: (s,) their nodes.
        interval: (s,) their intervals.
    """

    def __init__(self, profile: IntervalProfile, tree: CallTree, members: IntArray, use: IntArray):
        """members: intervals of the phase. use: its samples, ascending."""
        self.profile, self.tree, self.members, self.use = profile, tree, members, use
        self.node = tree.of_node[profile.samples.node[use]]
        self.interval = profile.interval_of_samples()[use]
        self.threads = len(np.unique(profile.samples.thread[use]))
        own = np.bincount(self.node, weights=profile.samples.weight[use], minlength=len(tree.parent))
        self.total: FloatArray = tree.inclusive(own.astype(np.float64))
        self.below: dict[int, list[int]] = {}
        for node in np.flatnonzero(self.total[1:] > 0).tolist():
            self.below.setdefault(int(tree.parent[node + 1]), []).append(node + 1)
        self._levels = _levels(self.below)

    def ticks_in(self, nodes: Sequence[int]) -> FloatArray:
        """Return the ticks in and below some nodes in each interval, (n,); none outside of the phase."""
        use = self.inside(nodes)
        weight = self.profile.samples.weight[self.use][use]
        ticks = np.bincount(self.interval[use], weights=weight, minlength=self.profile.n_intervals)
        return ticks.astype(np.float64)

    def inside(self, nodes: Sequence[int]) -> BoolArray:
        """Return whether each sample of the phase lies in or below some nodes, (s,)."""
        return self.step_of([nodes]) >= 0

    def step_of(self, steps: Sequence[Sequence[int]]) -> IntArray:
        """Return the set of nodes that each sample lies in or below, (s,), -1 for none of them."""
        of_node = np.full(len(self.tree.parent), -1, dtype=np.int64)
        for number, nodes in enumerate(steps):
            of_node[list(nodes)] = number
        for level in self._levels:
            of_node[level] = np.where(of_node[level] >= 0, of_node[level], of_node[self.tree.parent[level]])
        return of_node[self.node]

    def entered(self, nodes: Sequence[int]) -> int:
        """Return the number of entries into some nodes in samples: a lower bound where calls are not counted."""
        return int(self.entries(nodes).sum())

    def entries(self, nodes: Sequence[int]) -> IntArray:
        """Return the entries for each interval, (n,); of whole intervals, if samples are in no order."""
        if not self.profile.metadata.ordered:
            is_inside = self.ticks_in(nodes) > 0
            first: IntArray = (is_inside & ~np.concatenate([[False], is_inside[:-1]])).astype(np.int64)
            return first
        inside, thread = self.inside(nodes), self.profile.samples.thread[self.use]
        order = np.argsort(thread, kind="stable")
        inside, thread, interval = inside[order], thread[order], self.interval[order]
        before = np.concatenate([[False], inside[:-1]]) & (np.diff(thread, prepend=-1) == 0)
        return np.bincount(interval[inside & ~before], minlength=self.profile.n_intervals)


def _levels(below: Mapping[int, Sequence[int]]) -> list[IntArray]:
    """Return the nodes with ticks by their depth, those below the root first. below: nodes by their parent."""
    out, level = [], list(below.get(0, ()))
    while level:
        out.append(np.array(level, dtype=np.int64))
        level = [node for above in level for node in below.get(above, ())]
    return out


# Marks of the functions that compilers generate for OpenMP regions: each thread of a team calls them.
REGIONS = ("._omp_fn.", ".omp_outlined")


@dataclass(frozen=True)
class Called:
    """A function called by another one.

    Attributes:
        function: index; -1 for the root.
        nodes: of the tree, ascending; several where the nodes in between are entered only once.
        ticks: inclusive ticks.
        calls: by its caller in the phase, 0 if not counted.
        times: (n,) calls in each interval; None if calls from elsewhere cannot be separated.
        estimated: estimate from samples where calls are not counted; `times` is known then if hardly any are missed.
    """

    function: int
    nodes: tuple[int, ...]
    ticks: float
    calls: int = 0
    times: IntArray | None = None
    estimated: CallEstimate | None = None


class PhaseCalls(PhaseSamples):
    """Calls between functions in a phase."""

    def __init__(
        self,
        profile: IntervalProfile,
        tree: CallTree,
        counts: CallCounts,
        members: IntArray,
        use: IntArray,
        options: StepOptions,
    ):
        """counts: of the run. members: intervals of the phase. use: its samples, ascending."""
        super().__init__(profile, tree, members, use)
        self.counts, self.options = counts, options
        self.root = Called(-1, (0,), float(self.total[0]))
        self._split: dict[tuple[int, ...], tuple[list[Called], list[Called]]] = {}

    @cached_property
    def kind_of_time(self) -> IntArray:
        """Kind of time of each sample of the run: indices of model.spent.SPENT, -1 in the profiler."""
        return kind_of_time(self.profile)

    def recurring_and_single(self, caller: Called) -> tuple[list[Called], list[Called]]:
        """Return the functions that a function calls repeatedly, and its other callees, largest first."""
        split = self._split.get(caller.nodes)
        if split is None:
            below = self._called_by(caller)
            recurs = [self._recurs(caller, called) for called in below]
            recurring = [called for called, often in zip(below, recurs, strict=True) if often]
            split = recurring, [called for called, often in zip(below, recurs, strict=True) if not often]
            self._split[caller.nodes] = split
        return split

    def _called_by(self, caller: Called) -> list[Called]:
        """Return the callees of a function without those with too little of the phase, largest first.

        Inlined functions that mostly call others are skipped, and so are functions whose calls are unknown: their
        callees become those of the caller.
        """
        nodes_of = self._by_function(caller.nodes)
        through: list[int] = []
        for function, nodes in list(nodes_of.items()):
            if self._is_passed_through(function, nodes):
                through += nodes
                del nodes_of[function]
        while through:
            more, through = self._by_function(through), []
            for function, nodes in more.items():
                if self._is_passed_through(function, nodes):
                    through += nodes
                else:
                    nodes_of.setdefault(function, []).extend(nodes)
        out = []
        for function, nodes in sorted(nodes_of.items()):
            ticks = float(self.total[nodes].sum())
            if ticks >= self.options.least * self.total[0]:
                out.append(self._counted(caller, function, tuple(sorted(nodes)), ticks))
        return sorted(out, key=lambda called: (-called.ticks, called.function))

    def _by_function(self, callers: Iterable[int]) -> dict[int, list[int]]:
        """Return the nodes below some nodes, by function."""
        nodes_of: dict[int, list[int]] = {}
        for node in (below for above in callers for below in self.below.get(above, ())):
            if self.tree.function[node] >= 0:
                nodes_of.setdefault(int(self.tree.function[node]), []).append(node)
        return nodes_of

    def _is_passed_through(self, function: int, nodes: Sequence[int]) -> bool:
        return (
            not self.counts.total[function]
            and self._calls_mostly(nodes)
            and calls_of(nodes, self.total, self._repeated) is None
        )

    def _calls_mostly(self, nodes: Sequence[int]) -> bool:
        """Return whether most of the time of some nodes is below them."""
        below = sum(float(self.total[node]) for above in nodes for node in self.below.get(above, ()))
        return below > 0.5 * float(self.total[list(nodes)].sum())

    def _recurs(self, driver: Called, called: Called) -> bool:
        """Return whether a function is called often enough to be a step, and not only while its driver sets up.

        Each thread counts for itself. A function with nearly all of its driver's time must recur over the same span.
        """
        threads = 1
        if self.threads > 1:
            inside = np.where(self.inside(called.nodes), 0, -1)
            threads = max(len(driving_threads(self.profile, self.use, inside, self.options.busy)), 1)
        counted = self.counts.total[called.function] or called.estimated is not None
        calls = called.calls if counted else self.entered(called.nodes)
        if calls < self.options.fewest * threads or called.times is None:
            return calls >= self.options.fewest * threads
        ticks = self.ticks_in(driver.nodes)
        covered = spans_of(called.times, self.members, self.profile.end_s - self.profile.start_s, ticks).covered
        full = called.ticks >= self.options.holds * driver.ticks
        least = self.options.holds if full else self.options.apart
        return float(ticks[self.members[covered]].sum()) >= least * float(ticks.sum())

    def callers(self, called: Called) -> list[int]:
        """Return the functions that a node's calls are counted for: inlined code counts for the function around it."""
        out, node = [], called.nodes[0]
        while node:
            function = int(self.tree.function[node])
            if function >= 0:
                out.append(function)
                if self.counts.total[function]:
                    break
            node = int(self.tree.parent[node])
        return out or [-1]

    def _counted(self, caller: Called, function: int, nodes: tuple[int, ...], ticks: float) -> Called:
        """Return a function with its calls by another one."""
        if not self.profile.counted:
            return self._estimated(caller, function, nodes, ticks)
        times, part = None, 1.0
        for above in self.callers(caller) if self.counts.has_arcs else ():
            times = self.counts.between(above, function)
            if times is not None:
                part = ticks / max(self._ticks_of(function, above), ticks)
                break
        if times is None and self.counts.total[function]:
            # Called by way of a library or a jump: the calls are its own if it is called from nowhere else.
            times, part = self.counts.of(function), ticks / max(self._ticks_of(function, None), ticks)
        if times is None:
            return Called(function, nodes, ticks)
        times = times // self._team(function, nodes)
        calls = int(times[self.members].sum())
        if part < self.options.alone:
            return Called(function, nodes, ticks, round(part * calls))
        return Called(function, nodes, ticks, calls, times)

    def _estimated(self, caller: Called, function: int, nodes: tuple[int, ...], ticks: float) -> Called:
        """Return a function with its calls by another one, estimated from samples."""
        times = self.entries(nodes)
        uncounted = self.counts.uncounted
        bounded = uncounted is None or bool(uncounted.bounded[list(nodes)].all())
        estimate = estimate_calls(
            int(times.sum()), self._samples_in(nodes), self._samples_in(caller.nodes), bounded=bounded
        )
        repeated = calls_of(nodes, self.total, self._repeated)
        if repeated is not None and repeated.estimate.is_closer_than(estimate):
            return Called(function, nodes, ticks, repeated.estimate.calls, repeated.times, repeated.estimate)
        windows = self.counts.windows
        if not estimate.is_known and windows is not None and windows.bounded[list(nodes)].all():
            estimate = windows.in_intervals(self.members)(self._below(nodes)) or estimate
            return Called(function, nodes, ticks, estimate.calls, None, estimate)
        return Called(function, nodes, ticks, estimate.low, times if estimate.is_known else None, estimate)

    @cached_property
    def _repeated(self) -> dict[int, Repeated]:
        """Nodes that loops call in each of their iterations, in the phase."""
        loops = self.counts.loops
        return {} if loops is None else loops.in_intervals(self.members)

    def _below(self, nodes: Sequence[int]) -> BoolArray:
        """Return which nodes of the tree are some given nodes or below them, (q,)."""
        marked = np.isin(np.arange(len(self.tree.parent)), list(nodes))
        return at_or_below(self.tree.parent, marked)

    def _samples_in(self, nodes: Sequence[int]) -> int:
        return int(np.count_nonzero(self.inside(nodes)))

    def _ticks_of(self, function: int, caller: int | None) -> float:
        """Return the ticks of a function in the phase, from all callers or from one."""
        selected = self.tree.function == function
        selected &= self.tree.function[self.tree.parent] != function
        if caller is not None:
            selected &= self._nearest[self.tree.parent] == caller
        return float(self.total[selected].sum())

    @cached_property
    def _nearest(self) -> IntArray:
        """Function that calls from a node are counted for, (q,)."""
        function, parent = self.tree.function.tolist(), self.tree.parent.tolist()
        out = list(function)
        for node in range(1, len(out)):
            if function[node] >= 0 and not self.counts.total[function[node]]:
                out[node] = out[parent[node]]
        return np.array(out, dtype=np.int64)

    def _team(self, function: int, nodes: Sequence[int]) -> int:
        """Return the number of threads that call an OpenMP region each time it runs; 1 for other functions."""
        if self.threads < 2 or not any(mark in self.profile.functions[function].mangled for mark in REGIONS):
            return 1
        inside = self.inside(nodes)
        ticks = np.bincount(self.profile.samples.thread[self.use][inside])
        return max(int((ticks >= self.options.busy * ticks.max()).sum()), 1) if len(ticks) else 1


# The calls of a run by caller and callee. n intervals, f functions.


class CallCounts:
    """Calls by caller and callee, for the given functions."""

    def __init__(
        self,
        profile: IntervalProfile,
        matters: BoolArray,
        uncounted: Uncounted | None = None,
        windows: DenseWindows | None = None,
        loops: LoopPeriods | None = None,
    ):
        """matters: (f,) callees to look up. uncounted, bursts, loops: of the tree, if calls are not counted."""
        self.uncounted, self.windows, self.loops = uncounted, windows, loops
        self.profile = profile
        self.total = np.asarray(profile.calls.sum(axis=0)).ravel()
        arcs = profile.arcs
        self.has_arcs = len(arcs.interval) > 0
        use = np.flatnonzero(matters[arcs.callee]) if self.has_arcs else np.zeros(0, dtype=np.int64)
        self._width = np.int64(len(profile.functions) + 1)
        key = (arcs.caller[use].astype(np.int64) + 1) * self._width + arcs.callee[use]
        order = np.argsort(key, kind="stable")
        self._rows, self._key = use[order], key[order]
        # Functions that are not needed may have many calls.
        self._place = np.cumsum(matters) - 1
        self._columns = csr_array(csr_array(profile.calls)[:, np.flatnonzero(matters)]).tocsc()

    def between(self, caller: int, callee: int) -> IntArray | None:
        """Return the calls in each interval, (n,); None without any. caller: -1 if unknown."""
        key = np.int64(caller + 1) * self._width + callee
        low, high = np.searchsorted(self._key, [key, key + 1])
        if low == high:
            return None
        rows, arcs = self._rows[low:high], self.profile.arcs
        out = np.zeros(self.profile.n_intervals, dtype=np.int64)
        np.add.at(out, arcs.interval[rows], arcs.count[rows].astype(np.int64))
        return out

    def of(self, callee: int) -> IntArray:
        """Return all calls of one of the given functions in each interval, (n,)."""
        column = self._place[callee]
        some = slice(self._columns.indptr[column], self._columns.indptr[column + 1])
        out = np.zeros(self.profile.n_intervals, dtype=np.int64)
        out[self._columns.indices[some]] = self._columns.data[some]
        return out
