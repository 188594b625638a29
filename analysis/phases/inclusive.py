"""What an interval is made of, from above: the ticks of each chain of functions with all that it calls.

A change in what a program does is a change of some function's share, and the highest function that changes names it.
n intervals, c chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.names import is_entry

# Chains that change most; more would only cost memory.
MAX_CHAINS = 192
# A wrapper has the share of what it calls, up to this mean and largest difference.
SAME_MEAN, SAME_MOST = 0.003, 0.08


@dataclass(frozen=True)
class Inclusive:
    """Ticks from above.

    counts: (n, c) of each chain with what it calls. total: (n,) of the interval. function: (c,) the innermost one.
    drives: (n, d) whether a chain below the program's entry, one for each column, holds nearly all of the interval.
    """

    counts: FloatArray
    total: FloatArray
    function: IntArray
    drives: BoolArray

    def rows(self, use: IntArray) -> Inclusive:
        """Return the same of some intervals."""
        return Inclusive(self.counts[use], self.total[use], self.function, self.drives[use])

    def of_chains(self, use: IntArray) -> Inclusive:
        """Return the same of some chains."""
        return Inclusive(np.ascontiguousarray(self.counts[:, use]), self.total, self.function[use], self.drives)


def from_chains(
    profile: IntervalProfile,
    chains: CallTree,
    inclusive: csr_array,
    total: FloatArray,
    keep: IntArray,
    options: PhaseOptions = PHASES,
) -> Inclusive:
    """Build it from inclusive ticks, sparse (n, q), of which the chains `keep` matter. total: (n,) all ticks."""
    keep = keep[keep > 0]
    counts = np.ascontiguousarray(inclusive.tocsc()[:, keep].toarray())
    inside = counts >= options.driver * np.maximum(total, 1e-9)[:, None]
    drives = inside & _may_drive(profile, chains)[keep]
    own, named = _not_only_wrapped(counts, total, chains, keep, [function.is_library for function in profile.functions])
    own = own[np.sort(np.argsort(-_variance(counts[:, own], total), kind="stable")[:MAX_CHAINS])]
    return Inclusive(counts[:, own], total, named[own], drives[:, drives.any(axis=0)])


def from_functions(ticks: csr_array, options: PhaseOptions = PHASES) -> Inclusive:
    """Build it where there are no call paths, from ticks by function, sparse (n, f): none is known to call another."""
    total = np.asarray(ticks.sum(axis=1), dtype=np.float64).ravel()
    keep = matters(ticks, total, float(total.sum()), options)
    counts = np.ascontiguousarray(ticks.tocsc()[:, keep].toarray())
    own = np.sort(np.argsort(-_variance(counts, total), kind="stable")[:MAX_CHAINS])
    return Inclusive(counts[:, own], total, keep[own], np.zeros((len(total), 0), dtype=np.bool_))


def matters(ticks: csr_array, total: FloatArray, whole: float, options: PhaseOptions) -> IntArray:
    """Return the columns with enough of the run, or much of several intervals, ascending. ticks: sparse (n, q)."""
    part = csr_array(ticks, dtype=np.float64, copy=True)
    part.data /= np.repeat(np.maximum(total, 1e-9), np.diff(part.indptr))
    often = np.asarray((part >= options.much).sum(axis=0)).ravel()
    column = np.asarray(ticks.sum(axis=0)).ravel()
    return np.flatnonzero(((column >= options.least_chain * whole) & (column > 0)) | (often >= options.several))


def _may_drive(profile: IntervalProfile, chains: CallTree) -> BoolArray:
    """Mark the chains (q,) that are below a program's entry: what it calls in turn are no steps, but stages."""
    entry = [is_entry(function.name) for function in profile.functions]
    out = np.zeros(len(chains.parent), dtype=np.bool_)
    for chain in range(1, len(out)):
        function, parent = int(chains.function[chain]), int(chains.parent[chain])
        out[chain] = parent != 0 and function >= 0 and not entry[function]
    return out


def _not_only_wrapped(
    counts: FloatArray, total: FloatArray, chains: CallTree, keep: IntArray, library: Sequence[bool]
) -> tuple[IntArray, IntArray]:
    """Return the columns of `counts` that differ from their nearest kept caller, ascending, and what names each.

    A wrapper names what it wraps, but for one of a library, (f,): `std::thread` has the name of what it runs.
    """
    place = {chain: column for column, chain in enumerate(keep.tolist())}
    named = chains.function[keep].astype(np.int64)
    whole, stays, caller_of = np.maximum(total, 1e-9), [], list[int]()
    for column, chain in enumerate(keep.tolist()):
        above = _nearest(place, chains, chain)
        caller = total if above is None else counts[:, caller_of[above]]
        apart = np.abs(caller - counts[:, column]) / whole
        same = apart.mean() < SAME_MEAN and apart.max() < SAME_MOST
        # What stands for a caller that is left out itself is the one that was kept in its place.
        caller_of.append(caller_of[above] if same and above is not None else column)
        if not same or above is None:
            stays.append(column)
            continue
        name, wrapper = named[column], named[caller_of[above]]
        if min(name, wrapper) >= 0 and library[wrapper] and not library[name]:
            named[caller_of[above]] = name
    return np.array(stays, dtype=np.int64), named


def _nearest(place: dict[int, int], chains: CallTree, chain: int) -> int | None:
    """Return the column of the nearest kept chain above a chain."""
    while chain:
        chain = int(chains.parent[chain])
        if chain in place:
            return place[chain]
    return None


def _variance(counts: FloatArray, total: FloatArray) -> FloatArray:
    """Return how much the share of each column varies, (c,)."""
    return np.asarray((counts / np.maximum(total, 1e-9)[:, None]).var(axis=0), dtype=np.float64)


def with_functions(inclusive: Inclusive, counts: FloatArray, functions: Sequence[int] | IntArray) -> Inclusive:
    """Return the same with more columns, of functions that are never sampled. counts: (n, u)."""
    function = np.concatenate([inclusive.function, np.asarray(functions, dtype=np.int64)])
    return Inclusive(np.column_stack([inclusive.counts, counts]), inclusive.total, function, inclusive.drives)
