"""The dynamic call graph without cycles, and inclusive time in it (Graham, Kessler, McKusick: gprof, 1982).

A function's time is divided among its callers in proportion to their calls. Functions that call each other in a cycle
form one component, whose time is divided by the calls from outside. f functions, c components, b blocks of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray


def components_of(functions: int, caller: Sequence[int], callee: Sequence[int]) -> list[list[int]]:
    """Return the components of a call graph, callees before callers: each cycle, and each other function alone.

    Tarjan's algorithm with an explicit stack: programs may recurse deeper than Python does.

    Args:
        functions: number of functions.
        caller: (a,) of each arc; negative for none.
        callee: (a,) of each arc.
    """
    below: list[list[int]] = [[] for _ in range(functions)]
    for above, function in zip(caller, callee, strict=True):
        if above >= 0:
            below[above].append(function)
    number, low = [-1] * functions, [0] * functions
    stack: list[int] = []
    on_stack = [False] * functions
    out: list[list[int]] = []
    count = 0
    for start in range(functions):
        if number[start] >= 0:
            continue
        number[start] = low[start] = count
        work, count = [(start, iter(below[start]))], count + 1
        stack.append(start)
        on_stack[start] = True
        while work:
            function, rest = work[-1]
            following = next(rest, None)
            if following is not None:
                if number[following] < 0:
                    number[following] = low[following] = count
                    count += 1
                    stack.append(following)
                    on_stack[following] = True
                    work.append((following, iter(below[following])))
                elif on_stack[following]:
                    low[function] = min(low[function], number[following])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[function])
            if low[function] == number[function]:
                members: list[int] = []
                while not members or members[-1] != function:
                    members.append(stack.pop())
                    on_stack[members[-1]] = False
                out.append(sorted(members))
    return out


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
