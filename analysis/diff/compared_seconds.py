"""Seconds of phases, steps and functions in two runs or more, with their uncertainty.

A group is one phase in all runs; time in no group is a stratum of its own. n intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.compare.noise import Estimate, counted, observed, pace
from incprof.analysis.diff.match import Group
from incprof.analysis.diff.measure import Measured
from incprof.analysis.segment_sums import episodes_of
from incprof.model import FloatArray, IntArray

# A function whose calls show the pace of a phase is called in this share of its intervals, in both runs.
STEADY = 0.8
CANDIDATES = 3
# Intervals with less of a phase than this are ignored for it.
A_BIT = 0.05


class Estimates:
    """Estimates of runs; with one run per side, both are estimated together."""

    def __init__(self, runs: Sequence[Measured], groups: Sequence[Group]):
        self.runs, self.groups = tuple(runs), tuple(groups)
        self._phases = cache(self._phases_of)

    def phase(self, group: int) -> list[Estimate]:
        """Return the seconds of a phase in each run."""
        return list(self._phases(group))

    def function(self, tables: Sequence[csr_array], function: int, group: int | None = None) -> list[Estimate]:
        """Return the seconds of a function in each run, in all phases or one.

        Args:
            tables: sparse (n, m) of each run: self time, or inclusive time.
            function: its common number.
            group: a phase; None for the whole run.
        """
        seconds = [run.column(table, function) for run, table in zip(self.runs, tables, strict=True)]
        calls = [run.column(run.calls, function) for run in self.runs]
        total = [Estimate(0.0) for _ in self.runs]
        for at in range(len(self.groups)) if group is None else (group,):
            part = self._in_phase(at, seconds, calls)
            total = [one + other for one, other in zip(total, part, strict=True)]
        if group is not None:
            return total
        # Time between phases.
        rest = [float(run.within(s, (-1,)).sum()) for run, s in zip(self.runs, seconds, strict=True)]
        return [
            one + (counted(left, run.tick_s, run.result.dispersion) if left > 0 else Estimate(0.0))
            for one, left, run in zip(total, rest, self.runs, strict=True)
        ]

    def _in_phase(self, group: int, seconds: Sequence[FloatArray], calls: Sequence[FloatArray]) -> list[Estimate]:
        """Return the seconds of a function in a phase of each run."""
        members = self._members(group)
        own = list(zip(self.runs, self.groups[group].members, members, strict=True))
        spent = [run.within(s, p)[m] for (run, p, m), s in zip(own, seconds, strict=True)]
        done = [run.within(c, p)[m] for (run, p, m), c in zip(own, calls, strict=True)]
        if len(self.runs) == 2 and all(_steady(c) for c in done):
            found = pace(done[0], spent[0], done[1], spent[1])
            if found is not None:
                return [_no_surer(e, run, float(s.sum())) for e, run, s in zip(found, self.runs, spent, strict=True)]
        phases = self.phase(group)
        return [
            _by_share(run, _clock(run, p)[m], s, phase)
            for (run, p, m), s, phase in zip(own, spent, phases, strict=True)
        ]

    def _phases_of(self, group: int) -> tuple[Estimate, ...]:
        """Return the seconds of a phase in each run."""
        members = self.groups[group].members
        plain = [_plain(run, phases) for run, phases in zip(self.runs, members, strict=True)]
        if len(self.runs) != 2 or not all(members):
            return tuple(plain)
        varying = self._pace(group) or self._visits(group)
        if varying is None:
            return tuple(plain)
        return tuple(
            one.uncertain_by(v.variance * (one.value / v.value) ** 2, v.dof) if v.value > 0 else one
            for one, v in zip(plain, varying, strict=True)
        )

    def _members(self, group: int) -> list[IntArray]:
        """Return the intervals of each run with more than A_BIT of a phase."""
        return [
            np.flatnonzero(run.weight(p) > A_BIT) for run, p in zip(self.runs, self.groups[group].members, strict=True)
        ]

    def _pace(self, group: int) -> tuple[Estimate, Estimate] | None:
        """Return how even the pace of a phase is, from the calls of its most even function."""
        phases = self.groups[group].members
        function = _metronome(self.runs, [run.intervals(p) for run, p in zip(self.runs, phases, strict=True)])
        if function is None:
            return None
        own = list(zip(self.runs, phases, self._members(group), strict=True))
        done = [run.within(run.column(run.calls, function), p)[m] for run, p, m in own]
        spent = [_clock(run, p)[m] for run, p, m in own]
        return pace(done[0], spent[0], done[1], spent[1])

    def _visits(self, group: int) -> tuple[Estimate, Estimate] | None:
        """Return how even the lengths of a phase's episodes are."""
        lengths = [_episode_lengths(r, p) for r, p in zip(self.runs, self.groups[group].members, strict=True)]
        one, other = lengths
        return pace(np.ones(len(one)), one, np.ones(len(other)), other)


