"""Choose the level of the tree to show: stages, and the large parts in them.

s samples and waiting ticks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.phases.changepoints import FEWEST
from incprof.analysis.phases.sequence import WAITING, Sequence, sequence_of
from incprof.analysis.phases.tree import Node, tree_of
from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, IntArray, IntervalProfile

# Number of attempts with smaller changes.
FINER = 5
# A node is shown as its parts where large parts cover this share of it.
COVERED = 0.7
# Nodes with this share of their time in the same functions differ only in their mixture.
SAME = 0.5
# A part with more than this share of waiting ticks is waiting.
WAITS = 0.95


@dataclass(frozen=True)
class Parts:
    """The parts of a run on one level.

    Attributes:
        nodes: of the tree, in order of their first samples.
        part: (s,) the node of each sample.
        is_phase: whether each node is a phase; the others are too short.
        is_waiting: whether the program waits in it.
        place: of each node, the numbers of the tree's nodes from the root to it.
        root: of the tree.
    """

    nodes: tuple[Node, ...]
    part: IntArray
    is_phase: tuple[bool, ...]
    is_waiting: tuple[bool, ...]
    place: tuple[tuple[int, ...], ...]
    root: Node


def sequence_and_parts(
    profile: IntervalProfile, options: PhaseOptions = PHASES, k: int | None = None
) -> tuple[Sequence, Parts]:
    """Return the samples of a run, and its parts. Where the leading thread waits, the other threads stand for it."""
    sequence = sequence_of(profile, options)
    parts = parts_of(sequence, options, k)
    waits = _waits(sequence, parts)
    if not waits or not len(profile.samples.thread) or profile.samples.thread.max() == profile.samples.thread.min():
        return sequence, parts
    more = sequence_of(profile, options, waits)
    return more, parts_of(more, options, k)


def _waits(sequence: Sequence, parts: Parts) -> list[tuple[float, float]]:
    """Return begin and end, in seconds, of each episode of waiting that is a phase, between the samples around it."""
    waiting = [at for at, node in enumerate(parts.nodes) if parts.is_phase[at] and parts.is_waiting[at]]
    edge = np.flatnonzero(np.diff(np.isin(parts.part, waiting), prepend=False, append=False)).reshape(-1, 2)
    time_s = np.concatenate([[-np.inf], sequence.time_s, [np.inf]])
    return list(zip(time_s[edge[:, 0]].tolist(), time_s[edge[:, 1] + 1].tolist(), strict=True))


def parts_of(sequence: Sequence, options: PhaseOptions = PHASES, k: int | None = None) -> Parts:
    """Return the parts of a run on the level to show, or at least k phases where the tree has as many."""
    least = _Least(len(sequence), sequence.period_s, options)
    for _ in range(FINER):
        root = tree_of(sequence, options)
        shown = _shown_as(root, sequence, least, options, k)
        if k is None or sum(map(least.is_phase, shown)) >= k:
            break
        # Smaller changes count if the user wants more phases than there are significant ones.
        options = replace(
            options, penalty=options.penalty / 4.0, named=options.named / 4.0, surely=options.surely / 4.0, abrupt=0.0
        )
    if not any(map(least.is_phase, shown)):
        shown, least = [root], replace(least, options=replace(options, least=0.0, waiting=0.0))
    part = np.full(len(sequence), -1, dtype=np.int64)
    for number, node in enumerate(shown):
        part[node.samples] = number
    waits = tuple(node.share.get(WAITING, 0.0) > WAITS for node in shown)
    places = _places(root)
    return Parts(
        tuple(shown), part, tuple(map(least.is_phase, shown)), waits, tuple(places[id(node)] for node in shown), root
    )


def _shown_as(root: Node, sequence: Sequence, least: _Least, options: PhaseOptions, k: int | None) -> list[Node]:
    """Return the nodes to show, or finer ones until k of them are phases."""
    shown = sorted(_shown(root, sequence, options, is_root=True), key=_first)
    while k is not None and sum(map(least.is_phase, shown)) < k:
        largest = max(shown, key=_second_child)
        if not _second_child(largest):
            break
        shown = sorted([node for node in shown if node is not largest] + largest.children, key=_first)
    return shown


def borders_s(sequence: Sequence, part: IntArray) -> FloatArray:
    """Return the times at which the part changes, seconds, ascending: in the middle between two samples."""
    at = np.flatnonzero(np.diff(part) != 0)
    out: FloatArray = (sequence.time_s[at] + sequence.time_s[at + 1]) / 2.0
    return out


def _places(root: Node) -> dict[int, tuple[int, ...]]:
    """Return the numbers of the nodes from the root to each node, by its identity."""
    out: dict[int, tuple[int, ...]] = {id(root): (0,)}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for child in node.children:
            out[id(child)] = (*out[id(node)], len(out))
            waiting.append(child)
    return out


def _first(node: Node) -> int:
    return int(node.samples[0])


def _second_child(node: Node) -> int:
    """Return the samples of a node's second largest child; 0 without one."""
    return sorted([0, 0, *(len(child.samples) for child in node.children)])[-2]


def _shown(node: Node, sequence: Sequence, options: PhaseOptions, *, is_root: bool = False) -> Iterator[Node]:
    if node.children and (is_root or _is_split(node, sequence, options)):
        for child in node.children:
            yield from _shown(child, sequence, options)
    else:
        yield node


def _is_split(node: Node, sequence: Sequence, options: PhaseOptions) -> bool:
    """Return whether a node is shown as its parts: they cover most of it, and two of them are distinct.

    Parts are distinct where they are in different functions. Below a driver, a change of the mixture alone does not
    count.
    """
    n = len(sequence)
    large = [child for child in node.children if len(child.samples) >= options.large * n]
    if len(node.samples) >= (1.0 - options.large) * n:
        if len(large) == 1 and len(large[0].samples) >= (1.0 - options.large) * n:
            return _is_split(large[0], sequence, options)
        # A part that is nearly the whole run is not a stage of it.
        more = [child for child in node.children if len(child.samples) >= options.least * n]
        large = more if _are_apart(more, sequence) else large
    is_driven = bool(node.shared) and node.shared[-1] not in sequence.begins
    is_most = sum(len(child.samples) for child in large) >= COVERED * len(node.samples)
    return len(large) > 1 and is_most and (not is_driven or _are_apart(large, sequence))


def _are_apart(nodes: list[Node], sequence: Sequence) -> bool:
    """Return whether two of some nodes have most of their time in different functions."""
    kinds, kind = np.unique(sequence.innermost, return_inverse=True)
    part = [np.bincount(kind[sequence.path[node.samples]], minlength=len(kinds)) / len(node.samples) for node in nodes]
    return any(np.minimum(one, other).sum() < SAME for one, other in itertools.combinations(part, 2))


@dataclass(frozen=True)
class _Least:
    """Least length of a phase in a run of n samples."""

    n: int
    period_s: float
    options: PhaseOptions

    def is_phase(self, node: Node) -> bool:
        """Return whether a node has enough of the run, or one of its episodes is long enough."""
        n, options = len(node.samples), self.options
        if node.share.get(WAITING, 0.0) > WAITS:
            return n >= options.waiting * self.n
        edge = np.flatnonzero(np.diff(node.samples, prepend=-2, append=node.samples[-1] + 2) > 1)
        longest = int(np.diff(edge).max())
        enough = options.episode * self.n
        if options.resolution > 0:
            enough = min(enough, options.resolution / self.period_s)
        return (n >= FEWEST or n == self.n) and (n >= options.least * self.n or longest >= enough)
