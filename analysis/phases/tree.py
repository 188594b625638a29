"""The tree of a run: sets of samples, divided where the frames below their shared frames change.

s samples and waiting ticks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from incprof.analysis.phases.changepoints import (
    FEWEST,
    Counts,
    Evidence,
    Group,
    Segment,
    change_points,
    merge_waiting,
    overdispersion,
    similar_groups,
    without_steps,
)
from incprof.analysis.phases.segments import segments_of
from incprof.analysis.phases.sequence import SELF, WAITING, Sequence
from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import BoolArray, IntArray

# Share of the samples with a common frame from which the others are ignored.
SHARED = 0.97
# Number of categories: the frames with most samples, and one for all others.
MOST = 24
# Number of frames below the shared ones in which changes are searched.
DEEPER = 4
# A waiting share that differs by this is significant.
WAITS = 0.5
# A mixture has at least FLICKERS segments, each group OFTEN of them or nearly none twice, and a median segment below
# EPISODE of the samples and below SHORT samples. Only groups of at least PART count.
FLICKERS, OFTEN, EPISODE, SHORT, PART = 8, 4, 0.015, 200, 0.02
# Usual overlap of a segment of a mixture with the next one.
ALIKE = 0.5


@dataclass
class Node:
    """Samples with one behaviour, or with several after one another.

    Attributes:
        samples: (m,) indices into the sequence, ascending.
        shared: functions that all of them have on their paths, below those of the node above.
        share: share of the samples by next frame: a function, SELF or WAITING.
        children: parts in order of time; none for a single behaviour.
    """

    samples: IntArray
    shared: tuple[int, ...]
    share: dict[int, float]
    children: list[Node] = field(default_factory=list)


def tree_of(sequence: Sequence, options: PhaseOptions = PHASES) -> Node:
    """Return the tree of all samples."""
    return _node(sequence, np.arange(len(sequence)), 0, options)


class _Paths:
    """Distinct paths of some samples.

    Attributes:
        used: (u,) the distinct paths.
        count: (u,) samples of each.
        of_sample: (m,) index of each sample's path.
    """

    def __init__(self, sequence: Sequence, samples: IntArray):
        self._sequence = sequence
        path = sequence.path[samples]
        often = np.bincount(path, minlength=len(sequence.frame))
        self.used = np.flatnonzero(often)
        self.count = often[self.used]
        place = np.zeros(len(often), dtype=np.int64)
        place[self.used] = np.arange(len(self.used))
        self.of_sample = place[path]

    def at(self, depth: int) -> IntArray:
        """Return the frame of each path at a depth, (u,): a function, SELF or WAITING."""
        return self._sequence.at_depth(self.used, depth)

    def common(self, depth: int) -> int:
        """Return the frame of most samples at a depth."""
        share = self.shares(depth)
        return max(share, key=lambda frame: (share[frame], -frame))

    def shares(self, depth: int) -> dict[int, float]:
        """Return the share of the samples by frame at a depth."""
        values, place = np.unique(self.at(depth), return_inverse=True)
        part = np.bincount(place, weights=self.count) / max(int(self.count.sum()), 1)
        return dict(zip(values.tolist(), part.tolist(), strict=True))


def _node(sequence: Sequence, samples: IntArray, depth: int, options: PhaseOptions) -> Node:
    paths = _Paths(sequence, samples)
    shared = _shared(sequence, samples, paths, depth, options)
    depth += len(shared)
    node = Node(samples, shared, paths.shares(depth))
    for group in _split(sequence, samples, paths, depth, options):
        node.children.append(_node(sequence, _members(samples, group), depth, options))
    return node


def _shared(sequence: Sequence, samples: IntArray, paths: _Paths, depth: int, options: PhaseOptions) -> tuple[int, ...]:
    """Return the frames that nearly all samples share from a depth on, unless those without form parts of the run."""
    shared: list[int] = []
    while True:
        share = paths.shares(depth + len(shared))
        working = 1.0 - share.pop(WAITING, 0.0)
        most = max(share, key=lambda frame: (share[frame], -frame), default=SELF)
        if most < 0 or share[most] < SHARED * working:
            return tuple(shared)
        strays = (working - share[most]) * len(samples)
        if round(strays) >= FEWEST and _split(sequence, samples, paths, depth + len(shared), options, 1):
            return tuple(shared)
        shared.append(most)


def _split(
    sequence: Sequence, samples: IntArray, paths: _Paths, depth: int, options: PhaseOptions, frames: int = DEEPER
) -> list[Group]:
    """Return the groups of some samples; none if they have one behaviour.

    Groups differ in their frames at a depth; where these do not change, in up to `frames` frames below.
    """
    # If samples have no times, their order within an interval is unknown: no shorter segment is found.
    fewest = max(FEWEST, sequence.blur, round(options.resolution / sequence.period_s))
    if len(samples) < 2 * fewest:
        return []
    names, category = np.unique(paths.at(depth), return_inverse=True)
    waits = names == WAITING
    outside = waits[category][paths.of_sample]
    is_driven = bool(depth) and paths.common(depth - 1) not in sequence.begins

    def is_one(group: Group) -> bool:
        members = _members(samples, group)
        paths_of_group = _Paths(sequence, members)
        below = depth + len(_shared(sequence, members, paths_of_group, depth, options))
        inside = _split(sequence, members, paths_of_group, below, options)
        return sum(part.size >= options.large * group.size for part in inside) < 2

    for deeper in range(1, frames + 1):
        groups = _groups(
            category[paths.of_sample], waits, fewest, options, is_one if is_driven else None, sequence.blur
        )
        below = paths.at(depth + deeper)
        if groups is not None or (below < 0).all():
            groups = merge_waiting(
                groups or [], outside, (sequence.innermost[sequence.path[samples]] == WAITING) & ~outside
            )
            return groups if len(groups) > 1 else []
        pairs, category = np.unique(np.stack([category, below]), axis=1, return_inverse=True)
        waits = waits[pairs[0]]
    return []


def _members(samples: IntArray, group: Group) -> IntArray:
    """Return those of some samples, (m,), that belong to a group."""
    return np.concatenate([samples[first:end] for first, end in sorted(group.segments)])


def _groups(
    category: IntArray,
    waits: BoolArray,
    fewest: int,
    options: PhaseOptions,
    is_one: Callable[[Group], bool] | None,
    blur: int,
) -> list[Group] | None:
    """Return the groups of segments of some samples; none for a mixture, None where nothing changes.

    Args:
        category: (m,) of each sample.
        waits: whether each category is waiting.
        fewest: fewest samples in a segment.
        options: thresholds.
        is_one: see without_steps.
        blur: number of samples within which the order is unknown.
    """
    often = np.argsort(-np.bincount(category, minlength=len(waits)), kind="stable")[:MOST]
    c = len(often) + 1
    number = np.full(len(waits), c - 1)
    number[np.sort(often)] = np.arange(len(often))
    category = number[category]
    evidence = Evidence(category, Counts(category, c), overdispersion(category, c), options, blur)
    points = change_points(evidence.counts, len(category), evidence.scatter, options.penalty, fewest)
    segments = segments_of(evidence, points)
    if len(segments) < 2:
        return None
    # Waiting comes and goes in many phases.
    named = np.append(np.where(waits[np.sort(often)], WAITS, options.named), options.named)
    similar = similar_groups(evidence, segments, named)
    if len(similar) < 2:
        return None
    groups = without_steps(evidence, similar, segments, named, is_one)
    return [] if _flickers(evidence, segments, groups) else groups


def _flickers(evidence: Evidence, segments: list[Segment], groups: list[Group]) -> bool:
    """Return whether segments are parts of a mixture: many, short, and recurring often, or rarely but alike."""
    n = len(evidence.category)
    large = sum(group.size >= PART * n for group in groups)
    usual = float(np.median([end - first for first, end in segments]))
    if len(segments) < FLICKERS or usual >= min(EPISODE * n, SHORT):
        return False
    recurring = sum(len(group.segments) for group in groups if len(group.segments) > 1)
    if len(segments) >= OFTEN * max(large, 1) and 2 * recurring >= len(segments):
        return True
    part = [evidence.counts.between(first, end) / (end - first) for first, end in segments]
    common = [float(np.minimum(one, other).sum()) for one, other in itertools.pairwise(part)]
    return 3 * len(groups) > len(segments) and float(np.median(common)) >= ALIKE