def _clock(run: Measured, phases: Sequence[int]) -> FloatArray:
    """Return the seconds of some phases in each interval, (n,)."""
    return run.clock_s * np.maximum(run.weight(phases), 0.0)


def _plain(run: Measured, phases: Sequence[int]) -> Estimate:
    """Return the seconds of some phases, with the uncertainty of their boundaries."""
    seconds = float((run.clock_s * run.weight(phases)).sum())
    return Estimate(max(seconds, 0.0), float(run.members.variance[list(phases)].sum()) if phases else 0.0)


def _steady(calls: FloatArray) -> bool:
    """Return whether a function is called in nearly all intervals."""
    return len(calls) > 0 and float((calls > 0).mean()) >= STEADY


def _no_surer(estimate: Estimate, run: Measured, seconds: float) -> Estimate:
    """Return an estimate with an uncertainty of at least one tick."""
    return Estimate(seconds, max(estimate.variance, run.tick_s**2), estimate.dof)


def _by_share(run: Measured, clock_s: FloatArray, spent: FloatArray, phase: Estimate) -> Estimate:
    """Return the seconds of a function from its share of the phase, with the uncertainty of both."""
    seconds = float(spent.sum())
    if seconds <= 0:
        return Estimate(0.0)
    found = observed(clock_s, spent) or counted(seconds, run.tick_s, run.result.dispersion)
    found = _no_surer(found, run, seconds)
    relative = phase.variance / phase.value**2 if phase.value > 0 else 0.0
    return found.uncertain_by(relative * seconds**2, phase.dof)


def _metronome(runs: Sequence[Measured], members: Sequence[IntArray]) -> int | None:
    """Return the function whose calls show the pace of a phase; None if none is called in nearly all intervals.

    Of those that take most time, it is the one called most evenly from interval to interval. Evenness over longer times
    is not used, or the choice would follow chance.
    """
    fits, time = None, np.zeros(runs[0].calls.shape[1])
    for run, mine in zip(runs, members, strict=True):
        if not len(mine):
            return None
        active = np.bincount(csr_array(run.calls[mine]).nonzero()[1], minlength=len(time))
        steady = active >= STEADY * len(mine)
        fits = steady if fits is None else fits & steady
        time += np.asarray(run.time_s[mine].sum(axis=0)).ravel()
    candidates = np.flatnonzero(fits) if fits is not None else np.zeros(0, dtype=np.int64)
    candidates = candidates[np.lexsort((candidates, -time[candidates]))][:CANDIDATES]
    unevenness = [
        sum(_unevenness(run.column(run.calls, c)[m], run.clock_s[m]) for run, m in zip(runs, members, strict=True))
        for c in candidates.tolist()
    ]
    return int(candidates[int(np.argmin(unevenness))]) if unevenness else None


def _unevenness(calls: FloatArray, clock_s: FloatArray) -> float:
    """Return the mean difference of calls per second between neighbouring intervals, over their mean."""
    rate = calls / np.maximum(clock_s, 1e-9)
    return float(np.abs(np.diff(rate)).mean() / rate.mean()) if len(rate) > 1 and rate.mean() > 0 else np.inf


def _episode_lengths(run: Measured, phases: Sequence[int]) -> FloatArray:
    """Return the length of each episode of some phases in seconds, whole intervals."""
    labels = np.where(np.isin(run.result.labels, np.array(phases, dtype=np.int64)), 0, 1)
    visits = episodes_of(np.where(run.result.labels < 0, -1, labels))
    spans = [slice(a, b) for a, b, c in zip(visits.first, visits.end, visits.group, strict=True) if c == 0]
    return np.array([run.clock_s[span].sum() for span in spans], dtype=np.float64)
