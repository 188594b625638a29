"""Disjoint sets of the numbers from 0 to n - 1, joined in nearly constant time (Tarjan 1975).

scipy.cluster.hierarchy has the same, and takes longer to import than a search for patterns takes.
"""

from __future__ import annotations

import numpy as np

from incprof.model import IntArray


class Forest:
    """Sets of numbers, each by itself at first. Owns a list of n parents: that of a root is the root."""

    def __init__(self, count: int):
        self._parent = list(range(count))

    def root(self, number: int) -> int:
        """Return the number that stands for the set."""
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def merge(self, one: int, other: int) -> bool:
        """Join the sets of two numbers; return whether they were two sets. The lesser root stands for both."""
        first, second = sorted((self.root(one), self.root(other)))
        self._parent[second] = first
        return first != second

    def roots(self) -> IntArray:
        """Return what stands for the set of each number, its least member, (n,)."""
        return np.array([self.root(number) for number in range(len(self._parent))], dtype=np.int64)

    def parts(self) -> list[IntArray]:
        """Return the members of each set, ascending, in the order of the least ones."""
        roots = self.roots()
        order = np.argsort(roots, kind="stable")
        return [part for part in np.split(order, np.flatnonzero(np.diff(roots[order])) + 1) if len(part)]
