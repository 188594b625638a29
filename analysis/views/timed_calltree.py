"""The call tree of a run over time: which call paths were on the CPU, by bin and phase.

Small paths are merged with their siblings, so that the tree of any run can be drawn. Time is in ticks of the sampling
clock. q nodes, s samples.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from incprof.analysis.views.tracks import Cells, Entries, entries
from incprof.model import BROKEN, ELIDED, LIBRARY, PROFILER, UNKNOWN, BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import inclusive

# Frames that are no function of the program; those of libraries come after them, by module id.
ROOT_FRAME, OTHER_FRAME, ELIDED_FRAME, BROKEN_FRAME, UNKNOWN_FRAME, LIBRARY_FRAME = -1, -2, -3, -4, -5, -10

# A node stays if it has this share of the run, or of a phase, or if there are few; and at most MOST_NODES stay.
OF_RUN, OF_PHASE = 0.0005, 0.005
LEAST_NODES, MOST_NODES = 200, 3000


@dataclass(frozen=True)
class DrawnTree:
    """A tree and its samples.

    Attributes:
        parent: (q,) a parent comes before its children; node 0 is the root.
        frame: (q,) a function's column in the profile, or one of the negative frames; LIBRARY_FRAME - m is the library
            with module id m.
        interval: (s,) of each sample.
        node: (s,) the node that each sample ends in.
        ticks: (s,) of each sample.
        joined: number of nodes that were merged into an "other".
        paths: whether nodes are call paths; else each function stands alone below the root.
    """

    parent: IntArray
    frame: IntArray
    interval: IntArray
    node: IntArray
    ticks: FloatArray
    joined: int
    paths: bool = True

    def by_cell(self, cells: Cells) -> Entries:
        """Return the ticks that end in each node, by cell."""
        return entries(cells, self.interval, self.node, self.ticks)

    def below(self, functions: Collection[int], labels: IntArray) -> dict[int, float]:
        """Return for each label of intervals, (n,), the inclusive ticks of some functions."""
        inside = np.isin(self.frame, list(functions))
        for node, above in enumerate(self.parent.tolist()[1:], start=1):
            inside[node] |= inside[above]
        use = inside[self.node]
        span = int(labels.max(initial=-1)) + 2
        ticks = np.bincount(labels[self.interval[use]] + 1, weights=self.ticks[use], minlength=span)
        return {label - 1: number for label, number in enumerate(ticks.tolist())}

    @property
    def total(self) -> FloatArray:
        """Inclusive ticks of each node, (q,)."""
        own = np.bincount(self.node, weights=self.ticks, minlength=len(self.parent))
        return inclusive(self.parent, own.astype(np.float64))


def drawn_tree(profile: IntervalProfile, labels: IntArray, *, libraries: bool = True, whole: bool = False) -> DrawnTree:
    """Build the tree. A profile without call paths (gmon files, a damaged stream) gives one node for each function.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        libraries: whether to keep samples that were taken in a library.
        whole: whether to merge nothing.
    """
    paths = _has_paths(profile)
    if paths:
        parent, frame, interval, node, ticks = _sampled(profile, libraries)
    else:
        parent, frame, interval, node, ticks = _flat(profile)
    span = int(labels.max(initial=-1)) + 2
    keep = _kept(parent, labels[interval] + 1, node, ticks, span, whole)
    parent, frame, target = _joined(parent, frame, keep)
    return DrawnTree(parent, frame, interval, target[node], ticks, int(len(keep) - keep.sum()), paths)


def _has_paths(profile: IntervalProfile) -> bool:
    """Return whether at least half of the samples end in a function of the program that their path includes."""
    weight = profile.samples.weight.astype(np.float64)
    named = profile.paths.function[profile.samples.node] >= 0
    return len(weight) > 0 and float(weight[named].sum()) >= 0.5 * float(weight.sum())


Parts = tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]


def _sampled(profile: IntervalProfile, libraries: bool) -> Parts:
    """Return parent and frame of each node, and interval, node and ticks of each sample."""
    chains = profile.tree
    samples = profile.samples
    use = samples.kind != PROFILER
    if not libraries:
        use &= samples.kind != LIBRARY
    kind, node = samples.kind[use], chains.of_node[samples.node[use]]
    library = samples.library[use].astype(np.int64)
    # Samples that do not end in a function of the program get a leaf of their own.
    leaf = np.where(kind == LIBRARY, LIBRARY_FRAME - np.maximum(library, 0), UNKNOWN_FRAME)
    # Samples in a linkage stub of the program itself belong to its caller.
    own = np.isin(library, [m.id for m in profile.metadata.modules if m.app])
    # Whole libraries may be functions already: `[libm.so.6]` of `--libs separate`.
    is_whole_library = np.array(
        [f.imported and f.name.startswith("[") for f in profile.functions] + [False], dtype=np.bool_
    )
    own |= is_whole_library[np.maximum(chains.function[node], -1)]
    needs_leaf = ((kind == LIBRARY) & ~own) | (kind == UNKNOWN) | (node == 0)
    pairs, which = np.unique(np.stack([node[needs_leaf], leaf[needs_leaf]]), axis=1, return_inverse=True)
    node[needs_leaf] = len(chains.parent) + which.ravel()
    frame = chains.function.copy()
    for marker, shown in ((ELIDED, ELIDED_FRAME), (BROKEN, BROKEN_FRAME)):
        frame[chains.function == marker] = shown
    return (
        np.concatenate([chains.parent, pairs[0]]),
        np.concatenate([frame, pairs[1]]),
        profile.interval_of_samples()[use],
        node,
        samples.weight[use].astype(np.float64),
    )


def _flat(profile: IntervalProfile) -> Parts:
    """Return a tree of one level from self times."""
    table = profile.self_s.tocoo()
    row, column = table.row, table.col
    number = len(profile.functions)
    frame = np.concatenate([[ROOT_FRAME], np.arange(number)])
    ticks = np.rint(table.data * profile.metadata.rate_hz)
    return np.zeros(number + 1, np.int64), frame, row.astype(np.int64), column.astype(np.int64) + 1, ticks


def _kept(parent: IntArray, label: IntArray, node: IntArray, ticks: FloatArray, span: int, whole: bool) -> BoolArray:
    """Return which nodes stay, (q,): never one without its parent."""
    size = len(parent)
    own = np.bincount(label * size + node, weights=ticks, minlength=span * size).reshape(span, size)
    total = inclusive(parent, own.astype(np.float64))
    part = total / np.maximum(total[:, :1], 1.0)
    run = total.sum(axis=0) / max(float(total[:, 0].sum()), 1.0)
    # Neither value grows from a node to its children.
    importance = np.maximum(run / OF_RUN, part.max(axis=0) / OF_PHASE)
    if whole:
        keep: BoolArray = run > 0
    else:
        # As many as are large, within the limits: callers are no smaller and come first.
        number = min(max(int((importance >= 1).sum()), LEAST_NODES), MOST_NODES)
        keep = np.zeros(size, dtype=np.bool_)
        keep[np.lexsort((np.arange(size), -importance))[:number]] = True
        keep &= run > 0
    keep[0] = True
    return keep


def _joined(parent: IntArray, frame: IntArray, keep: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Renumber the kept nodes. Returns parent, frame, and for each old node its new one."""
    parents, frames, target = [0], [ROOT_FRAME], [0]
    others: dict[int, int] = {}
    olds = zip(parent.tolist()[1:], frame.tolist()[1:], keep.tolist()[1:], strict=True)
    for above, what, stays in olds:
        caller = target[above]
        if stays:
            target.append(len(parents))
            parents.append(caller)
            frames.append(what)
        elif frames[caller] == OTHER_FRAME:
            target.append(caller)
        else:
            if caller not in others:
                others[caller] = len(parents)
                parents.append(caller)
                frames.append(OTHER_FRAME)
            target.append(others[caller])
    return np.array(parents, np.int64), np.array(frames, np.int64), np.array(target, np.int64)
