"""From an interval profile to the vectors that are clustered.

n intervals, f functions, d kept columns. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.time_use import tree_ticks


@dataclass(frozen=True)
class Mixes:
    """Composition of the intervals of a profile, by call paths.

    Attributes:
        own: sparse (n, d), ticks of each important call path alone.
        functions: (d,) innermost function of each.
        above: inclusive ticks of the same.
        chains: all call paths, without recursion.
        ticks: sparse (n, q), of each call path.
    """

    own: csr_array
    functions: IntArray
    above: Inclusive
    chains: CallTree
    ticks: csr_array


def profiles_by_call_path(profile: IntervalProfile) -> Mixes | None:
    """Return the composition of the intervals of a profile, by call paths.

    None without call paths (gmon directories), or if less than half of the ticks have one (damaged files).
    """
    if not len(profile.samples.time_s):
        return None
    plain = profile.tree
    chains, move = plain.without_recursion()
    ticks = csr_array(tree_ticks(profile, plain) @ move)
    resolved = float(ticks[:, np.flatnonzero(chains.function >= 0)].sum())
    if not 2.0 * resolved > float(ticks.sum()):
        return None
    inclusive = csr_array(ticks @ chains.ancestors())
    in_interval = np.asarray(ticks.sum(axis=1), dtype=np.float64).ravel()
    keep = np.zeros(len(chains.parent), dtype=np.bool_)
    keep[most_varied(shares(inclusive, in_interval))] = True
    keep[0] = True
    own = _nearest_kept(keep, chains.parent)
    gather = csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), int(keep.sum())))
    above = from_chains(profile, chains, inclusive, in_interval, np.flatnonzero(keep))
    return Mixes(csr_array(ticks @ gather), chains.function[keep].astype(np.int64), above, chains, ticks)


def _nearest_kept(keep: np.ndarray, parent: IntArray) -> IntArray:
    """Return for each call path the place, among the kept ones, of itself or of its nearest kept caller."""
    place = np.cumsum(keep) - 1
    for chain in np.flatnonzero(~keep).tolist():
        place[chain] = place[parent[chain]]
    return place.astype(np.int64)


# The columns that vary most are kept; more would only cost memory.
MAX_COLUMNS = 256
ROUNDED = 1e-9


@dataclass(frozen=True)
class Features:
    """The vectors that are clustered.

    Attributes:
        x: (n, d) one row per interval; seconds ("paper") or shares of the interval ("robust").
        columns: (d,) function index of each column; of a call path, its innermost function (-1: outside the program).
        ticks: (n,) samples behind each row.
        idle: (n,) intervals with (nearly) no samples.
        inclusive: inclusive ticks; None for the paper's method.
        mixes: composition by call paths, where columns are these; None where they are functions.
    """

    x: FloatArray
    columns: IntArray
    ticks: FloatArray
    idle: BoolArray
    inclusive: Inclusive | None = None
    mixes: Mixes | None = None

    @property
    def by_path(self) -> bool:
        """Whether columns are call paths, not functions."""
        return self.mixes is not None


def interval_seconds(profile: IntervalProfile) -> FloatArray:
    """Return the sum of self time per interval, shape (n,), seconds."""
    return np.asarray(profile.self_s.sum(axis=1), dtype=np.float64).ravel()


def shares(matrix: csr_array, totals: FloatArray | None = None) -> csr_array:
    """Divide rows by their sums, or by `totals`, (n,): sparse (n, f). Empty rows stay empty."""
    out = csr_array(matrix, dtype=np.float64, copy=True)
    totals = np.asarray(out.sum(axis=1)).ravel() if totals is None else np.maximum(totals, 1e-9)
    out.data /= np.repeat(totals, np.diff(out.indptr))
    return out


# With a smaller share of the usual ticks, a thread waits: so do parts, intervals and phases.
WORKS = 0.05


def idle_intervals(ticks: FloatArray, expected: float) -> BoolArray:
    """Return which intervals hold (nearly) no samples, shape (n,).

    The yardstick is the smaller of a fully busy thread's ticks and the median busy interval, so that a program that
    mostly sleeps is still analysed for the little that it does.
    """
    busy = ticks[ticks > 0]
    if not len(busy):
        return np.ones(len(ticks), dtype=np.bool_)
    yardstick = min(expected, float(np.median(busy)))
    return (ticks <= 0) | (ticks < WORKS * yardstick)


def most_varied(matrix: csr_array, most: int = MAX_COLUMNS) -> IntArray:
    """Return the columns of a sparse matrix that vary most, ascending, at most `most`."""
    variance = _variance(matrix)
    return np.sort(np.lexsort((np.arange(len(variance)), -variance))[:most]).astype(np.int64)


def varying_columns(matrix: csr_array) -> IntArray:
    """Return the columns that vary most, ascending.

    Constant columns add no distance and are dropped; if all are constant, the largest one stays.
    """
    columns = most_varied(matrix)
    varies = columns[_variance(matrix)[columns] > 0]
    if len(varies) or not len(columns):
        return varies
    return np.array([int(np.argmax(np.asarray(matrix.sum(axis=0)).ravel()))], dtype=np.int64)


def _variance(matrix: csr_array) -> FloatArray:
    """Return the sum of squared deviations of each column of a sparse matrix, (c,)."""
    n = max(matrix.shape[0], 1)
    total = np.asarray(matrix.sum(axis=0)).ravel()
    squares = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()
    # Rounding leaves a little of a constant column.
    return np.where(squares * n > total**2 * (1.0 + ROUNDED), squares - total**2 / n, 0.0)


def build_features(profile: IntervalProfile, *, share: bool) -> Features:
    """Build the vectors of a profile: seconds by function as in the paper (section V-A), or shares of the interval.

    Shares are those of call paths where the recording has them, else of functions.
    """
    rate = profile.metadata.rate_hz
    mixes = profiles_by_call_path(profile) if share else None
    if mixes is None:
        matrix, functions = csr_array(profile.self_s, dtype=np.float64), np.arange(len(profile.functions))
        ticks = interval_seconds(profile) * rate
        above = from_functions(csr_array(matrix * rate)) if share else None
    else:
        matrix, functions, above = mixes.own, mixes.functions, mixes.above
        ticks = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    if share:
        matrix = shares(matrix)
    columns = varying_columns(matrix)
    x = np.ascontiguousarray(matrix[:, columns].toarray())
    idle = idle_intervals(ticks, profile.metadata.interval_s * rate)
    return Features(x, functions[columns], ticks, idle, above, mixes)


# Composition of intervals by inclusive ticks: of each call path with all that it calls.
#
# A change in what a program does changes some function's share, and the outermost function that changes gives it its
# name. n intervals, c call paths.


# A wrapper has the same share as what it calls, up to this mean and largest difference.
SAME_MEAN, SAME_MOST = 0.003, 0.08


@dataclass(frozen=True)
class Inclusive:
    """Inclusive ticks.

    Attributes:
        counts: (n, c) of each call path with all that it calls.
        total: (n,) of the interval.
        function: (c,) the innermost one.
    """

    counts: FloatArray
    total: FloatArray
    function: IntArray

    def rows(self, use: IntArray) -> Inclusive:
        """Return the inclusive ticks of some intervals."""
        return Inclusive(self.counts[use], self.total[use], self.function)


def from_chains(
    profile: IntervalProfile, chains: CallTree, inclusive: csr_array, total: FloatArray, keep: IntArray
) -> Inclusive:
    """Build it from inclusive ticks, sparse (n, q), of the call paths `keep`. total: (n,) all ticks."""
    keep = keep[keep > 0]
    counts = np.ascontiguousarray(inclusive.tocsc()[:, keep].toarray())
    own, named = _drop_wrapped(counts, total, chains, keep, [function.is_library for function in profile.functions])
    return Inclusive(counts[:, own], total, named[own])


def from_functions(ticks: csr_array) -> Inclusive:
    """Build it without call paths, from ticks by function, sparse (n, f): the calls between functions are unknown."""
    total = np.asarray(ticks.sum(axis=1), dtype=np.float64).ravel()
    keep = most_varied(shares(ticks))
    return Inclusive(np.ascontiguousarray(ticks.tocsc()[:, keep].toarray()), total, keep)


def _drop_wrapped(
    counts: FloatArray, total: FloatArray, chains: CallTree, keep: IntArray, library: Sequence[bool]
) -> tuple[IntArray, IntArray]:
    """Return the columns of `counts` that differ from their nearest kept caller, ascending, and the function of each.

    A wrapper gives its name to what it wraps, except for library wrappers, (f,): `std::thread` gets the name of what it
    runs.
    """
    place = {chain: column for column, chain in enumerate(keep.tolist())}
    named = chains.function[keep].astype(np.int64)
    ticks, stays, caller_of = np.maximum(total, 1e-9), [], list[int]()
    for column, chain in enumerate(keep.tolist()):
        above = _nearest(place, chains, chain)
        caller = total if above is None else counts[:, caller_of[above]]
        difference = np.abs(caller - counts[:, column]) / ticks
        same = difference.mean() < SAME_MEAN and difference.max() < SAME_MOST
        # A caller that is dropped is represented by the one that was kept in its place.
        caller_of.append(caller_of[above] if same and above is not None else column)
        if not same or above is None:
            stays.append(column)
            continue
        name, wrapper = named[column], named[caller_of[above]]
        if min(name, wrapper) >= 0 and library[wrapper] and not library[name]:
            named[caller_of[above]] = name
    return np.array(stays, dtype=np.int64), named


def _nearest(place: dict[int, int], chains: CallTree, chain: int) -> int | None:
    """Return the column of the nearest kept caller of a call path."""
    while chain:
        chain = int(chains.parent[chain])
        if chain in place:
            return place[chain]
    return None


# Functions that are called in some intervals. n intervals, f functions.


def entered_calls(profile: IntervalProfile, selected: BoolArray) -> csr_array:
    """Return the calls from functions that were already running, in the intervals wanted (n,): (n, f)."""
    arcs, size = profile.arcs, (profile.n_intervals, len(profile.functions))
    use = np.flatnonzero(selected[arcs.interval]) if len(arcs.interval) else np.zeros(0, dtype=np.int64)
    interval, caller = arcs.interval[use].astype(np.int64), arcs.caller[use].astype(np.int64)
    callee, count = arcs.callee[use].astype(np.int64), arcs.count[use].astype(np.float64)
    called = np.unique(interval * size[1] + callee)
    outside = (caller < 0) | ~np.isin(interval * size[1] + caller, called)
    place = (interval[outside], callee[outside])
    return csr_array((count[outside], place), shape=size)


def functions_entered(profile: IntervalProfile, members: IntArray, part: float) -> list[tuple[int, float]]:
    """Return the functions entered in at least this share of some intervals, with that share; most frequent first.

    They represent a phase that has no tick at all.
    """
    selected = np.zeros(profile.n_intervals, dtype=np.bool_)
    selected[members] = True
    often = np.asarray((entered_calls(profile, selected) > 0).sum(axis=0)).ravel() / max(len(members), 1)
    order = np.lexsort((np.arange(len(often)), -often))
    return [(int(f), float(often[f])) for f in order if often[f] >= part]
