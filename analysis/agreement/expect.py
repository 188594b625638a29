"""What heartbeats should look like, as far as a recording tells: the share of each interval spent below a function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.agreement.results import BoolArray
from incprof.model import PROFILER, FloatArray, IntervalProfile
from incprof.model.calltree import CallTree


def expected_share(profile: IntervalProfile, groups: Sequence[Sequence[int]]) -> FloatArray:
    """Return for each interval how many threads were inside of a group of functions, on average: shape (n, g).

    With call paths, callees count: a beat lasts while its function has called others. Without (gmon directories), self
    time is all there is.

    Args:
        profile: n intervals.
        groups: columns of the profile, one group for each heartbeat.
    """
    length = np.maximum(profile.end_s - profile.start_s, 1e-9)
    if not len(profile.samples.node):
        inside = [np.asarray(profile.self_s[:, list(group)].sum(axis=1)).ravel() for group in groups]
        return np.stack([*inside], axis=1) / length[:, None] if inside else np.zeros((len(length), 0))
    chains = profile.tree
    use = profile.samples.kind != PROFILER
    row = profile.interval_of_samples()[use]
    chain = chains.of_node[profile.samples.node[use]]
    seconds = profile.samples.weight[use] / profile.metadata.rate_hz
    below = _below(chains, groups)
    result = np.zeros((len(length), len(groups)))
    for column in range(len(groups)):
        hit = below[chain, column]
        result[:, column] = np.bincount(row[hit], weights=seconds[hit], minlength=len(length)) / length
    return result


def _below(chains: CallTree, groups: Sequence[Sequence[int]]) -> BoolArray:
    """Say which chains have a function of a group on their stack: shape (q, g)."""
    found = np.stack([np.isin(chains.function, list(group)) for group in groups], axis=1)
    above = chains.parent
    found[0] = False
    while above.any():  # twice as far up each time
        found |= found[above]
        above = above[above]
    return found
