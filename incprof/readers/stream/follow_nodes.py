"""The call paths of a growing stream: nodes and their functions, looked up once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from incprof.model import BROKEN, ELIDED, ROOT, Module, PathTree
from incprof.readers.stream.metadata import MAX_MODULES
from incprof.readers.stream.path_nodes import BROKEN_MODULE, ELIDED_MODULE, NODE_BYTES, NodeDecoder, Nodes
from incprof.readers.stream.varint import ByteArray
from incprof.symbols.function_space import FunctionSpace, IntArray, NumberArray
from incprof.symbols.table import SymbolTable


class GrowingSpace(FunctionSpace):
    """A FunctionSpace to which modules are added later: every possible module has its number from the start."""

    def __init__(self, modules: Sequence[Module], load: Callable[[Module], SymbolTable]):
        super().__init__(modules, load)
        self._ids = np.arange(MAX_MODULES, dtype=np.int64)
        self._specials = self.size = len(self._ids) + 2

    def learn(self, modules: Sequence[Module]) -> bool:
        """Add new modules; return whether there were any."""
        new = [module for module in modules if not self.knows(module.id)]
        self._modules.update({module.id: module for module in new})
        return bool(new)

    def library(self, module: IntArray) -> NumberArray:
        """Return numbers that stand for whole modules, same shape; unknown modules share one."""
        known = np.isin(module, np.fromiter(self._modules, dtype=np.int64))
        return super().library(np.where(known, module, -1))


class GrowingPaths:
    """The trie of a stream as far as it has been read.

    Attributes:
        nodes: as written.
        tree: with functions of the space.
    """

    def __init__(self, space: FunctionSpace):
        self._space = space
        self._decoder = NodeDecoder()
        zero: IntArray = np.zeros(1, dtype=np.int64)
        self.nodes = Nodes(zero, zero, zero, np.zeros(1, dtype=bool), False)
        self.tree = PathTree(zero, np.full(1, ROOT, dtype=np.int32), zero)

    def add(self, payloads: Sequence[ByteArray | None], file_size: int) -> int:
        """Add node images in file order; return how many of them are damaged."""
        if not payloads:
            return 0
        old = self.nodes
        new, bad = self._decoder.decode(payloads, file_size // NODE_BYTES)
        parent, module, address, lost = (
            np.concatenate([getattr(old, name), getattr(new, name)]) for name in ("parent", "module", "address", "lost")
        )
        self.nodes = Nodes(parent, module, address, lost, new.more_lost)
        self._look_up(len(old.parent))
        return bad

    def look_up_again(self) -> None:
        """Look up every node again, because more modules are known."""
        self._look_up(1)

    def _look_up(self, first: int) -> None:
        """Look up the functions of all nodes from `first` on. A linkage stub that ends a path counts as its caller."""
        nodes = self.nodes
        module = nodes.module[first:]
        function = self._space.resolve(module, nodes.address[first:].view(np.uint64))
        stub = first + np.flatnonzero(self._space.is_stub(function))
        function[module == ELIDED_MODULE] = ELIDED
        function[module == BROKEN_MODULE] = BROKEN
        function = np.concatenate([self.tree.function[:first], function])
        caller = function[nodes.parent[stub]]
        function[stub[caller >= 0]] = caller[caller >= 0]
        self.tree = PathTree(nodes.parent, function, nodes.address)
