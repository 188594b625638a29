"""Rate of a heartbeat, its cost, and the rate factor that keeps it cheap.

Overhead is the time of a site's beats, as a share of the CPU time that the program itself uses (without the profiler),
both summed over all threads, in the phase of the run in which that share is largest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.thresholds import SITES, SiteOptions
from incprof.model import FloatArray, IntArray, IntervalProfile

MOST_SKIPPED = 1_000_000

# counted: calls of the function. estimated: calls of the line in the loop that calls most often. at most, at least:
# bounds of it (docs/use/sites.md).
Basis = Literal["counted", "estimated", "at most", "at least", "unknown"]


@dataclass(frozen=True)
class BeatCost:
    """Cost of a beat, in nanoseconds.

    Attributes:
        pair_ns: of a recorded pair of begin and end.
        skipped_ns: of a pair that the rate factor skips.
        python_ns: additional cost of a beat in Python, recorded or not.
    """

    pair_ns: float
    skipped_ns: float
    python_ns: float = 650.0

    def in_python(self) -> BeatCost:
        """Return the cost in Python, including the call into the library, which a rate factor does not save."""
        return BeatCost(self.pair_ns + self.python_ns, self.skipped_ns + self.python_ns, self.python_ns)


@dataclass(frozen=True)
class PhaseTime:
    """Seconds of each phase.

    Attributes:
        cpu_s: (k,) CPU time of the program itself in all threads.
        wall_s: (k,) wall time without the profiler.
    """

    cpu_s: FloatArray
    wall_s: FloatArray


@dataclass(frozen=True)
class Executions:
    """Executions of a site.

    Attributes:
        count: (k,) in each phase.
        basis: source of the number.
    """

    count: FloatArray
    basis: Basis


@dataclass(frozen=True)
class Rate:
    """Rate of a site's beats.

    Attributes:
        beats_hz: beats per second of its phases, before the factor; None if unknown.
        basis: source of the rate.
        factor: 1 beat in so many is recorded.
        overhead_pct: with the factor; None if the rate is unknown, or only a lower bound.
        too_often: no factor brings the overhead below the limit.
    """

    beats_hz: float | None
    basis: Basis
    factor: int
    overhead_pct: float | None
    too_often: bool = False


def phase_time(profile: IntervalProfile, labels: IntArray) -> PhaseTime:
    """Return the time of each phase. labels: (n,) phase ids from 0, -1 for none."""
    counters, k = profile.counters, int(labels.max(initial=-1)) + 1
    all_cpu = counters.cpu_s
    own = all_cpu - counters.collector_s - counters.handler_s - counters.profiler_s
    if not own.sum() > 0:  # gmon directories have no counters
        all_cpu = own = np.asarray(profile.self_s.sum(axis=1)).ravel()
    part = np.divide(own, all_cpu, out=np.ones_like(own), where=all_cpu > 0)
    wall = (profile.end_s - profile.start_s) * np.clip(part, 0.0, 1.0)
    use = labels >= 0
    cpu_s, wall_s = np.zeros(k), np.zeros(k)
    np.add.at(cpu_s, labels[use], own[use])
    np.add.at(wall_s, labels[use], wall[use])
    return PhaseTime(np.maximum(cpu_s, 0.0), wall_s)


def calls_by_phase(profile: IntervalProfile, labels: IntArray) -> FloatArray:
    """Return the calls of each function in each phase, (k, f); an inlined one gets those of functions called beside it.

    labels: (n,) phase ids from 0, -1 for none.
    """
    use = np.flatnonzero(labels >= 0)
    shape = (int(labels.max(initial=-1)) + 1, profile.n_intervals)
    gather = csr_array((np.ones(len(use)), (labels[use], use)), shape=shape)
    counted: FloatArray = (gather @ csr_array(profile.calls).astype(np.float64)).toarray()
    calls = counted.copy()
    for function, related in profile.inlined.beside.items() if profile.inlined is not None else ():
        calls[:, function] = counted[:, [function, *related]].max(axis=1)
    return calls


def choose_rate(
    runs: Executions, time: PhaseTime, phases: Sequence[int], cost: BeatCost, options: SiteOptions = SITES
) -> Rate:
    """Choose the smallest of 1, 2, 5, 10, 20, ... with which a site's beats cost less than `options.overhead_pct`.

    phases: those that the site stands for; it may run, and cost, in others as well.
    """
    if runs.basis == "unknown":
        return Rate(None, "unknown", 1, None)
    selected = list(phases)
    wall = float(time.wall_s[selected].sum())
    beats_hz = float(runs.count[selected].sum()) / wall if wall > 0 else 0.0
    if runs.basis == "at least" and not beats_hz > 0:
        return Rate(None, "unknown", 1, None)
    busy = time.cpu_s > 0
    worst = float((runs.count[busy] / time.cpu_s[busy]).max(initial=0.0))
    for factor in _factors():
        overhead = 100 * 1e-9 * worst * (cost.pair_ns / factor + cost.skipped_ns * (1 - 1 / factor))
        if overhead < options.overhead_pct:
            return Rate(beats_hz, runs.basis, factor, None if runs.basis == "at least" else overhead)
        if cost.pair_ns < options.recorded_cost * factor * cost.skipped_ns:
            break
    return Rate(beats_hz, runs.basis, factor, overhead, too_often=True)


def factors() -> list[int]:
    """Return all rate factors: 1, 2, 5, 10, 20, 50, ... up to MOST_SKIPPED."""
    return list(_factors())


def _factors() -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50, ... up to MOST_SKIPPED."""
    step = 1
    while step < MOST_SKIPPED:
        yield from (step, 2 * step, 5 * step)
        step *= 10
    yield MOST_SKIPPED


