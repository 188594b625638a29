"""The frames of call paths as chains of functions. p path nodes."""

from __future__ import annotations

import numpy as np

from incprof.model import IntArray, IntervalProfile
from incprof.model.calltree import CallTree


def frames_of(profile: IntervalProfile, chains: CallTree) -> tuple[IntArray, IntArray]:
    """Return of each path node, (p,): the chain of its frame's function, and the chain right below its caller's.

    The first leaves out what was inlined into that function; 0 where the chains leave the function out.
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
