"""From an interval profile to the vectors that are clustered.

n intervals, f functions, d kept columns. Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.composition.inclusive import Inclusive, from_chains, from_functions, matters, with_functions
from incprof.analysis.composition.waiting_intervals import filled_by_calls
from incprof.analysis.options.phase_thresholds import PHASES, PhaseOptions
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.ticks import tree_ticks


@dataclass(frozen=True)
class Mixes:
    """Composition of the intervals of a profile, by call paths.

    Attributes:
        own: sparse (n, d), ticks of each important call path alone.
        functions: (d,) innermost function of each.
        above: inclusive ticks of the same.
        chains: all call paths, without recursion.
        ticks: sparse (n, q + u), of each call path, and of the functions `unseen`.
        unseen: (u,) functions that were called but never sampled.
    """

    own: csr_array
    functions: IntArray
    above: Inclusive
    chains: CallTree
    ticks: csr_array
    unseen: IntArray


def chain_mixes(profile: IntervalProfile, options: PhaseOptions = PHASES) -> Mixes | None:
    """Return the composition of the intervals of a profile, by call paths.

    None without call paths (gmon directories), or if less than half of the ticks have one (damaged files).
    """
    if not len(profile.samples.time_s):
        return None
    plain = profile.tree
    chains, move = plain.without_recursion()
    ticks = csr_array(tree_ticks(profile, plain) @ move)
    told = float(ticks[:, np.flatnonzero(chains.function >= 0)].sum())
    if not told > options.known * float(ticks.sum()):
        return None
    ticks, unseen = filled_by_calls(profile, chains, ticks, options)
    inclusive = csr_array(ticks[:, : len(chains.parent)] @ chains.ancestors())
    in_interval = np.asarray(ticks.sum(axis=1), dtype=np.float64).ravel()
    often = matters(inclusive, in_interval, float(np.asarray(inclusive.sum(axis=0)).ravel()[0]), options)
    keep = np.zeros(len(chains.parent), dtype=np.bool_)
    keep[often] = True
    keep[0] = True
    own = _nearest_kept(keep, chains.parent)
    own = np.concatenate([own, int(keep.sum()) + np.arange(len(unseen))])
    gather = csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), int(own.max()) + 1))
    above = from_chains(profile, chains, inclusive, in_interval, np.flatnonzero(keep), options)
    if len(unseen):
        above = with_functions(above, ticks[:, len(chains.parent) :].toarray(), unseen)
    own_ticks = csr_array(ticks @ gather)
    return Mixes(own_ticks, np.concatenate([chains.function[keep], unseen]), above, chains, ticks, unseen)


def _nearest_kept(keep: np.ndarray, parent: IntArray) -> IntArray:
    """Return for each call path the place, among the kept ones, of itself or of its nearest kept caller."""
    place = np.cumsum(keep) - 1
    for chain in np.flatnonzero(~keep).tolist():
        place[chain] = place[parent[chain]]
    return place.astype(np.int64)


# Columns that hold the last bit of the variance only add cost.
MAX_COLUMNS = 256


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


def shares(matrix: csr_array) -> csr_array:
    """Divide rows by their sums: sparse (n, f). Empty rows stay empty."""
    out = csr_array(matrix, dtype=np.float64, copy=True)
    totals = np.asarray(out.sum(axis=1)).ravel()
    out.data /= np.repeat(totals, np.diff(out.indptr))
    return out


def idle_intervals(ticks: FloatArray, expected: float, idle: float = PHASES.idle) -> BoolArray:
    """Return which intervals hold (nearly) no samples, shape (n,).

    The yardstick is the smaller of a fully busy thread's ticks and the median busy interval, so that a program that
    mostly sleeps is still analysed for the little that it does.
    """
    busy = ticks[ticks > 0]
    if not len(busy):
        return np.ones(len(ticks), dtype=np.bool_)
    yardstick = min(expected, float(np.median(busy)))
    return (ticks <= 0) | (ticks < idle * yardstick)


def energetic_columns(matrix: csr_array, energy: float = PHASES.kept_energy, cap: int = MAX_COLUMNS) -> IntArray:
    """Return the fewest columns that hold `energy` of the sum of squared deviations, ascending, at most `cap`.

    Constant columns add no distance and are dropped; if all are constant, the largest one stays.
    """
    n = matrix.shape[0]
    total = np.asarray(matrix.sum(axis=0)).ravel()
    squares = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()
    variance = np.maximum(squares - total**2 / max(n, 1), 0.0)
    order = np.lexsort((np.arange(len(variance)), -variance))
    if not variance.sum() > 0:
        return np.array([int(np.argmax(total))] if len(total) else [], dtype=np.int64)
    cumulated = np.cumsum(variance[order])
    count = int(np.searchsorted(cumulated, energy * cumulated[-1])) + 1
    return np.sort(order[: min(count, cap)]).astype(np.int64)


def build_features(profile: IntervalProfile, *, share: bool, options: PhaseOptions = PHASES) -> Features:
    """Build the vectors of a profile: seconds by function as in the paper (section V-A), or shares of the interval.

    Shares are those of call paths where the recording has them, else of functions.
    """
    rate = profile.metadata.rate_hz
    mixes = chain_mixes(profile, options) if share else None
    if mixes is None:
        matrix, functions = csr_array(profile.self_s, dtype=np.float64), np.arange(len(profile.functions))
        ticks = interval_seconds(profile) * rate
        above = from_functions(csr_array(matrix * rate), options) if share else None
    else:
        matrix, functions, above = mixes.own, mixes.functions, mixes.above
        ticks = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    if share:
        matrix = shares(matrix)
    columns = energetic_columns(matrix, options.kept_energy)
    x = np.ascontiguousarray(matrix[:, columns].toarray())
    idle = idle_intervals(ticks, profile.metadata.interval_s * rate, options.idle)
    return Features(x, functions[columns], ticks, idle, above, mixes)