@dataclass(frozen=True)
class CallLine:
    """A line of a function that calls.

    Attributes:
        line: its number.
        calls: (k,) in each phase.
        inlined: whether the call is in code inlined there.
    """

    line: int
    calls: FloatArray
    inlined: bool = False


def iterations(calls: Sequence[CallLine], loops: Sequence[LoopLines], loop: int, entered: FloatArray) -> Executions:
    """Estimate the iterations of a loop in each phase.

    The line of the loop, outside of inner loops, that calls most often is used. Else inner loops, which run at least as
    often if each iteration reaches them, or calls in inlined code; else the calls of the function.

    Args:
        calls: the call lines of the function.
        loops: of the function, an outer one before its inner ones.
        loop: position of the loop.
        entered: (k,) calls of the function.
    """
    estimates: dict[int, Executions] = {}
    own, inner = _own_calls(calls, loops), defaultdict[int, list[Executions]](list)
    for i in range(len(loops) - 1, loop - 1, -1):
        if estimate := _estimate(own[i], inner[i]):
            estimates[i] = estimate
            if (parent := loops[i].parent) is not None:
                inner[parent].append(estimate)
    if loop in estimates:
        return estimates[loop]
    return Executions(entered, "at least" if entered.any() else "unknown")


def _own_calls(calls: Sequence[CallLine], loops: Sequence[LoopLines]) -> defaultdict[int, list[CallLine]]:
    """Assign each call line to the innermost loop around it."""
    ordered = sorted(calls, key=lambda call: call.line)
    lines = [call.line for call in ordered]
    owner: list[int | None] = [None] * len(calls)
    for i, loop in enumerate(loops):
        low, high = bisect_left(lines, loop.first), bisect_right(lines, loop.last)
        owner[low:high] = [i] * (high - low)
    result = defaultdict[int, list[CallLine]](list)
    for call, holder in zip(ordered, owner, strict=True):
        if holder is not None:
            result[holder].append(call)
    return result


