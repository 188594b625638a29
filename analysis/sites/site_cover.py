"""Where to put heartbeats: Algorithm 1 of the paper (section V-B), literally or repaired.

n intervals, f functions. A site is a function and a kind: "body" (instrument the whole function) or "loop" (instrument
a loop in it, because it runs for longer than an interval).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from incprof.analysis.features import shares
from incprof.analysis.segment_sums import evenly
from incprof.analysis.thresholds import SITES, SiteOptions
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile

NONE: frozenset[tuple[int, str]] = frozenset()


@dataclass(frozen=True)
class Choice:
    """A chosen site.

    Attributes:
        function: index of the function.
        kind: "body" or "loop".
        covered: intervals of the phase that it covers and no site before it does; of a site from the call tree, its
            inclusive share of the phase's time, in intervals.
    """

    function: int
    kind: str
    covered: float


@dataclass(frozen=True)
class Activity:
    """Activity of functions by interval.

    Attributes:
        active: sparse (n, f), 1 where a function is active.
        columns: the same by columns.
        share: sparse (n, f) of the same pattern, share of the interval.
        calls: sparse (n, f).
        literal: whether any self time counts.
        options: thresholds.
    """

    active: csr_array
    columns: csc_array
    share: csr_array
    calls: csr_array
    literal: bool
    options: SiteOptions


def activity(profile: IntervalProfile, *, literal: bool, options: SiteOptions = SITES) -> Activity:
    """Determine which functions are active in which interval.

    Any self time counts (the paper); unless `literal`, not that outside all functions of the program: no heartbeat can
    go there.
    """
    share = shares(profile.self_s)
    keep = share.data > 0
    if not literal:
        keep &= np.array([function.is_code for function in profile.functions], dtype=np.bool_)[share.indices]
    share.data[~keep] = 0.0
    share.eliminate_zeros()
    share.sort_indices()
    active = csr_array((np.ones(share.nnz, dtype=np.int64), share.indices, share.indptr), shape=share.shape)
    return Activity(active, csc_array(active), share, csr_array(profile.calls), literal, options)


def choose_sites(
    act: Activity, members: IntArray, distance: FloatArray, excluded: Set[tuple[int, str]] = NONE
) -> list[Choice]:
    """Choose the sites of one phase, until enough of its intervals with any active function are covered.

    Args:
        act: activity of the whole run.
        members: (m,) the phase's intervals, ascending.
        distance: (m,) their distance to the phase's centroid.
        excluded: (function, kind) of sites that are not available; the next best one takes their intervals.
    """
    order = members[np.lexsort((members, np.round(distance, 12)))]
    busy = np.diff(act.active.indptr)[order] > 0
    order = order[busy]
    rank = np.asarray(act.active[order].sum(axis=0)).ravel() / max(len(order), 1)
    covered = np.zeros(act.active.shape[0], dtype=np.bool_)
    sites: list[Choice] = []
    for interval in order:
        done = int(covered[order].sum())
        if done >= act.options.coverage * len(order):
            break
        if covered[interval]:
            continue
        elected = _elect(act, int(interval), order, rank, excluded)
        if elected is None:
            continue
        function, kind = elected
        covered[_intervals_of(act, function)] = True
        sites.append(Choice(function, kind, int(covered[order].sum()) - done))
    return sites


def _intervals_of(act: Activity, function: int) -> IntArray:
    """Return the intervals in which a function is active."""
    column: IntArray = act.columns.indices[act.columns.indptr[function] : act.columns.indptr[function + 1]]
    return column


def _elect(
    act: Activity, interval: int, order: IntArray, rank: FloatArray, excluded: Set[tuple[int, str]]
) -> tuple[int, str] | None:
    """Choose the function, and its kind, for one interval (Algorithm 1, lines 10-16); None if none is available."""
    row = slice(act.share.indptr[interval], act.share.indptr[interval + 1])
    candidates, share = act.share.indices[row], act.share.data[row]
    if act.literal:
        calls = _row(act.calls, interval, candidates)
        is_rare = np.zeros(len(candidates), dtype=np.bool_)
    else:
        calls = np.array([_phase_calls(act, int(f), order).mean() for f in candidates])
        is_rare = rank[candidates] < act.options.common
    for best in np.lexsort((candidates, -np.round(share, 12), -rank[candidates], calls, is_rare)).tolist():
        function = int(candidates[best])
        kind = _kind(act, function, order, float(calls[best]))
        if (function, kind) not in excluded:
            return function, kind
    return None


def _kind(act: Activity, function: int, order: IntArray, calls: float) -> str:
    """Return whether a function is a body or a loop site. calls: of the function in the interval it is chosen for."""
    if act.literal:
        return "body" if calls > 0 else "loop"
    called = _phase_calls(act, function, order) > 0
    return "body" if 2 * int(called.sum()) > len(called) else "loop"


def _row(matrix: csr_array, row: int, columns: IntArray) -> FloatArray:
    """Return the entries of one sparse row at some columns, shape (len(columns),)."""
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    entries = dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))
    return np.array([entries.get(int(c), 0) for c in columns], dtype=np.float64)


def _phase_calls(act: Activity, function: int, order: IntArray) -> FloatArray:
    """Return a function's calls in the intervals of the phase in which it is active."""
    active = np.intersect1d(_intervals_of(act, function), order)
    return np.asarray(act.calls[active][:, [function]].toarray(), dtype=np.float64).ravel()


