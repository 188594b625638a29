"""Build the phases that reports show from labels and chosen sites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.answer.call_estimates import CallsSeen, calls_seen
from incprof.analysis.answer.counting import counting
from incprof.analysis.answer.time_use import mostly, off_cpu_s
from incprof.analysis.options.step_thresholds import STEPS, StepOptions
from incprof.analysis.phase_result import FunctionShare, Phase, RunSummary, Site
from incprof.analysis.sites import Choice, number_heartbeats
from incprof.analysis.steps import find_steps
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.time_use import SPENT, spent_s
from incprof.model.visits import Visits

TOP_FUNCTIONS = 10


def top_functions(
    profile: IntervalProfile, members: IntArray, most: int = TOP_FUNCTIONS, seen: CallsSeen | None = None
) -> tuple[FunctionShare, ...]:
    """Return the functions with the most self time in some intervals, largest first.

    seen: estimates of calls from samples, where calls were not counted.
    """
    guess = seen.of(members) if seen is not None else _nothing if profile.counted else None
    self_s = np.asarray(csr_array(profile.self_s)[members].sum(axis=0)).ravel()
    calls = np.asarray(csr_array(profile.calls)[members].sum(axis=0)).ravel()
    order = np.lexsort((np.arange(len(self_s)), -np.round(self_s, 9)))[:most]
    total = float(self_s.sum())
    return tuple(
        FunctionShare(
            profile.functions[i],
            float(self_s[i]),
            float(self_s[i]) / total,
            int(calls[i]) if guess is None or profile.counts_of[i] else guess(i).calls,
            None if guess is None or profile.counts_of[i] else guess(i),
        )
        for i in order
        if self_s[i] > 0
    )


def _nothing(_: int) -> Visits:
    """Return no calls: for a library without counters in a program that has them."""
    return Visits(0, 0.0)


def percent_of_run(wall: FloatArray, members: IntArray) -> float:
    """Return the percentage of the run's time (wall, seconds of each interval) in some intervals."""
    whole = float(wall.sum())
    return 100.0 * float(wall[members].sum()) / whole if whole > 0 else 0.0


def describe_phases(
    profile: IntervalProfile,
    labels: IntArray,
    clusters: IntArray,
    chosen: Sequence[Sequence[Choice]],
    off_cpu: int | None,
    options: StepOptions = STEPS,
) -> tuple[Phase, ...]:
    """Build the phases.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        clusters: (n,) ids before merging.
        chosen: sites per phase.
        off_cpu: the phase in which the program waits, if there is one.
        options: thresholds.
    """
    heartbeats = number_heartbeats(chosen)
    wall = profile.end_s - profile.start_s
    spent = spent_s(profile)
    off = off_cpu_s(profile, spent)
    steps = find_steps(profile, labels, options)
    seen = calls_seen(profile)
    phases = []
    for phase, choices in enumerate(chosen):
        members = np.flatnonzero(labels == phase)
        before, seconds = clusters[members], spent[members].sum(axis=0)
        part = percent_of_run(wall, members)
        phases.append(
            Phase(
                id=phase,
                intervals=len(members),
                app_pct=part,
                seconds=float(wall[members].sum()),
                functions=top_functions(profile, members, seen=seen),
                sites=tuple(_site(profile, c, heartbeats[c.function, c.kind], len(members), part) for c in choices),
                steps=() if phase == off_cpu else steps[phase],
                clusters=tuple(int(c) for c in np.unique(before[before >= 0])),
                off_cpu=phase == off_cpu,
                mostly=SPENT[int(mostly(seconds, wall[members].sum()))],
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


def summarise(profile: IntervalProfile, ranks: int, app: str | None = None) -> RunSummary:
    """Return the head of a report: the process, and the extent of its recording."""
    meta = profile.metadata
    samples = int(profile.counters.samples.sum())
    if not samples:
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
    )


def _reached_hz(profile: IntervalProfile) -> float | None:
    """Return samples per second of CPU time, without the collector's; None without samples or counters.

    A sample may stand for several ticks: all that were due when the kernel delivered the signal.
    """
    used_s = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    samples = int(profile.counters.samples.sum())
    return samples / used_s if samples and used_s > 0 else None