def _estimate(own: Sequence[CallLine], inner: Sequence[Executions]) -> Executions | None:
    """Estimate a loop's iterations from its own call lines and the inner loops; None without any."""
    direct = [c.calls for c in own if not c.inlined]
    if direct:
        return Executions(max(direct, key=lambda calls: float(calls.sum())), "estimated")
    bounds = [runs.count for runs in inner] + [c.calls for c in own]
    return Executions(min(bounds, key=lambda calls: float(calls.sum())), "at most") if bounds else None


# Choose the loop of a function for a phase, from the lines at which the function was sampled in it.
#
# A heartbeat goes into the outermost loop that holds nearly all of the function's samples in the phase: the phase
# repeats its iterations. docs/use/sites.md explains the rule.


@dataclass(frozen=True)
class LoopLines:
    """A loop.

    Attributes:
        first: first line.
        last: last line.
        parent: position of the loop around it.
        busy: whether an iteration calls or loops.
        refusal: why no beat can go into it; None if one can.
    """

    first: int
    last: int
    parent: int | None
    busy: bool
    refusal: str | None = None


@dataclass(frozen=True)
class LoopChoice:
    """The loop chosen for a function.

    Attributes:
        loop: its position; None for the function's body.
        share: of the samples, 0..1.
        note: remark on the choice; for a body, why it is no loop. None without a remark.
    """

    loop: int | None
    share: float
    note: str | None = None


def choose_loop(
    lines: Mapping[int, float],
    loops: Sequence[LoopLines],
    other_phases: Mapping[int, float] | None = None,
    options: SiteOptions = SITES,
) -> LoopChoice:
    """Choose the loop of a function for a phase.

    Args:
        lines: samples (of any unit) by line of the function, in the phase; inlined code at the line that uses it.
        loops: of the function, an outer one before its inner ones.
        other_phases: samples by line in all other phases.
        options: thresholds.
    """
    total = sum(lines.values())
    if not total > 0:
        return LoopChoice(None, 0.0, "no line numbers of its samples")
    tally = Tally(lines)
    shares = [tally.of(loop) / total for loop in loops]
    most = max(shares, default=0.0)
    if most < options.largest_loop:
        reason = f"no loop holds half of its samples (at most {100 * most:.0f} %)" if loops else "it has no loop"
        return LoopChoice(None, most, reason)
    # Sums of floating-point numbers may differ in their last digits.
    enough = min(options.loop, most) - 1e-9
    candidates = [i for i, share in enumerate(shares) if share >= enough]
    fit = [i for i in candidates if loops[i].busy and loops[i].refusal is None]
    if not fit:
        return LoopChoice(None, most, _why_not([loops[i] for i in candidates]))
    best = _most_specific(fit, loops, tally, Tally(other_phases or {}), options.loop)
    if shares[best] >= options.loop - 1e-9:
        return LoopChoice(best, shares[best])
    return LoopChoice(best, shares[best], f"the largest of several loops: {100 * shares[best]:.0f} % of it")


class Tally:
    """Samples by line, with prefix sums for ranges."""

    def __init__(self, lines: Mapping[int, float]):
        self._lines = sorted(lines)
        self._before = [0.0, *accumulate(lines[line] for line in self._lines)]

    def of(self, loop: LoopLines) -> float:
        """Return the samples in the lines of a loop."""
        low, high = bisect_left(self._lines, loop.first), bisect_right(self._lines, loop.last)
        return self._before[max(low, high)] - self._before[low]


def _most_specific(
    fit: Sequence[int], loops: Sequence[LoopLines], lines: Tally, other_phases: Tally, nearly_all: float
) -> int:
    """Return the outermost loop that is specific to this phase; if none is, the outermost one."""
    for i in fit:
        own = lines.of(loops[i])
        if own >= nearly_all * (own + other_phases.of(loops[i])):
            return i
    return fit[0]


def _why_not(loops: Sequence[LoopLines]) -> str:
    """Return why none of the loops that hold the samples gets a beat."""
    refused = next((loop.refusal for loop in loops if loop.refusal), None)
    if refused:
        return f"its loop cannot hold a beat: {refused}"
    return "an iteration of its loop neither calls nor loops: too short for a beat"