def number_heartbeats(sites: Sequence[Sequence[Choice]]) -> dict[tuple[int, str], int]:
    """Give each distinct (function, kind) a heartbeat id from 1, in order of phase and choice."""
    keys = dict.fromkeys((choice.function, choice.kind) for phase in sites for choice in phase)
    return {key: number for number, key in enumerate(keys, 1)}


# Where to put heartbeats without call paths: the cheapest functions that together cover a phase.
#
# A function covers an interval if it is called in it, or has enough of its time. Functions that run in other phases
# cost more, and so do those that are called more often: each call is a beat. So the outermost functions that belong
# to a phase win, even without self time. n intervals, f functions, k phases.


# Limits of the work: number of intervals and of candidate functions.
MOST_INTERVALS = 4000
MOST_CANDIDATES = 200
# If more are needed, none of them represents the phase: the largest are returned.
MOST_SITES = 20


@dataclass(frozen=True)
class Presence:
    """Presence of functions.

    Attributes:
        present: sparse (n, f), functions of the program that are called in an interval or have enough of its time.
        called: sparse (n, f), functions that are called.
        part: (k, f) share of each phase's intervals with any time in which a function is present.
        weight: (k, f) cost of choosing it.
    """

    present: csr_array
    called: csr_array
    part: FloatArray
    weight: FloatArray


def presence(profile: IntervalProfile, act: Activity, labels: IntArray, k: int) -> Presence:
    """Compute the presence of functions in each phase. labels: (n,) phase ids from 0, -1 for none."""
    library = np.array([function.is_library for function in profile.functions], dtype=np.bool_)
    code = ~library & np.array([function.is_code for function in profile.functions], dtype=np.bool_)
    called = csr_array((act.calls > 0).astype(np.float64))
    called.data *= code[called.indices]
    called.eliminate_zeros()
    present = csr_array(((act.active.astype(np.float64) + called) > 0).astype(np.float64))
    use = np.flatnonzero(labels >= 0)
    gather = csr_array((np.ones(len(use)), (labels[use], use)), shape=(k, len(labels)))
    count = np.maximum(np.bincount(labels[use], minlength=k), 1)
    part = (gather @ present).toarray() / count[:, None]
    wall = np.asarray(gather @ (profile.end_s - profile.start_s)).ravel()
    beats = (gather @ act.calls.astype(np.float64)).toarray() / np.maximum(wall, 1e-9)[:, None]
    specific = part / np.maximum(part.sum(axis=0), 1e-12)
    # Functions of the compiler's libraries are as much a last resort as those that run everywhere.
    options = act.options
    weight = 1.0 + options.unspecific * (1.0 - specific + library) + options.beats * np.log1p(beats)
    time = (gather @ act.share).toarray() / count[:, None]
    return Presence(present, called, part, weight + options.time * (1.0 - time))


def sites_by_cover(
    act: Activity, presence: Presence, members: IntArray, phase: int, excluded: Set[tuple[int, str]] = NONE
) -> list[Choice]:
    """Choose the sites of a phase, the one that covers most intervals first.

    Args:
        act: activity of the whole run.
        presence: of the same run.
        members: (m,) the phase's intervals, ascending.
        phase: its number.
        excluded: (function, kind) of sites that are not available.
    """
    busy = members[np.diff(act.active.indptr)[members] > 0]
    rows = busy[evenly(len(busy), MOST_INTERVALS)]
    if not len(rows):
        return []
    functions = _candidates(presence, phase)
    covers = presence.present[rows][:, functions].toarray() > 0
    # Called in more than half of the intervals in which it is present: a beat for each call.
    often = 2 * (presence.called[rows][:, functions].toarray() > 0).sum(axis=0) > covers.sum(axis=0)
    kinds = {f: "body" if body else "loop" for f, body in zip(functions.tolist(), often.tolist(), strict=True)}
    allowed = np.array([(f, kind) not in excluded for f, kind in kinds.items()], dtype=np.bool_)
    functions, covers = functions[allowed], covers[:, allowed]
    need = int(np.ceil(act.options.coverage * len(rows)))
    selected = cover(covers, presence.weight[phase, functions], need)
    scale = len(busy) / len(rows)
    return [Choice(int(functions[c]), kinds[int(functions[c])], new * scale) for c, new in _in_order(covers, selected)]


