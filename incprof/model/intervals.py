"""Other intervals of the same run: cut finer, pooled, and the time in which the program was suspended."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from incprof.model.arrays import BoolArray, FloatArray, IntArray, positions
from incprof.model.profile import PROFILER, Arcs, Counters, IntervalProfile

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Rounding error of times; every piece is longer.
LEAST_S = 1e-9


def cut(profile: IntervalProfile, start_s: FloatArray, end_s: FloatArray) -> IntervalProfile:
    """Return the profile in other intervals, (b,) each, ascending, which cover the same time.

    Samples keep their times. Self time of a function is divided by its samples; calls, which are recorded per interval
    only, by the samples that have the function on their stacks; all else by time. Sums over the run do not change.
    """
    from scipy.sparse import csr_array

    pieces = _pieces(profile, start_s, end_s)
    samples = profile.samples
    piece = np.minimum(np.searchsorted(pieces.end_s, samples.time_s, side="left"), len(pieces.end_s) - 1)
    use = samples.kind != PROFILER
    weight, node = samples.weight[use].astype(np.float64), samples.node[use]
    size = len(profile.functions)
    table = _Weights(pieces, piece[use], profile.innermost[node], weight, size)
    self_s = profile.self_s.tocoo()
    shape = (len(end_s), size)
    length = pieces.end_s - pieces.start_s
    ticks = np.bincount(piece[use], weights=weight, minlength=len(length)).astype(np.float64)
    if profile.calls.nnz or len(profile.arcs.count):
        calls, arcs = _calls(profile, pieces, piece[use], node, weight, shape)
    else:
        calls, arcs = csr_array(shape), profile.arcs
    return replace(
        profile,
        start_s=start_s,
        end_s=end_s,
        self_s=_summed(pieces, shape, self_s.col, table.divided(self_s.row, self_s.col, self_s.data)),
        calls=calls,
        arcs=arcs,
        counters=_counters(profile, pieces, ticks, length),
    )


@dataclass(frozen=True)
class _Pieces:
    """Overlaps of an interval and a new one, in order of time.

    Attributes:
        start_s: (m,) seconds.
        end_s: (m,) seconds.
        old: (m,) interval.
        new: (m,) new interval.
        first: (n + 1,) index of the first piece of each interval.
    """

    start_s: FloatArray
    end_s: FloatArray
    old: IntArray
    new: IntArray
    first: IntArray


def _pieces(profile: IntervalProfile, start_s: FloatArray, end_s: FloatArray) -> _Pieces:
    edge = np.unique(np.concatenate([profile.start_s, profile.end_s, start_s, end_s]))
    begin, end = edge[:-1], edge[1:]
    middle = (begin + end) / 2.0
    old = np.minimum(np.searchsorted(profile.end_s, middle), profile.n_intervals - 1)
    new = np.minimum(np.searchsorted(end_s, middle), len(end_s) - 1)
    overlaps = (middle > profile.start_s[old]) & (middle > start_s[new]) & (middle < profile.end_s[old])
    # An interval of no duration gets a piece as well, to which its values can be assigned.
    missing = np.setdiff1d(np.arange(profile.n_intervals), old[overlaps])
    at = profile.end_s[missing]
    more = np.minimum(np.searchsorted(end_s, at), len(end_s) - 1)
    old, new = np.concatenate([old[overlaps], missing]), np.concatenate([new[overlaps], more])
    order = np.argsort(old, kind="stable")
    first = np.searchsorted(old[order], np.arange(profile.n_intervals + 1))
    begin, end = np.concatenate([begin[overlaps], at])[order], np.concatenate([end[overlaps], at])[order]
    return _Pieces(begin, end, old[order], new[order], first)


class _Weights:
    """Weights that divide an interval's values of a function among its pieces: by (piece, function), or by time."""

    def __init__(self, pieces: _Pieces, piece: IntArray, function: IntArray, weight: FloatArray, functions: int):
        self._pieces, self._functions = pieces, functions
        resolved = function >= 0
        key = piece[resolved] * functions + function[resolved]
        self._key, place = np.unique(key, return_inverse=True)
        self._weight = np.bincount(place.ravel(), weights=weight[resolved], minlength=len(self._key))

    def divided(
        self,
        interval: IntArray,
        function: IntArray,
        value: FloatArray,
        *,
        whole: bool = False,
        other: tuple[_Weights, IntArray] | None = None,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Divide values of (interval, function), (v,). Return the value's index, the piece, and the part, each (w,).

        Args:
            interval: of each value.
            function: of each value, -1 for none.
            value: values to divide.
            whole: values are integers, and so are their parts.
            other: weights, and functions (v,), to use where these weights are zero.
        """
        first, pieces = self._pieces.first, self._pieces
        many = first[interval + 1] - first[interval]
        place = np.arange(len(interval)).repeat(many)
        piece = first[interval].repeat(many) + positions(many)
        weight = self._of(piece, function[place])
        total = np.bincount(place, weights=weight, minlength=len(interval))
        if other is not None:
            weight = np.where(total[place] > 0, weight, other[0]._of(piece, other[1].astype(np.int64)[place]))
            total = np.bincount(place, weights=weight, minlength=len(interval))
        unknown = total[place] <= 0
        length = np.maximum(pieces.end_s - pieces.start_s, LEAST_S)
        weight = np.where(unknown, length[piece], weight)
        total = np.bincount(place, weights=weight, minlength=len(interval))
        part = value[place] * weight / total[place]
        return place, piece, _rounded(part, place, value, many) if whole else part

    def _of(self, piece: IntArray, function: IntArray) -> FloatArray:
        if not len(self._key):
            return np.zeros(len(piece))
        key = piece * self._functions + function
        at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
        return np.where((self._key[at] == key) & (function >= 0), self._weight[at], 0.0)


def _rounded(part: FloatArray, place: IntArray, value: FloatArray, many: IntArray) -> FloatArray:
    """Round parts to integers with the same sums: a call is counted where its function first appears."""
    first = np.cumsum(many) - many
    sums = np.cumsum(part)
    before = np.where(first > 0, sums[np.maximum(first - 1, 0)], 0.0)
    until = np.minimum(np.ceil(sums - before[place] - 1e-6), value[place])
    until[np.cumsum(many)[many > 0] - 1] = value[many > 0]
    since = np.concatenate([[0.0], until[:-1]])
    since[first[many > 0]] = 0.0
    result: FloatArray = until - since
    return result


def _calls(
    profile: IntervalProfile,
    pieces: _Pieces,
    piece: IntArray,
    node: IntArray,
    weight: FloatArray,
    shape: tuple[int, int],
) -> tuple[csr_array, Arcs]:
    """Return calls by function and by arc, divided by samples with the call on their stacks, else with its caller."""
    from scipy.sparse import csr_array

    tree, arcs, size = profile.tree, profile.arcs, shape[1]
    caller = np.where(tree.parent > 0, tree.function[tree.parent], -1)
    key = (caller.astype(np.int64) + 1) * size + tree.function
    keys, arc = np.unique((arcs.caller.astype(np.int64) + 1) * size + arcs.callee, return_inverse=True)
    at = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
    callers = np.flatnonzero((tree.function >= 0) & (keys[at] == key)) if len(keys) else np.zeros(0, dtype=np.int64)
    count = csr_array((weight, (piece, tree.of_node[node])), shape=(len(pieces.end_s), len(tree.parent)))
    by_arc = _stacked(pieces, count, tree.ancestors(), callers, at[callers], max(len(keys), 1))
    named = np.flatnonzero(tree.function >= 0)
    by_function = _stacked(pieces, count, tree.ancestors(), named, tree.function[named], size)
    value = arcs.count.astype(np.float64)
    divided = by_arc.divided(arcs.interval, arc.ravel(), value, whole=True, other=(by_function, arcs.caller))
    from_arcs = csr_array((value, (arcs.interval, arcs.callee)), shape=profile.calls.shape)
    uncovered = csr_array(profile.calls - from_arcs).tocoo()
    more = by_function.divided(uncovered.row, uncovered.col, np.maximum(uncovered.data, 0.0), whole=True)
    total = _summed(pieces, shape, arcs.callee, divided) + _summed(pieces, shape, uncovered.col, more)
    return csr_array(total), _arcs(pieces, arcs, divided)


def _stacked(
    pieces: _Pieces, count: csr_array, ancestors: csr_array, nodes: IntArray, what: IntArray, size: int
) -> _Weights:
    """Return the weights of samples that have given nodes on their stacks; `what`: the item of each node."""
    from scipy.sparse import csr_array

    items = csr_array((np.ones(len(nodes)), (nodes, what)), shape=(ancestors.shape[0], size))
    table = csr_array(count @ csr_array((ancestors @ items) > 0, dtype=np.float64)).tocoo()
    return _Weights(pieces, table.row.astype(np.int64), table.col.astype(np.int64), table.data, size)


def _summed(
    pieces: _Pieces, shape: tuple[int, int], column: IntArray, divided: tuple[IntArray, IntArray, FloatArray]
) -> csr_array:
    from scipy.sparse import csr_array

    place, piece, part = divided
    nonzero = part > 0
    out = csr_array((part[nonzero], (pieces.new[piece[nonzero]], column[place[nonzero]])), shape=shape)
    out.sum_duplicates()
    return out


def _arcs(pieces: _Pieces, arcs: Arcs, divided: tuple[IntArray, IntArray, FloatArray]) -> Arcs:
    place, piece, part = divided
    use = part > 0
    if not use.any():
        return arcs
    return _summed_arcs(pieces.new[piece[use]], arcs.caller[place[use]], arcs.callee[place[use]], part[use], arcs)


def _summed_arcs(
    interval: IntArray, caller: IntArray, callee: IntArray, count: FloatArray | IntArray, like: Arcs
) -> Arcs:
    """Return calls with the counts of equal ones summed, in the order of intervals, and with the types of others."""
    distinct, place = np.unique(np.column_stack([interval, caller, callee]), axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=count.dtype)
    np.add.at(sums, place.ravel(), count)
    interval, caller, callee = (distinct[:, at].astype(like.interval.dtype) for at in range(3))
    return Arcs(interval, caller, callee, sums.astype(like.count.dtype))


def _counters(profile: IntervalProfile, pieces: _Pieces, ticks: FloatArray, length: FloatArray) -> Counters:
    """Return counters of new intervals: CPU time by samples, the maximum of threads, all else by time."""
    counters, new, old, size = profile.counters, pieces.new, pieces.old, int(pieces.new.max(initial=-1)) + 1
    by_time = np.maximum(length, LEAST_S)
    of_time = by_time / np.bincount(old, weights=by_time)[old]
    all_ticks = np.bincount(old, weights=ticks)[old]
    of_ticks = np.where(all_ticks > 0, ticks / np.maximum(all_ticks, LEAST_S), of_time)
    is_first = np.diff(old, prepend=-1) > 0
    out: dict[str, Any] = {}
    for field in fields(Counters):
        values = getattr(counters, field.name)
        if not len(values):
            out[field.name] = values
        elif field.name == "threads":
            most = np.zeros(size, dtype=values.dtype)
            np.maximum.at(most, new, values[old])
            out[field.name] = most
        elif field.name == "suspended_s":
            out[field.name] = np.bincount(new, weights=values[old] * is_first, minlength=size)
        elif field.name.endswith("_s"):
            part = of_ticks if field.name == "cpu_s" else of_time
            out[field.name] = np.bincount(new, weights=values[old] * part, minlength=size)
        else:
            many = np.diff(pieces.first)
            part = _rounded(values[old] * of_ticks, old, values.astype(np.float64), many)
            out[field.name] = np.bincount(new, weights=part, minlength=size).astype(values.dtype)
    return Counters(**out)


# Pool several intervals into one, for runs whose intervals hold too few samples to be analysed.


def pooled(profile: IntervalProfile, by: int) -> IntervalProfile:
    """Return the profile with every `by` intervals, from the first on, merged into one; the last may cover fewer.

    Intervals are not pooled across a suspension of the program. Samples, paths and functions do not change. The number
    of threads is the maximum of the pooled intervals.
    """
    if by <= 1 or profile.n_intervals <= 1:
        return profile
    group = _groups(profile, by)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    last = np.append(first[1:], len(group)) - 1
    metadata = profile.metadata
    return replace(
        profile,
        metadata=replace(metadata, interval_s=metadata.interval_s * by, pooled=metadata.pooled * by),
        start_s=profile.start_s[first],
        end_s=profile.end_s[last],
        self_s=_rows_summed(profile.self_s, group),
        calls=_rows_summed(profile.calls, group),
        arcs=_pooled_arcs(profile.arcs, group),
        counters=_pooled_counters(profile.counters, first),
    )


def _groups(profile: IntervalProfile, by: int) -> IntArray:
    """Return the pooled interval of each interval, (n,), ascending from 0."""
    place = np.arange(profile.n_intervals)
    after = np.maximum.accumulate(np.where(is_after_suspension(profile), place, 0))
    return np.cumsum((place - after) % by == 0) - 1


def _rows_summed(matrix: csr_array, group: IntArray) -> csr_array:
    """Return a sparse matrix with the rows of each group summed, (groups, f)."""
    from scipy.sparse import csr_array

    table = matrix.tocoo()
    row, column = table.row, table.col
    return csr_array((table.data, (group[row], column)), shape=(int(group[-1]) + 1, matrix.shape[1]))


def _pooled_arcs(arcs: Arcs, group: IntArray) -> Arcs:
    """Return calls with the intervals of each group merged, in the same order."""
    if not len(arcs.interval):
        return arcs
    return _summed_arcs(group[arcs.interval], arcs.caller, arcs.callee, arcs.count, arcs)


def _pooled_counters(counters: Counters, first: IntArray) -> Counters:
    """Return counters of pooled intervals; `first` is the first interval of each."""
    summed: dict[str, Any] = {
        field.name: np.add.reduceat(values, first) if len(values := getattr(counters, field.name)) else values
        for field in fields(counters)
    }
    if len(counters.threads):
        summed["threads"] = np.maximum.reduceat(counters.threads, first)
    return Counters(**summed)


# Suspensions of a program between two intervals: it was stopped, or the machine was asleep.


def is_after_suspension(profile: IntervalProfile) -> BoolArray:
    """Return whether the program was suspended just before each interval, (n,)."""
    suspended_s = profile.counters.suspended_s
    gap_s = profile.start_s - np.append(profile.start_s[:1], profile.end_s[:-1])
    return (gap_s > 0) & (suspended_s > 0) if len(suspended_s) else np.zeros(len(gap_s), dtype=np.bool_)


def suspensions(profile: IntervalProfile) -> FloatArray:
    """Return the beginning and the end of each suspension, (s, 2), seconds since the start of the run."""
    after = np.flatnonzero(is_after_suspension(profile))
    return np.column_stack([profile.end_s[after - 1], profile.start_s[after]])
