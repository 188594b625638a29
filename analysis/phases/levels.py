"""Choose the level of the tree to show: stages, and the large parts in them.

s samples and waiting ticks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.features import WORKS
from incprof.analysis.phases.changepoints import FEWEST
from incprof.analysis.phases.clustering import Stage
from incprof.analysis.phases.sequence import WAITING, Sequence, sequence_of
from incprof.analysis.phases.tree import Node, tree_of
from incprof.analysis.segment_sums import pooled_by
from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import BoolArray, FloatArray, Function, IntArray, IntervalProfile, pooled
from incprof.model.intervals import cut

# Number of attempts with smaller changes.
FINER = 5
# A node is shown as its parts where large parts cover this share of it.
COVERED = 0.7
# Nodes with this share of their time in the same functions differ only in their mixture.
SAME = 0.5


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
    sequence = sequence_of(profile)
    parts = parts_of(sequence, options, k)
    waits = _waits(sequence, parts)
    if not waits or not len(profile.samples.thread) or profile.samples.thread.max() == profile.samples.thread.min():
        return sequence, parts
    more = sequence_of(profile, waits)
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
        shown, least = [root], replace(least, options=replace(options, least=0.0))
    part = np.full(len(sequence), -1, dtype=np.int64)
    for number, node in enumerate(shown):
        part[node.samples] = number
    waits = tuple(node.share.get(WAITING, 0.0) >= 1.0 - WORKS for node in shown)
    places = _places(root)
    return Parts(
        tuple(shown), part, tuple(map(least.is_phase, shown)), waits, tuple(places[id(node)] for node in shown), root
    )


def _shown_as(root: Node, sequence: Sequence, least: _Least, options: PhaseOptions, k: int | None) -> list[Node]:
    """Return the nodes to show, or finer ones until k of them are phases."""
    shown = sorted(_shown(root, sequence, options, sequence.is_import, is_root=True), key=_first)
    while k is not None and sum(map(least.is_phase, shown)) < k:
        largest = max(shown, key=_second_child)
        if not _second_child(largest):
            break
        shown = sorted([node for node in shown if node is not largest] + largest.children, key=_first)
    return shown


def boundary_times(sequence: Sequence, part: IntArray) -> FloatArray:
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


def _shown(
    node: Node, sequence: Sequence, options: PhaseOptions, is_import: BoolArray, *, is_root: bool = False
) -> Iterator[Node]:
    if node.children and (is_root or _is_split(node, sequence, options)):
        for child in node.children:
            # A part that is nearly the whole run is not a stage of it. Imports are a set-up, whatever time they take.
            imported = int(is_import.sum() - is_import[child.samples].sum())
            is_rest = is_root and len(child.samples) >= (1.0 - options.large) * (len(sequence) - imported)
            yield from _shown(child, sequence, options, is_import, is_root=is_rest)
    else:
        yield node


def _is_split(node: Node, sequence: Sequence, options: PhaseOptions) -> bool:
    """Return whether a node is shown as its parts: they cover most of it, and two of them are distinct.

    Parts are distinct where they are in different functions. Below a driver, a change of the mixture alone does not
    count. A node with a single large part is shown as its parts if this one is.
    """
    n = len(sequence)
    large = [child for child in node.children if len(child.samples) >= options.large * n]
    if sum(len(child.samples) for child in large) < COVERED * len(node.samples):
        return False
    if len(large) == 1:
        return _is_split(large[0], sequence, options)
    is_driven = bool(node.shared) and node.shared[-1] not in sequence.begins
    return len(large) > 1 and (not is_driven or _differ(large, sequence))


def _differ(nodes: list[Node], sequence: Sequence) -> bool:
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
        if node.share.get(WAITING, 0.0) >= 1.0 - WORKS:
            return n >= options.least * self.n
        edge = np.flatnonzero(np.diff(node.samples, prepend=-2, append=node.samples[-1] + 2) > 1)
        longest = int(np.diff(edge).max())
        enough = options.episode * self.n
        if options.resolution > 0:
            enough = min(enough, options.resolution / self.period_s)
        return (n >= FEWEST or n == self.n) and (n >= options.least * self.n or longest >= enough)


# The hierarchy of a run as reported: from the whole run down to small parts.
#
# s samples and waiting ticks.


# A smaller part of the run is left out, unless it is a phase.
LEAST = 0.01


def stages_of(
    root: Node, parts: Parts, sequence: Sequence, functions: Row[Function], phases: Mapping[int, int], start_s: float
) -> Stage:
    """Return the hierarchy of a run.

    Args:
        root: of the tree.
        parts: the level of the tree that is shown.
        sequence: its samples.
        functions: of the profile.
        phases: phase by number of part, for parts that are phases.
        start_s: start of the run.
    """
    length = np.diff(sequence.time_s, prepend=start_s)
    phase = {id(node): phases.get(at) for at, node in enumerate(parts.nodes)}
    return _stage(root, sequence, length, functions, phase, None)


def _stage(
    node: Node,
    sequence: Sequence,
    length: FloatArray,
    functions: Row[Function],
    phase: Mapping[int, int | None],
    above: int | None,
) -> Stage:
    function = _named(node, functions, above)
    seconds = float(length[node.samples].sum())
    times = sequence.time_s[node.samples]
    below = (
        _stage(child, sequence, length, functions, phase, function)
        for child in node.children
        if len(child.samples) >= LEAST * len(sequence) or phase.get(id(child)) is not None
    )
    return Stage(
        function=None if function is None else functions[function],
        start_s=float(times[0] - length[node.samples[0]]),
        end_s=float(times[-1]),
        seconds=seconds,
        app_pct=100.0 * seconds / max(float(length.sum()), 1e-9),
        episodes=1 + int(np.count_nonzero(np.diff(node.samples) > 1)),
        phase=phase.get(id(node)),
        stages=tuple(below),
    )


def _named(node: Node, functions: Row[Function], above: int | None) -> int | None:
    """Return the function that names a node: its innermost shared one of its own code, else the one with most of it."""
    own = [function for function in node.shared if not functions[function].is_library]
    if own:
        return own[-1]
    if node.shared:
        return node.shared[-1]
    share = {function: part for function, part in node.share.items() if function >= 0}
    most = max(share, key=lambda function: (share[function], -function), default=None)
    if most is not None and share[most] > sum(node.share.values()) / 2:
        return most
    return None if node.share.get(WAITING, 0.0) > 1 / 2 else above


# Intervals of the analysis: recorded ones, joined or cut so that each holds enough samples and no change of phase.
#
# b bins.


# A heartbeat is read about once a second. A short run has as many bins as USUAL, as far as it was recorded so finely; a
# long one has at most MOST.
LONGEST_S, USUAL, MOST = 1.0, 200, 100_000
# An edge that is no boundary is dropped if nearer to a boundary than this share of a bin.
NEAR = 0.25
LEAST_S = 1e-6


def in_bins(profile: IntervalProfile, options: PhaseOptions = PHASES, k: int | None = None) -> IntervalProfile:
    """Return a profile in intervals, none of which lies in two phases.

    Args:
        profile: as recorded, with call paths or without.
        options: thresholds.
        k: least number of phases wanted.
    """
    if not profile.n_intervals or not float(profile.self_s.sum()) > 0:
        return profile
    if not has_times(profile):
        return pooled(profile, pooled_by(profile, options))
    sequence, parts = sequence_and_parts(profile, options, k)
    recorded_s = profile.metadata.interval_s
    width_s = _width_s(sequence)
    by = max(pooled_by(profile, options), _whole_number(width_s / recorded_s))
    grid = pooled(profile, by)
    cuts = 1 if by > 1 else max(1, round(recorded_s / max(LONGEST_S, width_s)))
    edges = _edges(grid, cuts)
    boundaries = boundary_times(sequence, parts.part)
    edges = _with_boundaries(edges, boundaries, sequence.period_s, NEAR * recorded_s * by / cuts)
    start_s, end_s = _without_holes(profile, edges)
    metadata = replace(profile.metadata, interval_s=recorded_s * by / cuts, pooled=by)
    if len(start_s) == profile.n_intervals and np.array_equal(end_s, profile.end_s):
        return profile
    return replace(cut(profile, start_s, end_s), metadata=metadata)


def has_times(profile: IntervalProfile) -> bool:
    """Return whether the times of samples are known, rather than their intervals alone."""
    return bool(len(profile.samples.time_s)) and profile.metadata.ordered


def _width_s(sequence: Sequence) -> float:
    """Return the least length of a bin, seconds."""
    whole_s = len(sequence) * sequence.period_s
    return max(min(LONGEST_S, whole_s / USUAL), whole_s / MOST)


def _whole_number(times: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, ... up to a number; 1 at least."""
    power = 10 ** max(int(np.floor(np.log10(max(times, 1.0)) + LEAST_S)), 0)
    return int(max(step * power for step in (1, 2, 5) if step * power <= max(times, 1.0) * (1.0 + LEAST_S)))


