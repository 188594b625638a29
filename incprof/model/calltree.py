"""The call tree of a run: its call paths without call sites. Built once per profile; other modules derive views.

A node is a function at a position on the stack, regardless of the calling line. p path nodes, q tree nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from incprof.model.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def inclusive(parent: IntArray, own: FloatArray | IntArray) -> FloatArray:
    """Return inclusive values: each node's own plus those of all nodes below it, (..., q).

    Args:
        parent: (q,) a parent comes before its children; negative for nodes that count for none.
        own: (..., q).
    """
    total = np.array(own, dtype=np.float64)
    columns = np.moveaxis(total, -1, 0)
    above = parent.tolist()
    for node in range(len(above) - 1, 0, -1):
        if above[node] >= 0:
            columns[above[node]] += columns[node]
    return total


def at_or_below(parent: IntArray, marked: BoolArray) -> BoolArray:
    """Return which nodes are marked, or below a marked one, (q,); a parent before its children."""
    inside = marked.tolist()
    for node, above in enumerate(parent.tolist()):
        inside[node] = inside[node] or inside[above]
    return np.array(inside, dtype=np.bool_)


def outermost(parent: IntArray) -> IntArray:
    """Return the outermost node above each node, (q,): the node itself if only the root is above it, 0 for the root."""
    top = list(range(len(parent)))
    for node, above in enumerate(parent.tolist()):
        if above:
            top[node] = top[above]
    return np.array(top, dtype=np.int64)


class _Growing:
    """Nodes by parent and function, numbered in order of insertion. Node 0 is the root."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}

    def node(self, parent: int, function: int) -> int:
        """Return the node of a function below a parent; insert it if it is new."""
        return self._numbers.setdefault((parent, function), len(self._numbers) + 1)

    def tree(self, of_node: IntArray) -> CallTree:
        """Return the tree of all nodes so far."""
        parents = np.array([0, *(parent for parent, _ in self._numbers)], dtype=np.int64)
        functions = np.array([-1, *(function for _, function in self._numbers)], dtype=np.int64)
        return CallTree(parents, functions, of_node)


@dataclass(frozen=True)
class CallTree:
    """Call paths without call sites.

    Attributes:
        parent: (q,) parent node; a parent comes before its children.
        function: (q,) function of each node.
        of_node: (p,) tree node of each path node.
    """

    parent: IntArray
    function: IntArray
    of_node: IntArray

    def inclusive(self, own: FloatArray) -> FloatArray:
        """Return inclusive values: each node's own plus those of all nodes below it. own: (..., q)."""
        return inclusive(self.parent, own)

    def outermost(self) -> IntArray:
        """Return the nodes whose function does not occur above them on the stack, ascending."""
        above: list[frozenset[int]] = [frozenset()]
        first = []
        for node in range(1, len(self.parent)):
            parent, function = int(self.parent[node]), int(self.function[node])
            if function not in above[parent]:
                first.append(node)
                above.append(above[parent] | {function})
            else:
                above.append(above[parent])
        return np.array(first, dtype=np.int64)

    def ancestors(self) -> csr_array:
        """Sparse (q, q): row i has a 1 for i and for each ancestor of i."""
        from scipy.sparse import csr_array

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

    def without_recursion(self) -> tuple[CallTree, csr_array]:
        """Merge each recursive call into the node of its function's outermost call, at any depth of recursion.

        Returns:
            The tree, with `of_node` updated, and a sparse (q, fewer) matrix with a 1 where an old node became a new
            one.
        """
        from scipy.sparse import csr_array

        grown, place = _Growing(), [0]
        above: list[dict[int, int]] = [{}]
        for parent, function in self._edges():
            caller = place[parent]
            outermost = above[caller].get(function)
            if outermost is None:
                outermost = grown.node(caller, function)
                if outermost == len(above):
                    above.append(above[caller] | {function: outermost} if function >= 0 else above[caller])
            place.append(outermost)
        old = np.array(place, dtype=np.int64)
        tree = grown.tree(old[self.of_node])
        move = csr_array((np.ones(len(old)), (np.arange(len(old)), old)), shape=(len(old), len(tree.parent)))
        return tree, move

    def without(self, library: Sequence[bool]) -> CallTree:
        """Attribute the time of library functions, and the functions that they call, to callers outside libraries.

        library: for each function, whether it belongs to a library. Library nodes without a non-library caller stay.
        """
        grown, place, own = _Growing(), [0], [False]  # own: the program's own code is on the node's stack
        for parent, function in self._edges():
            caller = place[parent]
            foreign = function >= 0 and library[function]
            if foreign and own[caller]:
                place.append(caller)
                continue
            again = grown.node(caller, function)
            if again == len(own):
                own.append(own[caller] or (function >= 0 and not foreign))
            place.append(again)
        return grown.tree(np.array(place, dtype=np.int64)[self.of_node])

    def _edges(self) -> zip[tuple[int, int]]:
        """Yield parent and function of each node except the root."""
        return zip(self.parent.tolist()[1:], self.function.tolist()[1:], strict=True)


