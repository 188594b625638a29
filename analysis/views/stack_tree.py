"""Call stacks as a tree with the time of each node, whole and by phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.views.stacks import Frame, Stack, StackSeries, stack_series
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile

# Readers of trees recurse. Deeper frames count for the frame at this depth.
DEEPEST = 150


@dataclass(frozen=True)
class StackTree:
    """Nodes in depth-first order, a parent before its children; q nodes.

    Attributes:
        frames: (q,) frames.
        parent: (q,), -1 for outermost frames.
        own_s: (q, 1 + k) self seconds of each node: of the whole, then of each phase.
    """

    frames: tuple[Frame, ...]
    parent: IntArray
    own_s: FloatArray

    @property
    def inclusive_s(self) -> FloatArray:
        """Inclusive seconds of each node, (q, 1 + k)."""
        total = self.own_s.copy()
        parent = self.parent.tolist()
        for node in range(len(parent) - 1, -1, -1):
            if parent[node] >= 0:
                total[parent[node]] += total[node]
        return total


def stack_tree(
    profile: IntervalProfile, labels: IntArray, phases: int, keep: BoolArray | None = None, *, libraries: bool = True
) -> StackTree:
    """Return the tree of a run's samples.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        phases: number of phases.
        keep: (n,) intervals to use, all by default.
        libraries: whether to keep samples that were taken in a library.
    """
    keep = np.ones(profile.n_intervals, dtype=np.bool_) if keep is None else keep
    whole = stack_series(profile, keep, libraries=libraries)
    frames, parent, node_of = _nodes(whole)
    own = np.zeros((len(frames), 1 + phases))
    _add(own[:, 0], whole, node_of)
    for phase in range(phases):
        _add(own[:, 1 + phase], stack_series(profile, keep & (labels == phase), libraries=libraries), node_of)
    return StackTree(tuple(frames), np.array(parent, dtype=np.int64), own / profile.metadata.rate_hz)


def _nodes(series: StackSeries) -> tuple[list[Frame], list[int], dict[Stack, int]]:
    """Return the frame and the parent of each node, and the node of each stack. Equal stacks give equal order."""
    known: dict[tuple[int, Frame], int] = {}
    frames: list[Frame] = []
    parent: list[int] = []
    node_of: dict[Stack, int] = {}
    for stack in sorted(set(series.stacks), key=lambda stack: [(frame.name, frame.file or "") for frame in stack]):
        node = -1
        for frame in stack[:DEEPEST]:
            above, node = node, known.setdefault((node, frame), len(frames))
            if node == len(frames):
                frames.append(frame)
                parent.append(above)
        node_of[stack] = node
    return frames, parent, node_of


def _add(ticks: FloatArray, series: StackSeries, node_of: dict[Stack, int]) -> None:
    """Add the ticks of samples to their nodes."""
    if len(series.stack):
        nodes = np.array([node_of[stack] for stack in series.stacks], dtype=np.int64)
        np.add.at(ticks, nodes[series.stack], series.weight)
