"""Build the phases that reports show from labels and chosen sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.features import WORKS
from incprof.analysis.phase_result import Counted, Counting, FunctionShare, Phase, RunSummary, Site
from incprof.analysis.sites.site_cover import Choice, number_heartbeats
from incprof.analysis.steps import find_steps
from incprof.analysis.thresholds import STEPS, StepOptions
from incprof.analysis.uncounted import SampledCalls, calls_from_samples
from incprof.model import FloatArray, Function, IntArray, IntervalProfile
from incprof.model.time_use import SPENT, WAITING, WORK, CallEstimate, cpu_seconds_by_kind

TOP_FUNCTIONS = 10


def top_functions(
    profile: IntervalProfile, members: IntArray, estimates: SampledCalls | None = None
) -> tuple[FunctionShare, ...]:
    """Return the functions with the most self time in some intervals, largest first.

    estimates: estimates of calls from samples, where calls were not counted.
    """
    estimate = estimates.of(members) if estimates is not None else _no_calls if profile.counted else None
    self_s = np.asarray(csr_array(profile.self_s)[members].sum(axis=0)).ravel()
    calls = np.asarray(csr_array(profile.calls)[members].sum(axis=0)).ravel()
    order = np.lexsort((np.arange(len(self_s)), -np.round(self_s, 9)))[:TOP_FUNCTIONS]
    total = float(self_s.sum())
    return tuple(
        FunctionShare(
            profile.functions[i],
            float(self_s[i]),
            float(self_s[i]) / total,
            int(calls[i]) if estimate is None or profile.counts_of[i] else estimate(i).calls,
            None if estimate is None or profile.counts_of[i] else estimate(i),
        )
        for i in order
        if self_s[i] > 0
    )


def _no_calls(_: int) -> CallEstimate:
    """Return no calls: for a library without counters in a program that has them."""
    return CallEstimate(0, 0.0)


def percent_of_run(wall: FloatArray, members: IntArray) -> float:
    """Return the percentage of the run's time (wall, seconds of each interval) in some intervals."""
    total = float(wall.sum())
    return 100.0 * float(wall[members].sum()) / total if total > 0 else 0.0


def describe_phases(
    profile: IntervalProfile,
    labels: IntArray,
    clusters: IntArray,
    sites: Sequence[Sequence[Choice]],
    off_cpu: int | None,
    options: StepOptions = STEPS,
) -> tuple[Phase, ...]:
    """Build the phases.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        clusters: (n,) ids before merging.
        sites: sites per phase.
        off_cpu: the phase in which the program waits, if there is one.
        options: thresholds.
    """
    heartbeats = number_heartbeats(sites)
    wall, given = profile.end_s - profile.start_s, given_s(profile)
    seconds_by_kind = cpu_seconds_by_kind(profile)
    off = off_cpu_s(profile, seconds_by_kind)
    steps = find_steps(profile, labels, options)
    estimates = calls_from_samples(profile)
    phases = []
    for phase, choices in enumerate(sites):
        members = np.flatnonzero(labels == phase)
        before, seconds = clusters[members], seconds_by_kind[members].sum(axis=0)
        part = percent_of_run(wall, members)
        phases.append(
            Phase(
                id=phase,
                intervals=len(members),
                app_pct=part,
                seconds=float(wall[members].sum()),
                functions=top_functions(profile, members, estimates=estimates),
                sites=tuple(_site(profile, c, heartbeats[c.function, c.kind], len(members), part) for c in choices),
                steps=() if phase == off_cpu else steps[phase],
                clusters=tuple(int(c) for c in np.unique(before[before >= 0])),
                off_cpu=phase == off_cpu,
                mostly=SPENT[int(mostly(seconds, given[members].sum()))],
                spent=dict(zip((*SPENT, "off_cpu"), (*seconds.tolist(), float(off[members].sum())), strict=True)),
            )
        )
    return tuple(phases)


def _site(profile: IntervalProfile, choice: Choice, heartbeat: int, intervals: int, part: float) -> Site:
    """Turn a choice into a site with percentages; its phase has `part` percent of the run."""
    function = profile.functions[choice.function]
    covered = choice.covered / intervals
    return Site(
        heartbeat=heartbeat,
        index=choice.function,
        function=function,
        kind=choice.kind,
        phase_pct=100.0 * covered,
        app_pct=part * covered,
        file=function.file,
        line=function.line,
    )


def summarise(profile: IntervalProfile, ranks: int, app: str | None = None, recorded: int = 0) -> RunSummary:
    """Return the head of a report: the process, and the extent of its recording.

    recorded: number of recorded intervals.
    """
    meta = profile.metadata
    samples = int(profile.counters.samples.sum())
    if not samples and not meta.has_waits:
        samples = int(np.rint(profile.self_s.sum() * meta.rate_hz))
    return RunSummary(
        app=app or meta.app,
        ranks=ranks,
        rank=meta.rank,
        intervals=profile.n_intervals,
        interval_s=meta.interval_s,
        duration_s=float(profile.end_s[-1]) if profile.n_intervals else 0.0,
        rate_hz=meta.rate_hz,
        samples=samples,
        overhead_pct=profile.overhead_pct,
        off_cpu_s=float(profile.off_cpu_s.sum()),
        reached_hz=_reached_hz(profile),
        pooled=meta.pooled,
        counting=counting(profile),
        counted=profile.counted,
        recorded=recorded,
        own_s=float(profile.counters.own_s.sum()),
        by_waits=meta.has_waits,
    )


def _reached_hz(profile: IntervalProfile) -> float | None:
    """Return samples per second of CPU time, without the collector's; None without samples or counters.

    A sample may stand for several ticks: all that were due when the kernel delivered the signal.
    """
    used_s = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    samples = int(profile.counters.samples.sum())
    return samples / used_s if samples and used_s > 0 else None


