"""Seconds of phases, steps and functions in two runs or more, with their uncertainty.

A group is one phase in all runs; time in no group is a stratum of its own. n intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.compare.log_mean import MIN_INTERVALS, Change, LogMean, change, log_mean
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
            one.uncertain_by(v.variance * (one.seconds / v.seconds) ** 2, v.dof) if v.seconds > 0 else one
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
    relative = phase.variance / phase.seconds**2 if phase.seconds > 0 else 0.0
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


# How much two runs' seconds for the same work vary along the runs.
#
# Where both runs did the same number of calls, call number i of one corresponds to call number i of the other. Causes
# that make some calls more expensive (a mesh that grows, solvers that converge) are then in both and are not noise.
# Otherwise the calls of each run by themselves show how much the time for one varies.


# Numbers of calls that differ by more than this share are not the same work.
SAME_WORK = 0.01
MOST_BLOCKS = 64


def pace(
    calls_a: FloatArray, seconds_a: FloatArray, calls_b: FloatArray, seconds_b: FloatArray
) -> tuple[Estimate, Estimate] | None:
    """Return the seconds of both runs, with the uncertainty of their pace; None for too few intervals.

    Args:
        calls_a: calls in each interval of one run in order of time, (n,).
        seconds_a: (n,).
        calls_b: the same of the other run, (m,).
        seconds_b: (m,).
    """
    some = [(calls > 0) | (seconds > 0) for calls, seconds in ((calls_a, seconds_a), (calls_b, seconds_b))]
    calls_a, seconds_a, calls_b, seconds_b = (
        calls_a[some[0]], seconds_a[some[0]], calls_b[some[1]], seconds_b[some[1]],
    )  # fmt: skip
    total = float(calls_a.sum()), float(calls_b.sum())
    if min(len(calls_a), len(calls_b)) < MIN_INTERVALS or min(total) <= 0:
        return None
    found = observed(calls_a, seconds_a), observed(calls_b, seconds_b)
    if found[0] is None or found[1] is None:
        return None
    if abs(total[0] - total[1]) <= SAME_WORK * max(total):
        paired = _paired(calls_a, seconds_a, calls_b, seconds_b)
        if paired is not None:
            return paired
    return found[0], found[1]


def _paired(
    calls_a: FloatArray, seconds_a: FloatArray, calls_b: FloatArray, seconds_b: FloatArray
) -> tuple[Estimate, Estimate] | None:
    """Return the seconds with the error of their ratio, half of its variance each."""
    blocks = min(len(calls_a), len(calls_b), MOST_BLOCKS)
    one, other = _in_blocks(calls_a, seconds_a, blocks), _in_blocks(calls_b, seconds_b, blocks)
    if not (one > 0).all():
        return None
    found = observed(one, other)
    if found is None:
        return None
    half, dof = found.variance / found.seconds**2 / 2, found.dof / 2  # of two halves: their sum has found.dof again
    totals = float(seconds_a.sum()), float(seconds_b.sum())
    return Estimate(totals[0], half * totals[0] ** 2, dof), Estimate(totals[1], half * totals[1] ** 2, dof)


def _in_blocks(calls: FloatArray, seconds: FloatArray, blocks: int) -> FloatArray:
    """Return the seconds of equal parts of the calls, (blocks,)."""
    done = np.concatenate([[0.0], np.cumsum(calls)])
    spent = np.concatenate([[0.0], np.cumsum(seconds)])
    # Time without calls belongs to the last of equal positions.
    last = np.append(np.diff(done) > 0, True)
    at = np.interp(np.linspace(0.0, done[-1], blocks + 1), done[last], spent[last])
    at[0], at[-1] = 0.0, spent[-1]
    return np.diff(at)


# Uncertainty of a number of seconds measured in one run, or in several.
#
# From one run: the intervals and episodes of a phase are observations of its pace, and ticks are counts. One run does
# not show what differs from run to run (another node, another placement, page colours); a relative scatter is assumed
# for that. From several runs of a side: their spread, whatever its reasons.


SURE = 10_000  # degrees of freedom of an exact count
# From this many intervals on, their slow variation determines the error. With fewer it is unreliable: of 95 % intervals
# for the difference of two runs of 8 intervals, both methods cover 98 % (neighbours correlated by 0.6: 96 and 93 %),
# but those of `_of_few` are half as wide.
MANY = 60


@dataclass(frozen=True)
class Estimate:
    """Seconds with their uncertainty. Independent estimates can be added.

    Attributes:
        seconds: the estimate.
        variance: of the seconds, s^2.
        dof: degrees of freedom of the variance.
    """

    seconds: float
    variance: float = 0.0
    dof: float = SURE

    def __add__(self, other: Estimate) -> Estimate:
        """Return the estimate of the sum (Welch and Satterthwaite)."""
        variance = self.variance + other.variance
        if variance <= 0:
            return Estimate(self.seconds + other.seconds)
        parts = (self.variance / variance) ** 2 / self.dof + (other.variance / variance) ** 2 / other.dof
        return Estimate(self.seconds + other.seconds, variance, 1.0 / parts)

    def uncertain_by(self, variance: float, dof: float = SURE) -> Estimate:
        """Return the estimate with a further, independent uncertainty."""
        return self + Estimate(0.0, variance, dof)


def observed(counts: FloatArray, seconds: FloatArray) -> Estimate | None:
    """Return the sum of seconds, with the uncertainty of the mean per count; None for too few intervals.

    Args:
        counts: amount of something known in each interval (calls, wall seconds, visits), above 0, (n,).
        seconds: (n,).
    """
    n, total = len(counts), float(seconds.sum())
    if n >= MANY:
        found = log_mean(counts, seconds)
        return None if found is None else Estimate(total, (found.error * total) ** 2, found.dof)
    if n < MIN_INTERVALS or total <= 0:
        return None
    variance, dof = _of_few(seconds - total / float(counts.sum()) * counts)
    return Estimate(total, variance, dof)


def _of_few(z: FloatArray) -> tuple[float, float]:
    """Return the variance of a sum, and its degrees of freedom, from the correlation of neighbours.

    Correlated values are worth fewer independent ones. The correlation in a sample is too small on average, by (1 + 4
    r) / n (Kendall 1954; Zwiers and von Storch, J. Climate 8, 1995); a negative one is treated as 0.
    """
    n = len(z)
    z = z - z.mean()
    squares = float(z @ z)
    if squares <= 0:
        return 0.0, float(n - 1)
    r = float(z[1:] @ z[:-1]) / squares
    r = min(max(r + (1 + 4 * r) / n, 0.0), 0.9)
    worth = max(n * (1 - r) / (1 + r), 2.0)
    variance = squares / max(n - n / worth, 1.0)
    return variance / worth * n**2, max(worth - 1, 1.0)


def counted(seconds: float, tick_s: float, dispersion: float) -> Estimate:
    """Return seconds with the uncertainty of a number of ticks, at least one."""
    ticks = max(seconds / tick_s, 1.0)
    return Estimate(seconds, dispersion * ticks * tick_s**2)


def compared(a: Sequence[Estimate], b: Sequence[Estimate], run_noise: float) -> Change | None:
    """Return the change from the seconds of a to those of b; None if one side has none.

    Args:
        a: one estimate for each run of a side, at least one.
        b: likewise.
        run_noise: relative standard deviation from run to run, assumed where each side has one run.
    """
    one, other = _means(a, b, run_noise)
    return None if one is None or other is None else change(one, other)


def _means(a: Sequence[Estimate], b: Sequence[Estimate], run_noise: float) -> tuple[LogMean | None, LogMean | None]:
    """Return the logarithm of the mean of each side. The relative scatter from run to run is that of both sides."""
    sides = [np.array([e.seconds for e in side]) for side in (a, b)]
    if any(not values.mean() > 0 for values in sides):
        return None, None
    runs = len(a) + len(b)
    squares = sum(float(((values / values.mean() - 1) ** 2).sum()) for values in sides)
    out = []
    for side, values in zip((a, b), sides, strict=True):
        within = _within(side)
        if runs == 2:
            found = within.uncertain_by((run_noise * within.seconds) ** 2)
            error, dof = np.sqrt(found.variance) / found.seconds, found.dof
        else:
            # At least the uncertainty of each run by itself: few runs may agree by chance.
            error = np.sqrt(squares / (runs - 2) / len(values))
            # Each side has its part of them, so that both together have runs - 2 again.
            dof = (runs - 2) * (runs - len(values)) / runs
            sampling = np.sqrt(within.variance) / within.seconds
            if sampling > error:
                error, dof = sampling, max(within.dof, dof)
        out.append(LogMean(float(np.log(values.mean())), float(error), dof, len(values)))
    return out[0], out[1]


def _within(side: Sequence[Estimate]) -> Estimate:
    """Return the mean of the runs of a side, with the uncertainty within each of them."""
    total = side[0]
    for one in side[1:]:
        total = total + one
    return Estimate(total.seconds / len(side), total.variance / len(side) ** 2, total.dof)
