"""Map the frames of call paths to nodes of a call tree. p path nodes."""

from __future__ import annotations

import numpy as np

from incprof.model import IntArray, IntervalProfile
from incprof.model.calltree import CallTree


def frames_of(profile: IntervalProfile, chains: CallTree) -> tuple[IntArray, IntArray]:
    """Return for each path node, (p,): the call path of its frame's function, and that right below its caller's.

    The first leaves out code inlined into that function; 0 where the tree leaves the function out.
    """
    parent, function = profile.paths.parent.tolist(), profile.paths.function.tolist()
    above, chain_function, of_node = chains.parent.tolist(), chains.function.tolist(), chains.of_node.tolist()
    own, reached = np.zeros(len(parent), dtype=np.int64), np.zeros(len(parent), dtype=np.int64)
    for node in range(1, len(parent)):
        caller, chain = of_node[parent[node]], of_node[node]
        while chain and chain_function[chain] != function[node]:
            chain = above[chain]
        own[node] = chain
        chain = of_node[node]
        while chain and above[chain] != caller:
            chain = above[chain]
        reached[node] = chain
    return own, reached