def _candidates(presence: Presence, phase: int) -> IntArray:
    """Return the candidate functions of a phase, ascending: those that cover most for their weight."""
    benefit = presence.part[phase] / presence.weight[phase]
    order = np.lexsort((np.arange(len(benefit)), -np.round(benefit, 12)))[:MOST_CANDIDATES]
    return np.sort(order[benefit[order] > 0]).astype(np.int64)


def _in_order(covers: BoolArray, selected: IntArray) -> list[tuple[int, int]]:
    """Return the chosen candidates, the one that covers most first, with the intervals that no earlier one covers."""
    uncovered = np.ones(len(covers), dtype=np.bool_)
    out: list[tuple[int, int]] = []
    remaining = selected.tolist()
    while remaining and len(out) < MOST_SITES:
        gain = covers[np.ix_(uncovered, remaining)].sum(axis=0)
        best = remaining.pop(int(np.argmax(gain)))
        out.append((best, int(gain.max())))
        uncovered &= ~covers[:, best]
    return out


# Weighted partial set cover: the cheapest sets that cover enough of some elements.
#
# The exact answer comes from an integer program (HiGHS, through scipy) if there are few candidates; else from a
# greedy algorithm, whose weight is at most 1 + ln(elements) times the least. m elements, c candidates.


EXACT = 30
# Elements that the same candidates cover are merged for the program; more kinds of them than this take it too long.
MOST_KINDS = 100
MOST_NODES = 100


def cover(covers: BoolArray, weight: FloatArray, need: int) -> IntArray:
    """Return the candidates that cover at least `need` elements with the least weight, ascending.

    If fewer can be covered, all of these are. Unnecessary candidates are left out.

    Args:
        covers: (m, c) whether a candidate covers an element.
        weight: (c,) positive.
        need: number of elements to be covered.
    """
    if not covers.size:
        return np.zeros(0, dtype=np.int64)
    kinds, count = np.unique(covers, axis=0, return_counts=True)
    some = kinds.any(axis=1)
    kinds, count = kinds[some], count[some]
    need = min(need, int(count.sum()))
    if need <= 0:
        return np.zeros(0, dtype=np.int64)
    if covers.shape[1] <= EXACT and len(kinds) <= MOST_KINDS:
        solution = _exact(kinds, count, weight, need)
        if solution is not None:
            return solution
    return _greedy(kinds, count, weight, need)


def _exact(kinds: BoolArray, count: IntArray, weight: FloatArray, need: int) -> IntArray | None:
    """Solve the integer program: x marks the chosen candidates, y the kinds of elements that they cover."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # here: slow to import, and seldom needed

    elements, candidates = kinds.shape
    # y <= sum of the x that cover it; the counts of the covered kinds add up to at least `need`.
    linked = LinearConstraint(np.hstack([kinds.astype(np.float64), -np.eye(elements)]), lb=0.0)
    enough = LinearConstraint(np.concatenate([np.zeros(candidates), count])[None, :], lb=float(need))
    # Equal weights are distinguished by position, so that the answer is the same everywhere.
    scaled = weight / weight.max() * (1.0 + 1e-7 * np.arange(candidates))
    solution = milp(
        np.concatenate([scaled, np.zeros(elements)]),
        constraints=[linked, enough],
        # All are integers: with other variables HiGHS may write a line to standard output.
        integrality=np.ones(candidates + elements),
        bounds=Bounds(0.0, 1.0),
        options={"node_limit": MOST_NODES},
    )
    return None if solution.x is None or solution.status != 0 else np.flatnonzero(solution.x[:candidates] > 0.5)


def _greedy(kinds: BoolArray, count: IntArray, weight: FloatArray, need: int) -> IntArray:
    """Take the candidate that covers most per weight until enough is covered; then drop unnecessary ones."""
    selected: list[int] = []
    uncovered, done = count.astype(np.float64), 0.0
    while done < need:
        gain = np.minimum(uncovered @ kinds, need - done)
        best = int(np.argmax(np.round(gain / weight, 12)))
        selected.append(best)
        uncovered = np.where(kinds[:, best], 0.0, uncovered)
        done = float(count.sum() - uncovered.sum())
    for candidate in sorted(selected, key=lambda c: (-weight[c], c)):
        others = [c for c in selected if c != candidate]
        if count[kinds[:, others].any(axis=1)].sum() >= need:
            selected = others
    return np.array(sorted(selected), dtype=np.int64)