# The cost of counting calls in a run, and the functions that cause it.


# Functions to list: those that together have SHARE of the calls, but at most the first MOST.
SHARE, MOST = 0.8, 3


def counting(profile: IntervalProfile) -> Counting | None:
    """Return the cost of all calls; None if the cost of one was not recorded, or there are no calls."""
    call_s = profile.metadata.call_s
    calls = np.asarray(profile.calls.sum(axis=0), dtype=np.float64).ravel()
    total = float(calls.sum())
    program_s = program_seconds(profile)
    if call_s is None or total <= 0 or program_s <= 0:
        return None
    order = np.argsort(-calls, kind="stable")[:MOST]
    before = np.concatenate([[0.0], np.cumsum(calls[order])[:-1]])
    named = order[(before < SHARE * total) & (calls[order] > 0)]
    functions = tuple(Counted(profile.functions[i].name, int(calls[i]), float(calls[i]) / total) for i in named)
    return Counting(int(total), call_s, 100.0 * total * call_s / program_s, functions)


# A call and its return are two taken branches, of which processors take about one a cycle, at 6 GHz at most. Where a
# program mostly calls, counting may be estimated at all its CPU time.
CALL_S = 2 / 6e9


def program_seconds(profile: IntervalProfile) -> float:
    """Return the CPU time of the program itself, without the cost of recording; at least that of its counted calls."""
    counters = profile.counters
    left = float((counters.cpu_s - counters.collector_s - counters.handler_s - counters.profiler_s).sum())
    return max(left, float(profile.calls.sum()) * CALL_S)


# What intervals and phases mostly spend time on: work, MPI, the OpenMP runtime, input and output, or waiting.


# An interval is of a kind that has more than this share of its CPU time.
MOSTLY = 0.5


def given_s(profile: IntervalProfile) -> FloatArray:
    """Return the seconds of each interval, (n,); 0 where the first thread waited for a processor most of the time."""
    wall, delayed_s = profile.end_s - profile.start_s, profile.counters.delayed_s
    given: FloatArray = np.where(delayed_s > MOSTLY * wall, 0.0, wall) if len(delayed_s) else wall
    return given


def mostly(seconds: FloatArray, given_s: FloatArray) -> IntArray:
    """Return the kind of time that has most of some times, indices of SPENT, (...).

    Work unless another kind has most of the CPU time; waiting also where there is next to no CPU time.

    Args:
        seconds: (..., len(SPENT)) of CPU time.
        given_s: (...) wall-clock time of the same intervals, as given_s returns it.
    """
    total = np.asarray(seconds.sum(axis=-1))
    kind = np.argmax(seconds, axis=-1)
    most = np.take_along_axis(seconds, np.expand_dims(kind, -1), axis=-1)[..., 0]
    kind = np.where(most > MOSTLY * total, kind, WORK)
    return np.where(total < WORKS * np.asarray(given_s), WAITING, kind).astype(np.int64)


def off_cpu_s(profile: IntervalProfile, seconds: FloatArray) -> FloatArray:
    """Return the seconds of each interval, (n,), in which no thread can have been on a CPU. seconds: (n, kinds)."""
    off: FloatArray = np.maximum(profile.end_s - profile.start_s - seconds.sum(axis=1), 0.0)
    return off


# Functions whose calls are expensive to count, and the cost that remains once they are not counted.


# Target for the remaining cost of counting, percent of the program's CPU time: half of what `phases` reports.
LEFT_PCT = 1.0


@dataclass(frozen=True)
class HotFunction:
    """A function that is called often.

    Attributes:
        function: with file and line, where known.
        calls: in the run.
        seconds: cost of counting them.
        pct: the same, of all the program's CPU time.
    """

    function: Function
    calls: int
    seconds: float
    pct: float


@dataclass(frozen=True)
class HotCalls:
    """Functions that are worth excluding from counting, most calls first.

    Attributes:
        counting: cost of all calls.
        program_s: CPU time of the program without that cost.
        functions: the functions.
        left_pct: cost of counting all other functions, percent of program_s.
    """

    counting: Counting
    program_s: float
    functions: tuple[HotFunction, ...]
    left_pct: float


@dataclass(frozen=True)
class HotFile:
    """A file that holds such functions.

    Attributes:
        path: of the file.
        calls: of these functions.
        other_calls: of its other functions.
    """

    path: str
    calls: int
    other_calls: int


@dataclass(frozen=True)
class HotAnswer:
    """Functions to exclude from -pg.

    Attributes:
        app: name of the program.
        rank: the analysed one.
        hot: the functions, with their places where known.
        files: their files.
    """

    app: str
    rank: int
    hot: HotCalls
    files: tuple[HotFile, ...]


def hot_calls(profile: IntervalProfile, counting: Counting) -> HotCalls:
    """Return the fewest functions with most calls whose exclusion lowers the cost of counting to a percentage."""
    calls = np.asarray(profile.calls.sum(axis=0), dtype=np.float64).ravel()
    program_s = program_seconds(profile)
    functions: list[HotFunction] = []
    remaining_pct = counting.pct
    for index in np.argsort(-calls, kind="stable").tolist():
        if remaining_pct <= LEFT_PCT or not calls[index]:
            break
        seconds = float(calls[index]) * counting.call_s
        pct = 100.0 * seconds / program_s
        functions.append(HotFunction(profile.functions[index], int(calls[index]), seconds, pct))
        remaining_pct -= pct
    return HotCalls(counting, program_s, tuple(functions), max(remaining_pct, 0.0))
