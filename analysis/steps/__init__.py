"""Steps of a phase: a tree of functions that are called repeatedly, from call paths and counted calls.

A step may take milliseconds and leave no mark in the self time of intervals; its share of the phase's call paths shows
it. step_tree.py determines which functions are steps; their timing comes from exact counts and samples in time.
n intervals, m steps, s samples of the phase.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.phase_result import Rest, Step
from incprof.analysis.steps.called import CallCounts, Called, PhaseCalls
from incprof.analysis.steps.step_order import Recurrence, find_recurrence, places_of
from incprof.analysis.steps.step_samples import spans_of
from incprof.analysis.steps.step_tree import MAX_STEPS, Branch, Lanes, Loop, lanes_of, loops_of
from incprof.analysis.thresholds import STEPS, StepOptions
from incprof.analysis.uncounted import DenseWindows
from incprof.analysis.uncounted.loop_run import LoopPeriods
from incprof.analysis.uncounted.sampled_calls import uncounted_calls
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.time_use import SPENT, WORK, working


def steps_of(phase: PhaseCalls, loop: Loop, above: Called | None = None) -> list[Step]:
    """Return the steps of a loop with those below them. above: the step that the loop is part of."""
    sampled = phase.step_of([branch.called.nodes for branch in loop.steps])
    lanes = lanes_of(phase, loop.driver, sampled, len(loop.steps))
    steps = [_step(phase, loop, branch, float(t), above) for branch, t in zip(loop.steps, lanes.ticks, strict=True)]
    counts = np.stack(
        [np.zeros(phase.profile.n_intervals, dtype=np.int64) if b.called.times is None else b.called.times
         for b in loop.steps], axis=1,
    )  # fmt: skip
    share = lanes.ticks / max(float(lanes.ticks.sum()), 1.0)
    if above is None:
        driven = _per_interval(phase, lanes, lanes.inside)
        width = phase.profile.end_s - phase.profile.start_s
        # A step whose call takes long has not ended the loop that it is part of.
        besides = [driven - _per_interval(phase, lanes, lanes.sequence.step == i) for i in range(len(steps))]
        spans = [spans_of(c, phase.members, width, left) for c, left in zip(counts.T, besides, strict=True)]
        needed = phase.options.holds * float(driven.sum())
        usable = [float(driven[phase.members[span.covered]].sum()) >= needed > 0 for span in spans]
    else:
        spans, usable = [], [True] * len(steps)
    recurrence = find_recurrence(counts, phase.members, share, lanes.count, usable, phase.options)
    if recurrence is None:
        return steps
    if above is None:
        span_of_reference = spans[recurrence.reference]
        period = (
            span_of_reference.seconds * lanes.count / span_of_reference.calls
            if span_of_reference.error <= phase.options.error
            else None
        )
        cpu = _on_cpu(phase, lanes, span_of_reference.covered)
    else:
        period, cpu = _inner_period(phase, lanes, above, recurrence, counts), None
    if period is None:
        return steps
    places = places_of(phase, loop, lanes, counts, recurrence, period, above)
    timed = [_with_recurrence(step, recurrence, i, period, cpu, places.get(i)) for i, step in enumerate(steps)]
    if above is not None:
        return timed
    has_period = np.array([step.period_s is not None for step in timed])
    remainder = remainder_of(phase, lanes, span_of_reference.covered, period, has_period)
    return [replace(step, rest=remainder) if step.period_s is not None else step for step in timed]


def _step(phase: PhaseCalls, loop: Loop, branch: Branch, ticks: float, above: Called | None) -> Step:
    """Describe a step. ticks: on the threads that run the loop; other threads only help."""
    called, profile = branch.called, phase.profile
    function = profile.functions[called.function]
    driver = phase.callers(loop.driver)[0] if loop.driver.function >= 0 else _around(phase, loop)
    times = phase.counts.of(called.function) if called.estimated is None else phase.entries(called.nodes)
    active = int(np.count_nonzero(times[phase.members]))
    mean = (ticks or called.ticks) / profile.metadata.rate_hz / max(called.calls, 1)
    return Step(
        index=called.function,
        function=function,
        kind="loop" if 2 * active <= len(phase.members) and not _is_in_loop(phase, called) else "body",
        share=called.ticks / phase.root.ticks,
        calls=called.calls,
        mean_s=mean,
        file=function.file,
        line=function.line,
        driver=profile.functions[driver] if driver is not None else None,
        per_call=called.calls / above.calls if above is not None and _is_known(above) and _is_known(called) else None,
        steps=tuple(step for below in branch.below for step in steps_of(phase, below, called)),
        estimated=called.estimated,
    )


def _around(phase: PhaseCalls, loop: Loop) -> int | None:
    """Return the innermost function that all steps of a loop are below; None without one, as of threads."""
    stacks = [_above(phase.tree.parent, node) for branch in loop.steps for node in branch.called.nodes]
    common = set.intersection(*map(set, stacks))
    nodes = [node for node in stacks[0] if node in common and int(phase.tree.function[node]) >= 0]
    return int(phase.tree.function[nodes[0]]) if nodes else None


def _above(parent: IntArray, node: int) -> list[int]:
    """Return the nodes above a node, innermost first, without the root."""
    out = []
    while node := int(parent[node]):
        out.append(node)
    return out


def _is_in_loop(phase: PhaseCalls, called: Called) -> bool:
    """Return whether a function is called from a loop, an unknown number of times."""
    code = phase.counts.uncounted
    return code is not None and bool((code.in_loop & ~code.bounded)[list(called.nodes)].any())


def _is_known(called: Called) -> bool:
    """Return whether the calls of a function were counted, or hardly any was missed."""
    return called.calls > 0 and (called.estimated is None or called.estimated.is_known)


def _per_interval(phase: PhaseCalls, lanes: Lanes, which: BoolArray) -> FloatArray:
    """Return the ticks of some samples of the story in each interval, (n,)."""
    ticks = np.bincount(
        lanes.sequence.interval[which], weights=lanes.sequence.weight[which], minlength=phase.profile.n_intervals
    )
    return np.asarray(ticks, dtype=np.float64)


def _on_cpu(phase: PhaseCalls, lanes: Lanes, covered: BoolArray) -> float | None:
    """Return the share of the time in some intervals of the phase that the threads of a loop were on a CPU."""
    profile, members = phase.profile, phase.members[covered]
    wall = float((profile.end_s - profile.start_s)[members].sum())
    used = float(lanes.sequence.weight[np.isin(lanes.sequence.interval, members)].sum()) / profile.metadata.rate_hz
    return min(used / lanes.count / wall, 1.0) if wall > 0 else None


def _inner_period(
    phase: PhaseCalls, lanes: Lanes, above: Called, recurrence: Recurrence, counts: IntArray
) -> float | None:
    """Return the period of a loop within a step, from the step's share of the phase's time; None if unknown.

    A loop that runs for only a part of the step has no period there.
    """
    profile, options, reference = phase.profile, phase.options, recurrence.reference
    calls = int(counts[phase.members, reference].sum())
    related = float(lanes.ticks[recurrence.every > 0].sum())
    own, all_ticks = float(lanes.sequence.weight[lanes.inside].sum()), float(lanes.sequence.weight.sum())
    if calls != above.calls and related < options.holds * own:
        return None
    part = own / all_ticks
    error = ((1 - part) / own) ** 0.5 + 1 / calls
    wall = float((profile.end_s - profile.start_s)[phase.members].sum())
    return wall * part * lanes.count / calls if error <= options.error else None


def _with_recurrence(
    step: Step, recurrence: Recurrence, number: int, period: float, cpu: float | None, place: int | None
) -> Step:
    """Set the recurrence of a step."""
    every, times, mean = (
        int(recurrence.every[number]),
        int(recurrence.times[number]),
        float(recurrence.per_iteration[number]),
    )
    if not mean and place is None:
        return step
    return replace(
        step,
        period_s=period,
        every=every or None,
        times=times or None,
        order=place,
        per_iteration=mean or None,
        cpu=cpu,
    )


# Time of a loop's threads outside of its steps: waiting, input and output, other work.


# Number of functions that are returned.
MOST = 3


def remainder_of(phase: PhaseCalls, lanes: Lanes, covered: BoolArray, period_s: float, timed: BoolArray) -> Rest | None:
    """Return the time outside of the steps of a loop; None without samples.

    Args:
        phase: its samples.
        lanes: the threads that run the loop.
        covered: the intervals of the phase in which it runs.
        period_s: of an iteration, seconds.
        timed: (m,) whether a step comes with the period; others are part of the rest.
    """
    sequence, profile = lanes.sequence, phase.profile
    members = phase.members[covered]
    in_members = np.isin(sequence.interval, members)
    iterations = float((profile.end_s - profile.start_s)[members].sum()) / period_s
    if not in_members.any() or iterations <= 0:
        return None
    kind = phase.kind_of_time[sequence.sample]
    outside = in_members & ~np.append(timed, False)[np.maximum(sequence.step, -1)] & (kind >= 0)
    ticks = np.bincount(kind[outside], weights=sequence.weight[outside], minlength=len(SPENT))
    seconds = ticks / profile.metadata.rate_hz / lanes.count / iterations
    waits = in_members & (kind > WORK)
    function = profile.paths.function[profile.samples.node[sequence.sample[waits]]]
    resolved = function >= 0
    time = np.bincount(function[resolved], weights=sequence.weight[waits][resolved], minlength=len(profile.functions))
    largest = np.lexsort((np.arange(len(time)), -time))[:MOST]
    named = tuple(profile.functions[i] for i in largest.tolist() if time[i] > 0 and profile.functions[i].imported)
    return Rest({name: float(s) for name, s in zip(SPENT, seconds.tolist(), strict=True) if s > 0}, named)


def find_steps(profile: IntervalProfile, labels: IntArray, options: StepOptions = STEPS) -> list[tuple[Step, ...]]:
    """Return the steps of each phase, largest first; empty without call paths.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        options: thresholds.
    """
    phases = int(labels.max(initial=-1)) + 1
    if not len(profile.samples.time_s) or not phases:
        return [()] * phases
    tree, _ = profile.own_tree.without_recursion()
    samples = profile.samples
    # Threads of libraries that wait for work have no function of the program.
    is_idle = ~working(profile) | (tree.of_node[samples.node] == 0)
    label = np.where(is_idle, -1, labels[profile.interval_of_samples()])
    code = uncounted_calls(profile, tree)
    windows = None if code is None else DenseWindows.of(profile, tree)
    loop_periods = None if code is None else LoopPeriods(profile, tree)
    counts = CallCounts(profile, _relevant_functions(profile, tree, label, options), code, windows, loop_periods)
    out: list[tuple[Step, ...]] = []
    for phase in range(phases):
        members, use = np.flatnonzero(labels == phase), np.flatnonzero(label == phase)
        if not len(use):
            out.append(())
            continue
        calls = PhaseCalls(profile, tree, counts, members, use, options)
        steps = [step for loop in loops_of(calls) for step in steps_of(calls, loop)]
        out.append(tuple(sorted(steps, key=lambda step: -round(step.share, 9))[:MAX_STEPS]))
    return out


def _relevant_functions(profile: IntervalProfile, tree: CallTree, label: IntArray, options: StepOptions) -> BoolArray:
    """Return which functions may be steps of a phase, (f,). label: (s,) the phase of each sample of the run."""
    node, out = tree.of_node[profile.samples.node], np.zeros(len(profile.functions), dtype=np.bool_)
    called = tree.function >= 0
    for phase in range(int(label.max(initial=-1)) + 1):
        use = label == phase
        own = np.bincount(node[use], weights=profile.samples.weight[use], minlength=len(tree.parent))
        total = tree.inclusive(own.astype(np.float64))
        of = np.bincount(tree.function[called], weights=total[called], minlength=len(out))
        out |= (of > 0) & (of >= options.least * total[0])
    return out
