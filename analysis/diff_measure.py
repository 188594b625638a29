"""A run, measured so that it can be compared: seconds and calls of functions under common numbers, and its phases.

n intervals, m functions of all compared runs, k phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.chains import chain_ticks, fold_recursion, merge_call_sites
from incprof.analysis.diff_borders import Membership, share_borders
from incprof.analysis.diff_names import same_functions
from incprof.analysis.features import build_features
from incprof.analysis.mixes import KNOWN
from incprof.analysis.results import PhaseResult
from incprof.model import FloatArray, IntArray, IntervalProfile


@dataclass(frozen=True)
class Measured:
    """A run with phases.

    place: (f,) the common number of each of its own functions. wall: (n,) seconds. self_s, calls: sparse (n, m).
    stack_s: sparse (n, m), CPU time with a function on the stack; None without call paths. members: whose intervals
    are in which phase. tick_s: CPU seconds that a sample stands for.
    """

    profile: IntervalProfile
    result: PhaseResult
    place: IntArray
    wall: FloatArray
    self_s: csr_array
    calls: csr_array
    stack_s: csr_array | None
    members: Membership
    tick_s: float

    @property
    def duration_s(self) -> float:
        """Wall time of all intervals."""
        return float(self.wall.sum())

    @property
    def time_s(self) -> csr_array:
        """Inclusive time where it is known, else self time: sparse (n, m)."""
        return self.self_s if self.stack_s is None else self.stack_s

    def intervals(self, phases: Sequence[int]) -> IntArray:
        """Return the intervals of some phases, ascending."""
        return np.flatnonzero(np.isin(self.result.labels, np.array(phases, dtype=np.int64)))

    def column(self, table: csr_array, function: int) -> FloatArray:
        """Return a column of one of the tables, (n,)."""
        return np.asarray(table[:, [function]].toarray(), dtype=np.float64).ravel()

    def weight(self, phases: Sequence[int]) -> FloatArray:
        """Return which part of each interval is in some phases, (n,); -1 stands for none."""
        columns = self.members.weight[:, list(phases)]
        total: FloatArray = columns.sum(axis=1) if len(phases) else np.zeros(len(self.wall))
        return total


def measure(
    profiles: Sequence[IntervalProfile], results: Sequence[PhaseResult]
) -> tuple[tuple[str, ...], list[Measured]]:
    """Return the names of m functions, and the runs."""
    names, places = same_functions(profiles)
    found = [_measured(*run, len(names)) for run in zip(profiles, results, places, strict=True)]
    return names, found


def _measured(profile: IntervalProfile, result: PhaseResult, place: IntArray, m: int) -> Measured:
    """Measure one run."""
    f = len(place)
    move = csr_array((np.ones(f), (np.arange(f), place)), shape=(f, m))
    wall = np.maximum(profile.end_s - profile.start_s, 0.0)
    features = build_features(profile, share=True)
    return Measured(
        profile=profile,
        result=result,
        place=place,
        wall=wall,
        self_s=csr_array(csr_array(profile.self_s) @ move),
        calls=csr_array(csr_array(profile.calls, dtype=np.float64) @ move),
        stack_s=_stack_seconds(profile, move),
        members=share_borders(features, result.labels, result.k, result.dispersion, wall),
        tick_s=1.0 / profile.metadata.rate_hz,
    )


def _stack_seconds(profile: IntervalProfile, move: csr_array) -> csr_array | None:
    """Return the CPU time with each function on the stack, sparse (n, m); None where call paths do not tell."""
    if not len(profile.samples.time_s):
        return None
    chains, _ = fold_recursion(merge_call_sites(profile))
    ticks = chain_ticks(profile, chains)
    told = float(ticks[:, np.flatnonzero(chains.function >= 0)].sum())
    if told < KNOWN * float(profile.self_s.sum()) * profile.metadata.rate_hz:
        return None
    named = np.flatnonzero(chains.function >= 0)
    shape = (len(chains.parent), move.shape[0])
    own = csr_array((np.ones(len(named)), (named, chains.function[named])), shape=shape)
    above = csr_array(chains.ancestors() @ csr_array(own @ move))
    above.data = np.minimum(above.data, 1.0)
    return csr_array(ticks @ above) / profile.metadata.rate_hz
