"""Composition of intervals by inclusive ticks: of each call path with all that it calls.

A change in what a program does changes some function's share, and the outermost function that changes gives it its
name. n intervals, c call paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.phase_thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree

# Keep the call paths that change most; more would only cost memory.
MAX_CHAINS = 192
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
    profile: IntervalProfile,
    chains: CallTree,
    inclusive: csr_array,
    total: FloatArray,
    keep: IntArray,
    options: PhaseOptions = PHASES,
) -> Inclusive:
    """Build it from inclusive ticks, sparse (n, q), keeping the call paths `keep`. total: (n,) all ticks."""
    keep = keep[keep > 0]
    counts = np.ascontiguousarray(inclusive.tocsc()[:, keep].toarray())
    own, named = _not_only_wrapped(counts, total, chains, keep, [function.is_library for function in profile.functions])
    own = own[np.sort(np.argsort(-_variance(counts[:, own], total), kind="stable")[:MAX_CHAINS])]
    return Inclusive(counts[:, own], total, named[own])


def from_functions(ticks: csr_array, options: PhaseOptions = PHASES) -> Inclusive:
    """Build it without call paths, from ticks by function, sparse (n, f): the calls between functions are unknown."""
    total = np.asarray(ticks.sum(axis=1), dtype=np.float64).ravel()
    keep = matters(ticks, total, float(total.sum()), options)
    counts = np.ascontiguousarray(ticks.tocsc()[:, keep].toarray())
    own = np.sort(np.argsort(-_variance(counts, total), kind="stable")[:MAX_CHAINS])
    return Inclusive(counts[:, own], total, keep[own])


def matters(ticks: csr_array, total: FloatArray, whole: float, options: PhaseOptions) -> IntArray:
    """Return the columns with enough of the run, or much of several intervals, ascending. ticks: sparse (n, q)."""
    part = csr_array(ticks, dtype=np.float64, copy=True)
    part.data /= np.repeat(np.maximum(total, 1e-9), np.diff(part.indptr))
    often = np.asarray((part >= options.much).sum(axis=0)).ravel()
    column = np.asarray(ticks.sum(axis=0)).ravel()
    return np.flatnonzero(((column >= options.least_chain * whole) & (column > 0)) | (often >= options.several))


def _not_only_wrapped(
    counts: FloatArray, total: FloatArray, chains: CallTree, keep: IntArray, library: Sequence[bool]
) -> tuple[IntArray, IntArray]:
    """Return the columns of `counts` that differ from their nearest kept caller, ascending, and the function of each.

    A wrapper gives its name to what it wraps, except for library wrappers, (f,): `std::thread` gets the name of what it
    runs.
    """
    place = {chain: column for column, chain in enumerate(keep.tolist())}
    named = chains.function[keep].astype(np.int64)
    whole, stays, caller_of = np.maximum(total, 1e-9), [], list[int]()
    for column, chain in enumerate(keep.tolist()):
        above = _nearest(place, chains, chain)
        caller = total if above is None else counts[:, caller_of[above]]
        apart = np.abs(caller - counts[:, column]) / whole
        same = apart.mean() < SAME_MEAN and apart.max() < SAME_MOST
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


def _variance(counts: FloatArray, total: FloatArray) -> FloatArray:
    """Return the variance of the share of each column, (c,)."""
    return np.asarray((counts / np.maximum(total, 1e-9)[:, None]).var(axis=0), dtype=np.float64)


def with_functions(inclusive: Inclusive, counts: FloatArray, functions: Sequence[int] | IntArray) -> Inclusive:
    """Add columns for functions that are never sampled. counts: (n, u)."""
    function = np.concatenate([inclusive.function, np.asarray(functions, dtype=np.int64)])
    return Inclusive(np.column_stack([inclusive.counts, counts]), inclusive.total, function)
