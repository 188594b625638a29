"""The rows of a comparison: the run, its phases with their steps, its functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.compare.noise import Estimate, adjusted, compared, counted, observed, pace, verdict
from incprof.analysis.diff.diff_result import Figure, PhaseRow, Row, Shares
from incprof.analysis.diff.match_phases import Group, Members, done_elsewhere, name_groups
from incprof.analysis.diff.measure import Measured
from incprof.analysis.phase_result import all_steps
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


# Leave out functions with a smaller share of both runs, and those beyond the first MOST.
LEAST = 0.002
MOST = 200
MOST_STEPS = 8
# A function that only one side runs in a phase is named if it has this share of it.
PART = 0.1
# Fewer samples than this may well be zero by chance.
SOME_TICKS = 10.0

AnyRow = TypeVar("AnyRow", bound=Row)


class ComparedRows:
    """Builds the rows of a comparison."""

    def __init__(
        self,
        names: Sequence[tuple[str, str]],
        runs: Sequence[Measured],
        groups: Sequence[Group],
        first: int,
        noise: float,
        cpu: bool,
    ):
        self.names, self.runs, self.groups, self.first, self.noise = names, runs, groups, first, noise
        self.cpu = cpu
        self.estimates = Estimates(runs, groups)
        self.cpu_s = [max(float(run.self_s.sum()), 1e-12) for run in runs]

    def run(self) -> Row:
        """Return the row of the whole run, with the uncertainty of its phases, but not of their boundaries."""
        found = []
        for at, run in enumerate(self.runs):
            total = Estimate(run.duration_s)
            for group in range(len(self.groups)):
                one = self.estimates.phase(group)[at]
                border = float(run.members.variance[list(self.groups[group].members[at])].sum())
                total = total.uncertain_by(max(one.variance - border, 0.0), one.dof)
            found.append(total)
        row = self.row("run", "whole run", None, found, [run.duration_s for run in self.runs], None)
        every = tuple((*range(run.result.k), -1) for run in self.runs)
        return replace(with_verdicts([row])[0], off_cpu_s=self._off_cpu_s(every))

    def phases(self) -> tuple[PhaseRow, ...]:
        """Return the rows of the phases, with their steps."""
        rows = self.phases_alone()
        steps = with_verdicts([step for at in range(len(rows)) for step in self._steps(at)])
        return tuple(replace(row, steps=tuple(s for s in steps if s.group == row.group)) for row in rows)

    def clocked(self) -> list[PhaseRow | None]:
        """Return the rows of the phases; None for waiting, which CPU time does not measure."""
        return [None if row.waits else row for row in self.phases_alone()]

    def phases_alone(self) -> list[PhaseRow]:
        """Return the rows of the phases without their steps."""
        names = name_groups(self.runs, self.groups)
        rows = []
        for at, (group, (name, behind)) in enumerate(zip(self.groups, names, strict=True)):
            found = self.estimates.phase(at)
            row = self.row("phase", name + behind, at, found, [run.duration_s for run in self.runs], None)
            a, b = any(group.members[: self.first]), any(group.members[self.first :])
            # CPU time does not measure waiting.
            waits = self._waits(group.members)
            idle = self.cpu and waits
            verdict = "same" if idle or (a and b) else "gone" if a else "new"
            rows.append(
                PhaseRow(
                    row.kind,
                    row.name,
                    at,
                    row.a,
                    row.b,
                    row.ci if a and b and not idle else None,
                    None,
                    verdict,
                    behind=behind,
                    members=group.members,
                    likeness=group.likeness,
                    share_error=self._share_error(found),
                    waits=waits,
                    off_cpu_s=self._off_cpu_s(group.members),
                    only=self._only(at) if a and b else ((), ()),
                    elsewhere=verdict in ("gone", "new") and not waits and done_elsewhere(self.runs, group, self.first),
                )
            )
        return with_verdicts(rows)

    def _only(self, group: int) -> tuple[Shares, Shares]:
        """Return the functions that only one of the sides runs in a phase: A, then B."""
        self_s = self._by_side([run.self_s for run in self.runs], group)
        time_s = self._by_side([run.time_s for run in self.runs], group)
        whole = [max(float(part.sum()), 1e-12) for part in self_s]
        tick = max(run.tick_s for run in self.runs)
        found = list[Shares]()
        for one, other in ((0, 1), (1, 0)):
            share = self_s[one] / whole[one]
            absent = (time_s[other] < LEAST * whole[other]) & (share * whole[other] > SOME_TICKS * tick)
            only = np.flatnonzero((share >= PART) & absent)
            only = only[np.lexsort((only, -share[only]))]
            found.append(tuple(("".join(self.names[at]), float(share[at])) for at in only.tolist()))
        return found[0], found[1]

    def _by_side(self, tables: Sequence[csr_array], group: int) -> list[FloatArray]:
        """Return the seconds of each function in the intervals of a phase, of A and of B, (m,) each."""
        spent = [
            np.asarray(table[run.intervals(phases)].sum(axis=0), dtype=np.float64).ravel()
            for table, run, phases in zip(tables, self.runs, self.groups[group].members, strict=True)
        ]
        return [np.sum(part, axis=0) for part in (spent[: self.first], spent[self.first :])]

    def _off_cpu_s(self, members: Members) -> tuple[float, float] | None:
        """Return the wall time off the CPU in some phases of each side, a mean of its runs."""
        if self.cpu:
            return None
        found = [float((run.off_cpu_s * run.weight(p)).sum()) for run, p in zip(self.runs, members, strict=True)]
        return max(float(np.mean(found[: self.first])), 0.0), max(float(np.mean(found[self.first :])), 0.0)

    def _waits(self, members: Members) -> bool:
        """Return whether a phase is one of waiting, in all runs that have it."""
        return all(r.result.phases[p].off_cpu for r, ps in zip(self.runs, members, strict=True) for p in ps)

    def functions(self) -> tuple[tuple[Row, ...], int]:
        """Return the rows of functions, largest change first, and the number of those left out."""
        total = np.stack([np.asarray(run.self_s.sum(axis=0)).ravel() for run in self.runs])
        share = (total / np.array(self.cpu_s)[:, None]).max(axis=0)
        large = np.flatnonzero(share >= LEAST)
        large = large[np.lexsort((large, -share[large]))][:MOST]
        tables = [run.self_s for run in self.runs]
        rows = []
        for function in large.tolist():
            found = self.estimates.function(tables, function)
            where = self._changed_most(function)
            row = self.row(
                "function", "".join(self.names[function]), where, found, self.cpu_s, self._calls(function, None)
            )
            rows.append(self._without_one_side(replace(row, behind=self.names[function][1])))
        rows = with_verdicts(rows)
        rows.sort(key=lambda row: (row.verdict == "same", -round(abs(row.change_s), 9), row.name))
        return tuple(rows), int((share > 0).sum()) - len(rows)

    def _steps(self, group: int) -> list[Row]:
        """Return the steps of a phase: those of any run, measured in all."""
        members = self.groups[group].members
        known = {
            int(run.place[step.index]): 0
            for run, phases in zip(self.runs, members, strict=True)
            for phase in phases
            for step in all_steps(run.result.phases[phase].steps)
        }
        if any(run.stack_s is None for run in self.runs) or not all(
            (any(members[: self.first]), any(members[self.first :]))
        ):
            return []
        tables = [run.time_s for run in self.runs]
        base = [
            float((np.asarray(run.self_s.sum(axis=1)).ravel() * np.maximum(run.weight(p), 0.0)).sum())
            for run, p in zip(self.runs, members, strict=True)
        ]
        rows = []
        for function in sorted(known):
            found = self.estimates.function(tables, function, group)
            row = self.row("step", "".join(self.names[function]), group, found, base, self._calls(function, group))
            rows.append(self._without_one_side(replace(row, behind=self.names[function][1])))
        rows.sort(key=lambda row: (-round(max(row.a.share, row.b.share), 9), row.name))
        return rows[:MOST_STEPS]

    def _calls(self, function: int, group: int | None) -> list[float]:
        """Return the calls of a function in each run."""
        out = []
        for at, run in enumerate(self.runs):
            calls = run.column(run.calls, function)
            if group is not None:
                calls = run.within(calls, self.groups[group].members[at])
            out.append(float(calls.sum()))
        return out

    def _changed_most(self, function: int) -> int | None:
        """Return the phase in which a function's time differs most."""
        spent = [run.column(run.self_s, function) for run in self.runs]
        differs = []
        for group in self.groups:
            each = [float(r.within(s, p).sum()) for s, r, p in zip(spent, self.runs, group.members, strict=True)]
            differs.append(abs(np.mean(each[self.first :]) - np.mean(each[: self.first])))
        return int(np.argmax(differs)) if max(differs, default=0.0) > 0 else None

    def row(
        self, kind: str, name: str, group: int | None, found: list[Estimate], whole: Sequence[float],
        calls: list[float] | None, noise: float | None = None,
    ) -> Row:  # fmt: skip
        """Return a row without a verdict. noise: from run to run, if not the usual one."""
        cut = self.first
        a, b = (
            _figure([e.value for e in found[part]], whole[part], calls[part] if calls is not None else None)
            for part in (slice(0, cut), slice(cut, None))
        )
        return Row(kind, name, group, a, b, compared(found[:cut], found[cut:], self.noise if noise is None else noise))

    def _without_one_side(self, row: Row) -> Row:
        """Return a row marked as such if only one side has it, or if only one side has samples of it."""
        tick = max(run.tick_s for run in self.runs)
        if row.ci is not None or max(row.a.seconds, row.b.seconds) <= SOME_TICKS * tick:
            return row
        if row.a.calls and row.b.calls:
            return replace(row, verdict="faster" if row.a.seconds > 0 else "slower")
        return replace(row, verdict="gone" if row.a.seconds > 0 else "new")

    def _share_error(self, found: Sequence[Estimate]) -> float:
        """Return the standard error of the difference of a phase's shares of the run."""
        seconds, whole = np.array([e.value for e in found]), np.array([run.duration_s for run in self.runs])
        share, cut = np.clip(seconds / whole, 0.0, 1.0), self.first
        if len(found) > 2:
            squares = sum(float(((part - part.mean()) ** 2).sum()) for part in (share[:cut], share[cut:]))
            return math.sqrt(squares / (len(found) - 2) * (1 / cut + 1 / (len(found) - cut)))
        relative = np.array([e.variance for e in found]) / np.maximum(seconds, 1e-12) ** 2 + self.noise**2
        return math.sqrt(float(((share * (1 - share)) ** 2 * relative).sum()))


def _figure(seconds: Sequence[float], whole: Sequence[float], calls: Sequence[float] | None) -> Figure:
    """Return the values of a side; the mean of its runs."""
    shares: FloatArray = np.array([s / w if w > 0 else 0.0 for s, w in zip(seconds, whole, strict=True)])
    return Figure(
        float(np.mean(seconds)), float(shares.mean()), None if calls is None else float(np.mean(calls)), tuple(seconds)
    )


def with_verdicts(rows: Sequence[AnyRow]) -> list[AnyRow]:
    """Determine which rows of a kind changed by more than noise, adjusted for their number."""
    p_values = adjusted([None if row.ci is None else row.ci.p_value for row in rows])
    return [
        row if p is None else replace(row, p_adjusted=p, verdict=verdict(p, row.change_s, "same"))
        for row, p in zip(rows, p_values, strict=True)
    ]
