"""Where to put heartbeats: Algorithm 1 of the paper (section V-B), literally or repaired.

n intervals, f functions. A site is a function and a kind: "body" (instrument the whole function) or "loop" (instrument
a loop in it, because it runs for longer than an interval).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from incprof.analysis.composition.features import shares
from incprof.analysis.options.site_thresholds import SITES, SiteOptions
from incprof.model import FloatArray, IntArray, IntervalProfile

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

    literal: any self time counts (the paper). Otherwise at least 5 % of the interval, or else its largest function, and
    time outside all functions of the program never counts: no heartbeat can go there.
    """
    share = shares(profile.self_s)
    if not literal:
        code = np.array([function.is_code for function in profile.functions], dtype=np.bool_)
        share.data[~code[share.indices]] = 0.0
        share.eliminate_zeros()
    keep = share.data > 0 if literal else share.data >= options.active
    if not literal:
        for i in np.flatnonzero(np.diff(share.indptr)):
            row = slice(share.indptr[i], share.indptr[i + 1])
            if not keep[row].any():
                keep[share.indptr[i] + int(np.argmax(share.data[row]))] = True
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
    chosen: list[Choice] = []
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
        chosen.append(Choice(function, kind, int(covered[order].sum()) - done))
    return chosen


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
        rare = np.zeros(len(candidates), dtype=np.bool_)
    else:
        calls = np.array([_phase_calls(act, int(f), order).mean() for f in candidates])
        rare = rank[candidates] < act.options.common
    for best in np.lexsort((candidates, -np.round(share, 12), -rank[candidates], calls, rare)).tolist():
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
    found = dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))
    return np.array([found.get(int(c), 0) for c in columns], dtype=np.float64)


def _phase_calls(act: Activity, function: int, order: IntArray) -> FloatArray:
    """Return a function's calls in the intervals of the phase in which it is active."""
    active = np.intersect1d(_intervals_of(act, function), order)
    return np.asarray(act.calls[active][:, [function]].toarray(), dtype=np.float64).ravel()


def number_heartbeats(sites: Sequence[Sequence[Choice]]) -> dict[tuple[int, str], int]:
    """Give each distinct (function, kind) a heartbeat id from 1, in order of phase and choice."""
    keys = dict.fromkeys((choice.function, choice.kind) for phase in sites for choice in phase)
    return {key: number for number, key in enumerate(keys, 1)}
