"""Call paths with functions restored that tail calls removed, see symbols/tail_calls.py. p path nodes.

The missing function may lie between two known ones, or be the one that entered a library, whose time is then its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.model import LIBRARY, BoolArray, IntArray, PathTree, Samples, distinct
from incprof.readers.stream.path_nodes import Nodes
from incprof.symbols.function_space import FunctionSpace, NumberArray
from incprof.symbols.tail_calls import OUTSIDE, Chain, TailCalls


class LostFrames:
    """Functions missing on call paths.

    Attributes:
        paths: the same paths, with a linkage stub at the end of a path replaced by the function that jumped to it.
        suspect: (p,) nodes whose instruction calls a function of the program, so that no library can be above it.
    """

    def __init__(self, nodes: Nodes, paths: PathTree, space: FunctionSpace, tail_calls: TailCalls):
        self._module, self._address, self._tail_calls = nodes.module, nodes.address.view(np.uint64), tail_calls
        self._chains: list[Chain] = [()]
        self._above = np.zeros(len(paths.parent), dtype=np.int64)
        own = paths.function >= 0
        stub = own & space.is_stub(space.resolve(self._module, self._address))
        use = np.flatnonzero(own & own[paths.parent])
        found = np.where(stub, OUTSIDE, paths.function).astype(np.int32)
        self._above[use] = self._lost(paths.parent[use], found[use])

        function = paths.function.copy()
        moved = np.flatnonzero(stub & (self._above > 0))
        function[moved] = [self._chains[chain][-1].function for chain in self._above[moved].tolist()]
        self.paths = replace(paths, function=function)
        self.suspect: BoolArray = np.zeros(len(function), dtype=np.bool_)
        calls = np.flatnonzero(own & ~stub)
        target, called = tail_calls.called(self._module[calls], self._address[calls])
        self.suspect[calls] = (target > 0) & ~space.is_stub(called)

    def below(self, nodes: IntArray) -> Below:
        """Return the functions missing above nodes with samples in a library; (m,) ascending, all suspect."""
        return Below(nodes, self._lost(nodes, np.full(len(nodes), OUTSIDE, dtype=np.int32)), self._chains)

    def _lost(self, callers: IntArray, found: NumberArray) -> IntArray:
        """Return indices of the chains above nodes."""
        chains, which = self._tail_calls.lost(self._module[callers], self._address[callers], found)
        number = {chain: index for index, chain in enumerate(self._chains)}
        place = [number.setdefault(chain, len(number)) for chain in chains]
        self._chains = list(number)
        return np.array(place, dtype=np.int64)[which]

    def inserted(self, paths: PathTree, samples: Samples, below: Below) -> tuple[PathTree, Samples]:
        """Return the paths with missing functions inserted, and their samples at the new nodes."""
        grown = _Grown(paths)
        for node in np.flatnonzero(self._above).tolist():
            grown.above(node, self._chains[self._above[node]])
        for node, chain in zip(below.nodes.tolist(), below.which.tolist(), strict=True):
            grown.below(node, self._chains[chain])
        return grown.tree(), grown.moved(samples)


@dataclass(frozen=True)
class Below:
    """Nodes with samples in libraries, (m,) ascending, and the chains that are missing above each."""

    nodes: IntArray
    which: IntArray
    chains: list[Chain]

    def function(self, nodes: IntArray, function: NumberArray) -> NumberArray:
        """Return the function that called the library from each node. function: of the node itself. Same shape."""
        last = np.array([chain[-1].function if chain else -1 for chain in self.chains], dtype=np.int32)
        known = last[self.which[np.searchsorted(self.nodes, nodes)]]
        return np.where(known >= 0, known, function)


class _Grown:
    """A trie with new nodes, numbered so that parents stay before their children.

    A new node is placed before an old one: the first that will be below it.
    """

    def __init__(self, paths: PathTree):
        self._paths = paths
        # (parent, function, address): a new parent has the number -1 - index.
        self._new: dict[tuple[int, int, int], int] = {}
        self._before: list[int] = []
        self._parent: dict[int, int] = {}
        self._library: dict[int, int] = {}

    def above(self, node: int, chain: Chain) -> None:
        """Insert a chain between a node and its parent."""
        self._parent[node] = self._added(int(self._paths.parent[node]), chain, node)

    def below(self, node: int, chain: Chain) -> None:
        """Append a chain below a node, for its samples in libraries."""
        if chain:
            self._library[node] = self._added(node, chain, node + 1)

    def _added(self, parent: int, chain: Chain, before: int) -> int:
        for function, address in chain:
            index = self._new.setdefault((parent, function, address), len(self._new))
            if index == len(self._before):
                self._before.append(before)
            self._before[index] = min(self._before[index], before)
            parent = -1 - index
        return parent

    def tree(self) -> PathTree:
        """Return the trie."""
        old, new = self._places()
        parent, function, address = (
            np.zeros(len(old) + len(new), dtype=column.dtype)
            for column in (self._paths.parent, self._paths.function, self._paths.address)
        )
        parent[old], function[old], address[old] = old[self._paths.parent], self._paths.function, self._paths.address
        if len(new):
            above, what, where = np.array(list(self._new), dtype=np.int64).T
            parent[new], function[new], address[new] = self._numbers(above), what, where
            children = np.fromiter(self._parent, np.int64, len(self._parent))
            parent[old[children]] = self._numbers(np.fromiter(self._parent.values(), np.int64, len(self._parent)))
        return PathTree(parent, function, address)

    def moved(self, samples: Samples) -> Samples:
        """Return the samples at the same nodes, those in libraries at the chains appended there."""
        old, _ = self._places()
        node, library = old[samples.node], old.copy()
        if self._library:
            nodes = np.fromiter(self._library, np.int64, len(self._library))
            library[nodes] = self._numbers(np.fromiter(self._library.values(), np.int64, len(self._library)))
        node = np.where(samples.kind == LIBRARY, library[samples.node], node)
        return replace(samples, node=node.astype(samples.node.dtype))

    def _numbers(self, nodes: IntArray) -> IntArray:
        """Return the numbers in the new trie of old nodes, and of new ones given as -1 - index."""
        old, new = self._places()
        new = np.append(new, 0)
        numbers: IntArray = np.where(nodes < 0, new[np.where(nodes < 0, -1 - nodes, 0)], old[np.maximum(nodes, 0)])
        return numbers

    def _places(self) -> tuple[IntArray, IntArray]:
        """Return the positions of the old nodes in the new trie, and of the new ones."""
        before = np.array(self._before, dtype=np.int64)
        order = np.argsort(before, kind="stable")
        old = np.arange(len(self._paths.parent), dtype=np.int64)
        new = np.empty(len(before), dtype=np.int64)
        new[order] = before[order] + np.arange(len(before))
        return old + np.searchsorted(before[order], old, side="right"), new


def from_libraries(samples: Samples, suspect: BoolArray) -> IntArray:
    """Return the suspect nodes with samples in libraries, ascending."""
    node = distinct(samples.node[samples.kind == LIBRARY].astype(np.int64))
    node = node[node < len(suspect)]
    found: IntArray = node[suspect[node]]
    return found
