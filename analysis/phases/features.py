"""From an interval profile to the vectors that are clustered.

n intervals, f functions, d kept columns. Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.phases import PHASES, PhaseOptions
from incprof.analysis.phases.inclusive import Inclusive, from_functions
from incprof.analysis.phases.mixes import Mixes, chain_mixes
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile

# Columns that hold the last bit of the variance only add cost.
MAX_COLUMNS = 256


@dataclass(frozen=True)
class Features:
    """What is clustered.

    x: (n, d) one row per interval; seconds ("paper") or shares of the interval ("robust").
    columns: (d,) function index of each column; of a chain of calls, its innermost function (-1: outside the program).
    ticks: (n,) samples behind each row.
    idle: (n,) intervals with (nearly) no samples.
    mixes: where columns are chains of calls, and not functions, what is known of them.
    inclusive: ticks from above; None for the paper's method.
    """

    x: FloatArray
    columns: IntArray
    ticks: FloatArray
    idle: BoolArray
    inclusive: Inclusive | None = None
    mixes: Mixes | None = None

    @property
    def by_path(self) -> bool:
        """Columns are chains of calls, not functions."""
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
    """Tell which intervals hold (nearly) no samples, shape (n,).

    The yardstick is the smaller of a fully busy thread's ticks and the median busy interval, so that a program
    which is mostly asleep is still analysed for the little that it does.
    """
    busy = ticks[ticks > 0]
    if not len(busy):
        return np.ones(len(ticks), dtype=np.bool_)
    yardstick = min(expected, float(np.median(busy)))
    return (ticks <= 0) | (ticks < idle * yardstick)


def energetic_columns(matrix: csr_array, energy: float = PHASES.kept_energy, cap: int = MAX_COLUMNS) -> IntArray:
    """Return the fewest columns that hold `energy` of the sum of squared deviations, ascending, at most `cap`.

    Constant columns move no distance and are dropped; if all are constant, the largest one stays.
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

    Shares are those of chains of calls where the recording has call paths, else of functions.
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
