"""The call tree of a run: its call paths without their call sites. Built once for a profile; others have views of it.

A node is who was on the stack, whatever line called whom. p path nodes, q nodes of the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from incprof.model.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class _Growing:
    """Nodes by their parent and function, numbered as they come. Node 0 is the root."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], int] = {}

    def node(self, parent: int, function: int) -> int:
        """The node of a function below a parent."""
        return self._known.setdefault((parent, function), len(self._known) + 1)

    def tree(self, of_node: IntArray) -> CallTree:
        """The tree of all nodes so far."""
        parents = np.array([0, *(parent for parent, _ in self._known)], dtype=np.int64)
        functions = np.array([-1, *(function for _, function in self._known)], dtype=np.int64)
        return CallTree(parents, functions, of_node)


@dataclass(frozen=True)
class CallTree:
    """Call paths without call sites.

    parent, function: (q,), a parent before its children. of_node: (p,) the node of each path node.
    """

    parent: IntArray
    function: IntArray
    of_node: IntArray

    def inclusive(self, own: FloatArray) -> FloatArray:
        """Add what happens below each node. own: (..., q)."""
        total = np.array(own, dtype=np.float64)
        columns = np.moveaxis(total, -1, 0)
        parent = self.parent.tolist()
        for node in range(len(parent) - 1, 0, -1):
            columns[parent[node]] += columns[node]
        return total

    def outermost(self) -> IntArray:
        """Return the nodes whose function is not on the stack above them as well, ascending."""
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
        """Sparse (q, q): row i has a 1 for i and for each node above it."""
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
        """Make a function that is already on the stack the same node again, however deep the recursion is.

        Returns:
            The tree, and sparse (q, fewer) with a 1 where an old node became a new one. `of_node` leads to new ones.
        """
        from scipy.sparse import csr_array

        grown, place = _Growing(), [0]
        above: list[dict[int, int]] = [{}]
        for parent, function in self._edges():
            caller = place[parent]
            again = above[caller].get(function)
            if again is None:
                again = grown.node(caller, function)
                if again == len(above):
                    above.append(above[caller] | {function: again} if function >= 0 else above[caller])
            place.append(again)
        old = np.array(place, dtype=np.int64)
        tree = grown.tree(old[self.of_node])
        move = csr_array((np.ones(len(old)), (np.arange(len(old)), old)), shape=(len(old), len(tree.parent)))
        return tree, move

    def without(self, library: Sequence[bool]) -> CallTree:
        """Count what library functions do for the function that called them, and what they call in turn as its own.

        Args:
            library: for each function, whether it is one of a library. Without a caller that is none they stay.
        """
        grown, place, own = _Growing(), [0], [False]  # own: the new node has a function of the program's own on it
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
        """Parent and function of each node but the root."""
        return zip(self.parent.tolist()[1:], self.function.tolist()[1:], strict=True)


def build(parent: IntArray, function: IntArray, inlined: Mapping[int, Sequence[int]]) -> CallTree:
    """Make path nodes that differ only in the address within their functions one.

    Args:
        parent: (p,) of the path nodes, a parent before its children.
        function: (p,) of the path nodes.
        inlined: functions inlined at a path node, outermost first: called by those that they are inlined into.
    """
    grown, of_node = _Growing(), [0]
    for node, (above, what) in enumerate(zip(parent.tolist()[1:], function.tolist()[1:], strict=True), start=1):
        place = grown.node(of_node[above], what)
        for inner in inlined.get(node, ()):
            place = grown.node(place, inner)
        of_node.append(place)
    return grown.tree(np.array(of_node, dtype=np.int64))
