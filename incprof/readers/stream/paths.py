"""Convert call paths of a stream to the model's trie."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incprof.model import BROKEN, ELIDED, ROOT, PathTree
from incprof.readers.stream.path_nodes import BROKEN_MODULE, ELIDED_MODULE, Nodes
from incprof.symbols.function_space import FunctionSpace


def path_tree(nodes: Nodes, space: FunctionSpace) -> PathTree:
    """Return the trie with functions for addresses, shape (p,). A linkage stub ending a path counts as its caller."""
    function = space.resolve(nodes.module, nodes.address.view(np.uint64))
    function[nodes.module == ELIDED_MODULE] = ELIDED
    function[nodes.module == BROKEN_MODULE] = BROKEN
    function[0] = ROOT
    stub = np.flatnonzero(space.is_stub(function))
    caller = function[nodes.parent[stub]]
    function[stub[caller >= 0]] = caller[caller >= 0]
    return PathTree(nodes.parent, function, nodes.address)


def extended(paths: PathTree, size: int) -> PathTree:
    """Return the same with `size` nodes: those after the last known one are BROKEN."""
    more = size - len(paths.parent)
    if more <= 0:
        return paths
    nothing: npt.NDArray[np.int64] = np.zeros(more, dtype=np.int64)
    function = np.concatenate([paths.function, np.full(more, BROKEN, dtype=np.int32)])
    parent, address = (np.concatenate([column, nothing]) for column in (paths.parent, paths.address))
    return PathTree(parent, function, address)
