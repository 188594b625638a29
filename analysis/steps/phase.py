"""The samples of a phase on the call tree. n intervals, q nodes of the tree, s samples; time is in ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree


class PhaseSamples:
    """The samples of a phase.

    Attributes:
        total: (q,) inclusive ticks of each node.
        members: intervals of the phase.
        use: (s,) its samples, ascending.
        node: (s,) their nodes.
        interval: (s,) their intervals.
    """

    def __init__(self, profile: IntervalProfile, tree: CallTree, members: IntArray, use: IntArray):
        """members: intervals of the phase. use: its samples, ascending."""
        self.profile, self.tree, self.members, self.use = profile, tree, members, use
        self.node = tree.of_node[profile.samples.node[use]]
        self.interval = profile.interval_of_samples()[use]
        self.threads = len(np.unique(profile.samples.thread[use]))
        own = np.bincount(self.node, weights=profile.samples.weight[use], minlength=len(tree.parent))
        self.total: FloatArray = tree.inclusive(own.astype(np.float64))
        self.below: dict[int, list[int]] = {}
        for node in np.flatnonzero(self.total[1:] > 0).tolist():
            self.below.setdefault(int(tree.parent[node + 1]), []).append(node + 1)
        self._levels = _levels(self.below)

    def ticks_in(self, nodes: Sequence[int]) -> FloatArray:
        """Return the ticks in and below some nodes in each interval, (n,); none outside of the phase."""
        use = self.inside(nodes)
        weight = self.profile.samples.weight[self.use][use]
        ticks = np.bincount(self.interval[use], weights=weight, minlength=self.profile.n_intervals)
        return ticks.astype(np.float64)

    def inside(self, nodes: Sequence[int]) -> BoolArray:
        """Return whether each sample of the phase lies in or below some nodes, (s,)."""
        return self.step_of([nodes]) >= 0

    def step_of(self, steps: Sequence[Sequence[int]]) -> IntArray:
        """Return the set of nodes that each sample lies in or below, (s,), -1 for none of them."""
        of_node = np.full(len(self.tree.parent), -1, dtype=np.int64)
        for number, nodes in enumerate(steps):
            of_node[list(nodes)] = number
        for level in self._levels:
            of_node[level] = np.where(of_node[level] >= 0, of_node[level], of_node[self.tree.parent[level]])
        return of_node[self.node]

    def entered(self, nodes: Sequence[int]) -> int:
        """Return the number of entries into some nodes in samples: a lower bound where calls are not counted."""
        return int(self.entries(nodes).sum())

    def entries(self, nodes: Sequence[int]) -> IntArray:
        """Return the entries for each interval, (n,); of whole intervals, if samples are in no order."""
        if not self.profile.metadata.ordered:
            there = self.ticks_in(nodes) > 0
            first: IntArray = (there & ~np.concatenate([[False], there[:-1]])).astype(np.int64)
            return first
        inside, thread = self.inside(nodes), self.profile.samples.thread[self.use]
        order = np.argsort(thread, kind="stable")
        inside, thread, interval = inside[order], thread[order], self.interval[order]
        before = np.concatenate([[False], inside[:-1]]) & (np.diff(thread, prepend=-1) == 0)
        return np.bincount(interval[inside & ~before], minlength=self.profile.n_intervals)


def _levels(below: Mapping[int, Sequence[int]]) -> list[IntArray]:
    """Return the nodes with ticks by their depth, those below the root first. below: nodes by their parent."""
    out, level = [], list(below.get(0, ()))
    while level:
        out.append(np.array(level, dtype=np.int64))
        level = [node for above in level for node in below.get(above, ())]
    return out
