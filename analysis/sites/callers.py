"""Callers of a function in a phase, from the call paths: the next candidates where the function itself is no site."""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.site_thresholds import SITES
from incprof.model import FloatArray, PathTree


def heaviest_callers(paths: PathTree, own: FloatArray, function: int, part: float = SITES.caller) -> list[int]:
    """Return the function that calls most of a function's time, then that one's main caller, and so on upwards.

    Args:
        paths: p nodes.
        own: (p,) time of each node without its callees.
        function: whose callers are wanted. Each is returned once, and the function itself never.
        part: least share of its time; a caller of less is not representative.
    """
    found: list[int] = []
    node = np.flatnonzero((paths.function == function) & (own > 0))
    weight = own[node]
    total = float(weight.sum())
    while len(node):
        node = paths.parent[node]
        caller = paths.function[node].astype(np.int64)
        known = caller >= 0
        share = np.bincount(caller[known], weights=weight[known])
        if not len(share) or share.max() < part * total:
            break
        best = int(np.argmax(share))
        if best != function and best not in found:
            found.append(best)
        node, weight = node[caller == best], weight[caller == best]
    return found
