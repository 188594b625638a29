"""The calls of a run by caller and callee. n intervals, f functions."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.uncounted.bursts import Bursts
from incprof.analysis.uncounted.periods import LoopPeriods
from incprof.analysis.uncounted.sampled_calls import Uncounted
from incprof.model import BoolArray, IntArray, IntervalProfile


class CallCounts:
    """Calls by caller and callee, for the given functions."""

    def __init__(
        self,
        profile: IntervalProfile,
        matters: BoolArray,
        uncounted: Uncounted | None = None,
        bursts: Bursts | None = None,
        loops: LoopPeriods | None = None,
    ):
        """matters: (f,) callees to look up. uncounted, bursts, loops: of the tree, if calls are not counted."""
        self.uncounted, self.bursts, self.loops = uncounted, bursts, loops
        self.profile = profile
        self.total = np.asarray(profile.calls.sum(axis=0)).ravel()
        arcs = profile.arcs
        self.has_arcs = len(arcs.interval) > 0
        use = np.flatnonzero(matters[arcs.callee]) if self.has_arcs else np.zeros(0, dtype=np.int64)
        self._width = np.int64(len(profile.functions) + 1)
        key = (arcs.caller[use].astype(np.int64) + 1) * self._width + arcs.callee[use]
        order = np.argsort(key, kind="stable")
        self._rows, self._key = use[order], key[order]
        # Functions that are not needed may have many calls.
        self._place = np.cumsum(matters) - 1
        self._columns = csr_array(csr_array(profile.calls)[:, np.flatnonzero(matters)]).tocsc()

    def between(self, caller: int, callee: int) -> IntArray | None:
        """Return the calls in each interval, (n,); None without any. caller: -1 if unknown."""
        key = np.int64(caller + 1) * self._width + callee
        low, high = np.searchsorted(self._key, [key, key + 1])
        if low == high:
            return None
        rows, arcs = self._rows[low:high], self.profile.arcs
        out = np.zeros(self.profile.n_intervals, dtype=np.int64)
        np.add.at(out, arcs.interval[rows], arcs.count[rows].astype(np.int64))
        return out

    def of(self, callee: int) -> IntArray:
        """Return all calls of one of the given functions in each interval, (n,)."""
        column = self._place[callee]
        some = slice(self._columns.indptr[column], self._columns.indptr[column + 1])
        out = np.zeros(self.profile.n_intervals, dtype=np.int64)
        out[self._columns.indices[some]] = self._columns.data[some]
        return out