def build(parent: IntArray, function: IntArray, inlined: Mapping[int, Sequence[int]]) -> CallTree:
    """Merge path nodes that differ only in the address within their functions.

    parent: (p,) of the path nodes, a parent before its children. function: (p,) of the path nodes. inlined: functions
    inlined at a path node, outermost first; each becomes a callee of the function around it.
    """
    grown, of_node = _Growing(), [0]
    for node, (above, what) in enumerate(zip(parent.tolist()[1:], function.tolist()[1:], strict=True), start=1):
        place = grown.node(of_node[above], what)
        for inner in inlined.get(node, ()):
            place = grown.node(place, inner)
        of_node.append(place)
    return grown.tree(np.array(of_node, dtype=np.int64))


# Loops of machine code at the addresses of call paths. p path nodes, l loops.


# First and last address.
Range = tuple[int, int]

# Of an address: its code could not be read; it lies in no loop. Loops are numbered from 1.
UNKNOWN_CODE, OUTSIDE_LOOPS = -1, 0


@dataclass(frozen=True)
class CodeLoops:
    """The loop of its function's code that contains the address of each path node.

    Attributes:
        at: (p,) UNKNOWN_CODE, OUTSIDE_LOOPS, or the innermost loop.
        around: (l + 1,) the enclosing loop of each loop, 0 for none; around[0] is 0.
        always: (p,) whether each iteration of that loop executes the address; outside loops, whether each call of its
            function does.
    """

    at: IntArray
    around: IntArray
    always: BoolArray

    def outermost(self) -> IntArray:
        """Return the outermost loop of each path node, (p,); `at` has the innermost one."""
        top = np.arange(len(self.around))
        for loop, outer in enumerate(self.around.tolist()):
            top[loop] = top[outer] if outer else loop
        return np.where(self.at > 0, top[np.maximum(self.at, 0)], self.at)

    def lies_in(self, inner: IntArray, outer: IntArray) -> BoolArray:
        """Return whether loops equal or lie inside others: (m,) each, True where `inner` is `outer` or inside it."""
        inside: BoolArray = (inner == outer) & (outer > 0)
        loop = np.maximum(inner, 0)
        while loop.any():
            loop = self.around[loop]
            inside |= (loop == outer) & (outer > 0)
        return inside


def nested(bodies: Iterable[tuple[int, Sequence[Range]]]) -> list[tuple[list[Range], int]]:
    """Return a function's loops as address ranges, each with the position of the loop around it, -1 for none.

    An outer loop comes before the loops inside it. Jumps back to the same target are one loop, and so are those with
    the same code.
    bodies: target of each backward jump, and the code that it repeats.
    """
    joined: dict[int, set[Range]] = {}
    for target, body in bodies:
        joined.setdefault(target, set()).update(body)
    loops: list[tuple[list[Range], int]] = []
    for body in sorted({tuple(sorted(body)) for body in joined.values()}, key=lambda body: (-_bytes(body), body)):
        enclosing = (i for i in range(len(loops) - 1, -1, -1) if all(_covers(loops[i][0], part) for part in body))
        loops.append((list(body), next(enclosing, -1)))
    return loops


def innermost(loops: Sequence[tuple[Sequence[Range], int]], address: IntArray) -> IntArray:
    """Return the position of the innermost loop that contains each address, (m,), -1 for none."""
    position_of = np.full(len(address), -1, dtype=np.int64)
    for position, (body, _) in enumerate(loops):  # in order of decreasing size
        for low, high in body:
            position_of[(address >= low) & (address <= high)] = position
    return position_of


def _bytes(body: Sequence[Range]) -> int:
    return sum(high - low for low, high in body)


def _covers(body: Sequence[Range], part: Range) -> bool:
    return any(low <= part[0] and part[1] <= high for low, high in body)
