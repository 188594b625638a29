"""Estimate call paths from the call graph, where a recording has none but its calls are counted.

gprof files hold the time of each function and the calls between functions. A call path gets the same share of a
function's time as of its calls. This is an estimate, since calls of a function may differ in duration. n intervals.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from itertools import count

import numpy as np
from scipy.sparse import csc_array

from incprof.model import OWN, UNKNOWN, FloatArray, IntArray, IntervalProfile, PathTree, Samples

# The callers of a function are assumed constant within each of so many blocks of whole intervals.
BLOCKS = 1024
# Call paths with fewer ticks count for others of the same function; and at most so many are followed.
LEAST_TICKS, MOST_CHAINS = 0.5, 4000


def with_estimated_paths(profile: IntervalProfile) -> IntervalProfile:
    """Return a profile with estimated call paths; unchanged if paths were recorded, or no calls between functions.

    Each call path has one sample per interval, with all its ticks: their order is unknown.
    """
    if len(profile.samples.time_s) or not np.any(profile.arcs.caller >= 0) or not profile.n_intervals:
        return profile
    chains = _Chains(profile)
    return replace(
        profile,
        metadata=replace(profile.metadata, ordered=False),
        paths=chains.tree(),
        samples=chains.samples(),
    )


@dataclass(frozen=True)
class _Chain:
    """A call path.

    Attributes:
        parent: the call path of the caller.
        function: the innermost function.
        part: (b,) share of the function's time.
        ticks: of the path.
    """

    parent: int
    function: int
    part: FloatArray
    ticks: float


class _Chains:
    """The call paths of a profile, those with most time first."""

    def __init__(self, profile: IntervalProfile):
        self._profile = profile
        n = profile.n_intervals
        self._blocks = min(n, BLOCKS)
        self._block = np.arange(n) * self._blocks // n
        self._ticks = csc_array(profile.self_s, dtype=np.float64) * profile.metadata.rate_hz
        self._graph = self._call_graph()
        self.chains: list[_Chain] = [_Chain(0, -1, np.ones(self._blocks), 0.0)]
        self._grow()

    def _call_graph(self) -> CallGraph:
        """Build the call graph by blocks."""
        profile, size = self._profile, len(self._profile.functions)
        own = np.zeros((size, self._blocks))
        rows = self._block[self._ticks.indices]
        columns = np.repeat(np.arange(size), np.diff(self._ticks.indptr))
        np.add.at(own, (columns, rows), self._ticks.data)
        arcs = profile.arcs
        pair = (arcs.caller.astype(np.int64) + 1) * size + arcs.callee
        distinct, where = np.unique(pair, return_inverse=True)
        counts = np.zeros((len(distinct), self._blocks))
        np.add.at(counts, (where.ravel(), self._block[arcs.interval]), arcs.count.astype(np.float64))
        return CallGraph(own, distinct // size - 1, distinct % size, counts)

    def _grow(self) -> None:
        """Follow calls from functions without a caller, the call paths with most time first."""
        graph, order = self._graph, count()
        callees = graph.callees()
        waiting: list[tuple[float, int, int, Entry, FloatArray]] = []

        def offer(parent: int, entry: Entry, part: FloatArray) -> None:
            ticks = float(part @ graph.inclusive[graph.component[entry.function]])
            if ticks >= LEAST_TICKS:
                heapq.heappush(waiting, (-ticks, next(order), parent, entry, part))

        for number, members in enumerate(graph.members):
            if not graph.entries[number] and not self._outside(members[0]):
                # If nothing calls a cycle, its function with the lowest number is assumed to be called first.
                offer(0, Entry(-1, members[0], np.ones(self._blocks)), np.ones(self._blocks))
        for entry in callees.get(-1, []):
            offer(0, entry, entry.part)
        while waiting and len(self.chains) < MOST_CHAINS:
            ticks, _, parent, entry, part = heapq.heappop(waiting)
            for chain in self._entered(parent, entry.function, part, -ticks):
                for called in callees.get(self.chains[chain].function, []):
                    offer(chain, called, part * called.part)

    def _outside(self, function: int) -> bool:
        """Return whether an entry keeps time that is in no function of the program, and has no caller."""
        of = self._profile.functions[function]
        return not of.is_code and not of.is_nameless and not self._graph.entries[self._graph.component[function]]

    def _entered(self, parent: int, entry: int, part: FloatArray, ticks: float) -> list[int]:
        """Add a function, and below it the others of its cycle, each at its first call; return their call paths."""
        cycle_arcs = self._graph.arcs_within.get(int(self._graph.component[entry]), [])
        place = {entry: len(self.chains)}
        self.chains.append(_Chain(parent, entry, part, ticks))
        level = [entry]
        while level:
            following = []
            for caller, function in cycle_arcs:
                if caller in level and function not in place:
                    place[function] = len(self.chains)
                    self.chains.append(_Chain(place[caller], function, part, ticks))
                    following.append(function)
            level = following
        return list(place.values())

    def tree(self) -> PathTree:
        """Return the call tree; a function without a call path is below the root."""
        have = {chain.function for chain in self.chains}
        for function in np.flatnonzero(np.diff(self._ticks.indptr)).tolist():
            if function not in have and not self._outside(function):
                self.chains.append(_Chain(0, function, np.ones(self._blocks), 0.0))
        parent = np.array([chain.parent for chain in self.chains], dtype=np.int64)
        functions = [chain.function for chain in self.chains]
        address = [0, *(self._profile.functions[function].address for function in functions[1:])]
        return PathTree(parent, np.array(functions, dtype=np.int32), np.array(address, dtype=np.int64))

    def samples(self) -> Samples:
        """Return a sample for each interval and call path with a tick; the largest path gets the rounding remainder."""
        outside = np.flatnonzero(np.diff(self._ticks.indptr)).tolist()
        of_function: dict[int, list[int]] = {function: [0] for function in outside if self._outside(function)}
        for number, chain in enumerate(self.chains[1:], 1):
            of_function.setdefault(chain.function, []).append(number)
        rows, nodes, weights = [], [], []
        for function, numbers in of_function.items():
            some = slice(self._ticks.indptr[function], self._ticks.indptr[function + 1])
            order = np.argsort(self._ticks.indices[some], kind="stable")
            interval, ticks = self._ticks.indices[some][order], self._ticks.data[some][order]
            remaining, block = _rounded(np.cumsum(ticks)), self._block[interval]
            shares = sorted((float(self.chains[number].part[block] @ ticks), -number) for number in numbers)
            for _, negative in shares:
                part = self.chains[-negative].part[block]
                own_ticks = (
                    remaining if negative == shares[-1][1] else np.minimum(_rounded(np.cumsum(ticks * part)), remaining)
                )
                # The remainder must not shrink from one interval to the next.
                remaining = np.minimum.accumulate((remaining - own_ticks)[::-1])[::-1]
                rows.append(interval)
                nodes.append(np.full(len(interval), -negative))
                weights.append(np.diff(own_ticks, prepend=0))
        return self._samples(np.concatenate(rows), np.concatenate(nodes), np.concatenate(weights))

    def _samples(self, row: IntArray, node: IntArray, weight: IntArray) -> Samples:
        """Return samples in order of time from interval, node and ticks, (s,) each."""
        order = np.lexsort((node, row))
        order = order[weight[order] > 0]
        row, node, weight = row[order], node[order], weight[order]
        middle = (self._profile.start_s + self._profile.end_s) / 2.0
        zero = np.zeros(len(row), dtype=np.int32)
        return Samples(
            middle[row],
            zero,
            node.astype(np.int32),
            np.where(node > 0, OWN, UNKNOWN).astype(np.int8),
            weight.astype(np.int32),
            zero - 1,
        )


def _rounded(ticks: FloatArray) -> IntArray:
    """Round ascending ticks to whole numbers, whose differences are whole too and keep the total."""
    return np.rint(ticks).astype(np.int64)


# The dynamic call graph without cycles, and inclusive time in it (Graham, Kessler, McKusick: gprof, 1982).
#
# A function's time is divided among its callers in proportion to their calls. Functions that call each other in a
# cycle form one component, whose time is divided by the calls from outside. f functions, c components, b blocks of
# time.


def components_of(functions: int, caller: Sequence[int], callee: Sequence[int]) -> list[list[int]]:
    """Return the components of a call graph, callees before callers: each cycle, and each other function alone.

    Args:
        functions: number of functions.
        caller: (a,) of each arc; negative for none.
        callee: (a,) of each arc.
    """
    from scipy.sparse.csgraph import connected_components  # here: few recordings have no call paths

    arcs = [(above, below) for above, below in zip(caller, callee, strict=True) if above >= 0]
    rows, columns = np.array(arcs, dtype=np.int64).reshape(-1, 2).T
    graph = csc_array((np.ones(len(arcs)), (rows, columns)), shape=(functions, functions))
    number, component = connected_components(graph, connection="strong")
    members: list[list[int]] = [[] for _ in range(number)]
    for function, own in enumerate(component.tolist()):
        members[own].append(function)
    order = TopologicalSorter[int](dict.fromkeys(range(number), ()))
    for above, below in zip(component[rows].tolist(), component[columns].tolist(), strict=True):
        if above != below:
            order.add(above, below)
    return [members[own] for own in order.static_order()]


@dataclass(frozen=True)
class Entry:
    """Calls of a component from outside.

    Attributes:
        caller: -1 if unknown.
        function: the function that is called.
        part: (b,) share of all calls from outside.
    """

    caller: int
    function: int
    part: FloatArray


class CallGraph:
    """A call graph by blocks of time.

    Attributes:
        component: (f,) of each function.
        members: functions of each component; callees come before callers.
        entries: of each component; none where nothing calls it.
        inclusive: (c, b) ticks of each component with all that it calls.
    """

    def __init__(self, own: FloatArray, caller: IntArray, callee: IntArray, counts: FloatArray):
        """Build the graph.

        Args:
            own: (f, b) ticks of each function.
            caller: (a,) of each arc, each pair once; -1 if unknown.
            callee: (a,) of each arc.
            counts: (a, b) calls.
        """
        functions, blocks = own.shape
        self.members = components_of(functions, caller.tolist(), callee.tolist())
        self.component = np.zeros(functions, dtype=np.int64)
        for number, members in enumerate(self.members):
            self.component[members] = number
        self.arcs_within: dict[int, list[tuple[int, int]]] = {}
        into: dict[int, list[int]] = {}
        for arc, (above, function) in enumerate(zip(caller.tolist(), callee.tolist(), strict=True)):
            of = int(self.component[function])
            if above >= 0 and self.component[above] == of:
                self.arcs_within.setdefault(of, []).append((above, function))
            else:
                into.setdefault(of, []).append(arc)
        self.entries: list[list[Entry]] = []
        self.inclusive = np.zeros((len(self.members), blocks))
        for number, members in enumerate(self.members):
            arcs = into.get(number, [])
            parts = _parts(counts[arcs])
            entries = [Entry(int(caller[arc]), int(callee[arc]), part) for arc, part in zip(arcs, parts, strict=True)]
            self.entries.append(entries)
            self.inclusive[number] += own[members].sum(axis=0)
            for entry in entries:
                if entry.caller >= 0:
                    self.inclusive[self.component[entry.caller]] += self.inclusive[number] * entry.part

    def callees(self) -> dict[int, list[Entry]]:
        """Return the calls that leave the component of each function."""
        out: dict[int, list[Entry]] = {}
        for entries in self.entries:
            for entry in entries:
                out.setdefault(entry.caller, []).append(entry)
        return out


def _parts(counts: FloatArray) -> FloatArray:
    """Return the share that each arc into a component has of its calls, (a, b).

    A block with time but no call belongs to an earlier call: its callers are those of the last block with calls.
    """
    if not len(counts):
        return counts
    total = counts.sum(axis=0)
    called = np.flatnonzero(total > 0)
    if not len(called):
        return np.full(counts.shape, 1.0 / len(counts))
    last = called[np.maximum(np.searchsorted(called, np.arange(len(total)), side="right") - 1, 0)]
    return np.asarray(counts[:, last] / total[last], dtype=np.float64)
