"""Segments of a sequence between change points, without transitions and without gradual changes.

A transition is a mixture of the segments before and after it, and moves from one to the other. A mixture that drifts
differs after a while, but never from one sample to the next. n samples, c categories, m segments.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.phases.changepoints import FEWEST, Evidence, variance
from incprof.analysis.phases.clustering import Boundary, Level, ShortSegment
from incprof.analysis.segment_sums import Sums, differences, episodes_of, lower_bound
from incprof.analysis.thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, Function, IntArray, IntervalProfile
from incprof.model.time_use import tree_ticks, working

# Most segments that a transition may be cut into, and its largest length relative to either end.
PIECES, SHORTER = 4, 0.6
# A profile nearer than this to an end of the line is that end; one farther off the line than this, or than this many
# standard errors, is no mixture.
NEAR, OFF, OFF_ERRORS = 0.03, 0.12, 3.5
# Ends that differ by less have no transition between them.
LEAST_CHANGE = 0.1
# Factor of the number of samples whose order is unknown.
BLURRED = 1.5
# Standard errors by which a transition moves.
MOVES = 2.5


def in_transition(evidence: Evidence, segments: Sequence[tuple[int, int]]) -> Set[int]:
    """Return the indices of the segments, up to four in a row, that form a transition, the widest first."""
    members: set[int] = set()
    for pieces in range(PIECES, 0, -1):
        for before in range(len(segments) - pieces - 1):
            row = range(before, before + pieces + 2)
            if members.isdisjoint(row) and _is_transition(evidence, [segments[at] for at in row]):
                members.update(row[1:-1])
    return members


def _is_transition(evidence: Evidence, row: Sequence[tuple[int, int]]) -> bool:
    """Return whether the segments between the ends of a row move from one end to the other."""
    scatter = evidence.scatter
    each = [evidence.counts.between(first, end) for first, end in row]
    size = [float(end - first) for first, end in row]
    inside = sum(size[1:-1])
    if inside > SHORTER * min(size[0], size[-1]):
        return False
    a, b, x = each[0] / size[0], each[-1] / size[-1], np.sum(each[1:-1], axis=0) / inside
    line = b - a
    if np.abs(line).max() < LEAST_CHANGE:
        return False
    noise = scatter * variance((a + b + x) / 3.0, inside)
    places = [_position_along(count / n - a, line, noise) for count, n in zip(each[1:-1], size[1:-1], strict=True)]
    is_on_way = places[0] > NEAR and places[-1] < 1.0 - NEAR and all(np.diff(places) >= 0)
    if not is_on_way:
        return False
    limit = np.maximum(OFF * np.abs(line).max(), OFF_ERRORS * np.sqrt(scatter * variance(x, inside) / inside))
    is_off = np.abs(x - a - _position_along(x - a, line, noise) * line) >= limit
    # Within an interval whose samples have no times, no movement can be seen.
    moves = inside <= BLURRED * evidence.blur or _moves(line[evidence.category[row[1][0] : row[-2][1]]])
    return moves and not is_off.any()


def _position_along(offset: FloatArray, line: FloatArray, noise: FloatArray) -> float:
    """Return the position of a profile along a line, 0 to 1, by least squares."""
    return float((offset * line / noise).sum() / (line * line / noise).sum())


def _moves(place: FloatArray) -> bool:
    """Return whether samples move along the line with time, or are too few to show that."""
    n = len(place)
    if n <= 2 * FEWEST:
        return True
    at = np.arange(n) - (n - 1) / 2.0
    return float(at @ place) >= MOVES * float(np.sqrt((at @ at) * max(float(place.var()), 1e-12)))


# A segment that itself moves by this share of the change, this many standard errors from none, is part of a slow
# change.
DRIFT, SURE = 0.5, 2.0
# Standard errors by which the samples at a boundary show the change, for lines to be fitted; fewest samples.
CLEAR, FITTED = 14.0, 96
LEAST_VARIANCE, LEAST_SHARE = 0.01, 0.02


def abruptness(category: IntArray, scatter: FloatArray, first: int, boundary: int, end: int, blur: int = 0) -> float:
    """Return the share of a change between two segments that may happen at their boundary: 1 is a jump, 0 a slope.

    Samples within `blur` of the boundary, whose order is unknown, are left out. The others are projected on the line
    from the profile of one segment to that of the other, each category weighted by the significance of its difference
    (Fisher's discriminant). Lines through the samples on either side meet where there is no jump.
    """
    c = len(scatter)
    blur = min(blur, (boundary - first) // 2, (end - boundary) // 2)
    left, right = category[first : boundary - blur], category[boundary + blur : end]
    before, after = _shares(left, c), _shares(right, c)
    noise = scatter * np.maximum((before + after) / 2 * (1 - (before + after) / 2), LEAST_SHARE)
    weight = (after - before) / noise
    one, other = weight[left], weight[right]
    change = float(other.mean() - one.mean())
    if change <= 0:
        return 0.0
    if _drifts(one, other, change) or _drifts(other, one, change):
        return 0.0
    spread = _scatter_along(weight, scatter, (before + after) / 2)
    pooled = (one.var() * len(one) + other.var() * len(other)) / (len(one) + len(other))
    variance = spread * max(float(pooled), LEAST_VARIANCE * float((weight**2).max()) / 4)
    width = min(max(int(np.ceil(8.0 * variance * (CLEAR / change) ** 2)), FITTED, blur), len(one), len(other))
    error = float(np.sqrt(2.0 * variance / width * (1.0 + 3.0 * (1.0 + 2.0 * blur / width) ** 2)))
    jump = _extrapolated(other[:width][::-1], blur) - _extrapolated(one[-width:], blur)
    return float((abs(jump) + error) / change)


def _shares(category: IntArray, c: int) -> FloatArray:
    result: FloatArray = np.bincount(category, minlength=c) / len(category)
    return result


def _scatter_along(weight: FloatArray, scatter: FloatArray, share: FloatArray) -> float:
    """Return the factor by which samples scatter along the line more than counting explains."""
    part = weight**2 * share * (1.0 - share)
    return float((scatter * part).sum() / max(float(part.sum()), 1e-12))


def _drifts(shorter: FloatArray, longer: FloatArray, change: float) -> bool:
    """Return whether the shorter of two segments moves along the line by most of the change itself."""
    n = len(shorter)
    if n < FITTED or n > 0.5 * len(longer):
        return False
    at = np.arange(n) - (n - 1) / 2.0
    slope = float(at @ shorter / (at @ at))
    error = float(np.sqrt(max(float(shorter.var()), 1e-12) / (at @ at)))
    return slope * n / change >= DRIFT and abs(slope) >= SURE * error


def _extrapolated(y: FloatArray, blur: int) -> float:
    """Return the value of a line through some values, half a sample and `blur` samples behind the last one."""
    at = np.arange(len(y)) - (len(y) - 1) / 2.0
    return float(y.mean() + (at @ y / (at @ at)) * (len(y) / 2.0 + blur))


# With more segments, no behaviour lasts for long: their boundaries are not tested one by one.
MANY = 400


def segments_of(evidence: Evidence, change_points: list[int]) -> list[tuple[int, int]]:
    """Return first sample and one past the last of each segment; there may be a transition between two."""
    edges = [0, *change_points, len(evidence.category)]
    segments = list(itertools.pairwise(edges))
    if len(segments) > MANY:
        return segments
    cached: dict[tuple[int, int, int], float] = {}
    before = 0
    while len(segments) != before:
        before = len(segments)
        segments = _without_transitions(evidence, segments)
        segments = _without_drifts(evidence, segments, cached)
    return segments


def _without_transitions(evidence: Evidence, segments: list[tuple[int, int]]) -> list[tuple[int, int]]:
    while True:
        between = in_transition(evidence, segments)
        if not between:
            return segments
        segments = [segment for at, segment in enumerate(segments) if at not in between]


def _without_drifts(
    evidence: Evidence, segments: list[tuple[int, int]], cached: dict[tuple[int, int, int], float]
) -> list[tuple[int, int]]:
    """Merge segments that meet without a jump, the least abrupt boundary first."""
    segments = list(segments)
    while len(segments) > 1:
        scores = []
        for (first, boundary), (after, end) in itertools.pairwise(segments):
            key = (first, boundary, end)
            if boundary == after and key not in cached:
                cached[key] = abruptness(evidence.category, evidence.scatter, *key, evidence.blur)
            scores.append(cached[key] if boundary == after else np.inf)
        at = int(np.argmin(scores))
        if scores[at] >= evidence.options.abrupt:
            break
        segments[at : at + 2] = [(segments[at][0], segments[at + 1][1])]
    return segments


# Explain each change of phase: the function whose share changes most, and by how much.
#
# n intervals, k phases, c functions.


BEGINS = 0.95


def explain_boundaries(
    sums: Sums, labels: IntArray, intervals: IntArray, functions: Sequence[Function], options: PhaseOptions = PHASES
) -> tuple[Boundary, ...]:
    """Explain each change between episodes. labels: (m,) phases of some intervals (m,) of the run, ascending."""
    episodes = episodes_of(labels)
    if len(episodes.group) < 2:
        return ()
    counts, total = sums.counts(episodes.first, episodes.end), sums.total(episodes.first, episodes.end)
    score, difference = differences(counts[:-1], total[:-1], counts[1:], total[1:], sums.scatter)
    share = counts / total[:, None]
    # Of functions that change equally, prefer one that begins.
    begins = np.where(share[1:] > share[:-1], 1.0, BEGINS)
    column = np.argmax(begins * lower_bound(score, difference, options), axis=1)
    return tuple(
        Boundary(
            int(intervals[episodes.first[at + 1]]),
            int(episodes.group[at]),
            int(episodes.group[at + 1]),
            _named(functions, int(sums.ticks.function[c])),
            float(share[at, c]),
            float(share[at + 1, c]),
            float(score[at, c]),
        )
        for at, c in enumerate(column.tolist())
    )


def levels_of(
    sums: Sums, labels: IntArray, functions: Sequence[Function], places: Mapping[int, Sequence[int]]
) -> tuple[Level, ...]:
    """Merge phases two by two until one is left: the levels from k - 1 phases to one.

    Phases whose call paths diverge last are merged first; of these, the two whose largest difference is smallest.

    Args:
        sums: of m intervals.
        labels: (m,) phases, -1 for none.
        functions: of the profile.
        places: nodes of the tree from the root to each phase.
    """
    groups = np.unique(labels[labels >= 0]).tolist()
    counts = [sums.ticks.counts[labels == g].sum(axis=0) for g in groups]
    total = [float(sums.ticks.total[labels == g].sum()) for g in groups]
    members: list[tuple[int, ...]] = [(int(g),) for g in groups]
    place = [tuple(places[g]) for g in groups]
    out = []
    while len(members) > 1:
        share = np.stack([count / all_ for count, all_ in zip(counts, total, strict=True)])
        one, other, column, difference = _nearest(share, place)
        place[one] = place[one][: _common(place[one], place.pop(other))]
        members[one] = tuple(sorted(members[one] + members.pop(other)))
        counts[one] = counts[one] + counts.pop(other)
        total[one] += total.pop(other)
        out.append(
            Level(len(members), tuple(sorted(members)), _named(functions, int(sums.ticks.function[column])), difference)
        )
    return tuple(out)


def _named(functions: Sequence[Function], index: int) -> Function | None:
    return functions[index] if index >= 0 else None


def _nearest(share: FloatArray, place: Sequence[tuple[int, ...]]) -> tuple[int, int, int, float]:
    """Return the two rows (g, c) to be merged first, the column that differs most, and the difference."""
    difference = np.abs(share[:, None, :] - share[None, :, :])
    most = difference.max(axis=2)
    shared = np.array([[_common(one, other) for other in place] for one in place], dtype=np.float64)
    # A difference of shares is at most 1.
    order = most - 2.0 * shared
    order[np.tril_indices(len(share))] = np.inf
    one, other = (int(i) for i in np.unravel_index(np.argmin(order), order.shape))
    return one, other, int(np.argmax(difference[one, other])), float(most[one, other])


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of nodes from the root that two places have in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


# Parts that are too short for a phase: they are named, but not instrumented.
#
# A program reads its input, sets something up, writes: each may be a sharp change, and none is worth a heartbeat. n
# intervals, q nodes of the call tree, f functions.


def short_segments(profile: IntervalProfile, groups: IntArray) -> tuple[ShortSegment, ...]:
    """Name the parts that are too short, each by the function whose share most exceeds that of the rest of the run.

    The outermost of several such functions gives the name. Samples without a function of the program give the name
    None.

    Args:
        profile: n intervals.
        groups: (n,) parts that are too short, -1 for all else.

    Returns:
        In order of time; a part that occurs several times is one. Intervals without a sample belong to none.
    """
    counted = np.bincount(profile.interval_of_samples(), weights=working(profile), minlength=profile.n_intervals)
    ticks_by_interval = np.maximum(counted, np.asarray(profile.self_s.sum(axis=1)).ravel())
    groups = np.where(ticks_by_interval > 0, groups, -1)
    used, first = np.unique(groups, return_index=True)
    order = used[np.argsort(first)]
    order = order[order >= 0]
    if not len(order):
        return ()
    inside = (groups == order[:, None]).astype(np.float64)
    if len(profile.samples.time_s):
        tree = profile.tree
        function, ticks = tree.function, tree_ticks(profile, tree)
        total_ticks = np.asarray(ticks.sum(axis=0)).reshape(1, -1)
        below = tree.inclusive(np.vstack([(csr_array(inside) @ ticks).toarray(), total_ticks]))
        total = below[:, 0]
    else:
        function = np.arange(len(profile.functions))
        below = np.vstack([inside, np.ones(len(groups))]) @ profile.self_s
        total = below.sum(axis=1)
    out = []
    for members, row, own in zip(inside, below[:-1], total[:-1].tolist(), strict=True):
        more = row / max(own, 1e-9) - (below[-1] - row) / max(total[-1] - own, 1e-9)
        most = int(np.argmax(np.where(function >= 0, more, -1.0)))
        indices = np.flatnonzero(members)
        spans = [(int(run[0]), int(run[-1]) + 1) for run in np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)]
        name, share = (profile.functions[int(function[most])], float(row[most]) / own) if own > 0 else (None, 1.0)
        out.append(ShortSegment(name, share, tuple(spans)))
    return tuple(out)