def _edges(grid: IntervalProfile, parts: int) -> FloatArray:
    """Return the edges of intervals, each cut into the given number of parts."""
    step = (grid.end_s - grid.start_s) / parts
    inner = grid.start_s[:, None] + step[:, None] * np.arange(1, parts)
    return np.unique(np.concatenate([grid.start_s, inner.ravel(), grid.end_s]))


def _with_boundaries(edges: FloatArray, boundaries: FloatArray, period_s: float, near_s: float) -> FloatArray:
    """Add boundaries to edges, except those within a sample of an edge."""
    nearest = np.clip(np.searchsorted(edges, boundaries), 1, len(edges) - 1)
    nearest -= boundaries - edges[nearest - 1] < edges[nearest] - boundaries
    new = boundaries[np.abs(edges[nearest] - boundaries) > period_s]
    if not len(new):
        return edges
    at = np.clip(np.searchsorted(new, edges), 1, len(new)) - 1
    distance = np.abs(new[at] - edges)
    distance = np.minimum(distance, np.abs(new[np.minimum(at + 1, len(new) - 1)] - edges))
    kept = distance > near_s
    kept[nearest] |= np.abs(edges[nearest] - boundaries) <= period_s
    kept[[0, -1]] = True
    return np.unique(np.concatenate([edges[kept], new]))


def _without_holes(profile: IntervalProfile, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return start and end of the intervals between edges, without the times that no recorded interval covers."""
    hole = np.flatnonzero(profile.start_s[1:] > profile.end_s[:-1] + LEAST_S)
    edges = np.unique(np.concatenate([edges, profile.end_s[hole], profile.start_s[hole + 1]]))
    start_s, end_s = edges[:-1], edges[1:]
    middle = (start_s + end_s) / 2.0
    at = np.minimum(np.searchsorted(profile.end_s, middle), profile.n_intervals - 1)
    is_recorded = (middle >= profile.start_s[at] - LEAST_S) & (end_s - start_s > LEAST_S)
    return start_s[is_recorded], end_s[is_recorded]
