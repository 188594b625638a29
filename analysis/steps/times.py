"""How the steps of a phase follow one another: period, order and duration, from exact counts and samples in time.

docs/steps-algorithm.md explains the whole. n intervals, m steps, s samples of the phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.options.steps import StepOptions
from incprof.analysis.phases.results import Step
from incprof.analysis.steps.calls import Recurrence, calls_of_steps, find_recurrence
from incprof.analysis.steps.first import first_of
from incprof.analysis.steps.order import Pairs, order_of
from incprof.analysis.steps.rare import place_of
from incprof.analysis.steps.samples import (
    Story,
    driving_threads,
    pairs_of,
    step_of_chains,
    story_of,
    visits_of,
)
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree


@dataclass(frozen=True)
class Driven:
    """The steps of a phase as chains. driver: theirs. members: the phase's intervals; use: its samples, ascending."""

    driver: int
    steps: list[int]
    members: IntArray
    use: IntArray


def with_times(
    profile: IntervalProfile, chains: CallTree, driven: Driven, steps: list[Step], options: StepOptions
) -> list[Step]:
    """Add to the steps of a phase what is known of their durations and of how they recur."""
    callers = _callers(chains, driven.driver)
    if not callers:
        return steps
    sampled = step_of_chains(chains, driven.steps)[chains.of_node[profile.samples.node[driven.use]]]
    threads = driving_threads(profile, driven.use, sampled, options.busy)
    story = story_of(profile, driven.use, sampled, threads)
    inside = story.step >= 0
    ticks = np.bincount(story.step[inside], weights=story.weight[inside], minlength=len(steps)).astype(np.float64)
    counts = calls_of_steps(profile, callers, [step.index for step in steps])
    driver = profile.functions[callers[0]]
    timed = [
        replace(_with_duration(step, float(used) / profile.metadata.rate_hz, int(calls)), driver=driver)
        for step, used, calls in zip(steps, ticks, counts[driven.members].sum(axis=0), strict=True)
    ]
    width = profile.end_s - profile.start_s
    lanes, share = max(len(threads), 1), ticks / max(ticks.sum(), 1.0)
    found = find_recurrence(counts, driven.members, width, share, lanes, options)
    if found is None:
        return timed
    pairs = pairs_of(story, counts[:, found.reference], profile.metadata.rate_hz, lanes, options.late)
    inlined = [i for i, step in enumerate(steps) if not step.calls and ticks[i] > 0]
    order = _order(found, ticks, pairs, inlined, options)
    places = _with_rare(order, found, ticks, story, options) if order else {}
    return [_with_recurrence(step, found, i, places.get(i)) for i, step in enumerate(timed)]


def _callers(chains: CallTree, driver: int) -> list[int]:
    """Return the functions of a chain and of those above it, from the innermost: what an inlined one is counted as."""
    out = []
    while driver:
        if chains.function[driver] >= 0:
            out.append(int(chains.function[driver]))
        driver = int(chains.parent[driver])
    return out


def _with_duration(step: Step, seconds: float, calls: int) -> Step:
    """Set calls and duration to those by the driver, on the threads that run it; other threads only help."""
    calls = calls or step.calls
    return replace(step, calls=calls, mean_s=seconds / max(calls, 1)) if seconds > 0 else step


def _with_recurrence(step: Step, found: Recurrence, number: int, place: int | None) -> Step:
    """Set what is known of how a step recurs."""
    every, times = int(found.every[number]), int(found.times[number])
    if not every and place is None:
        return step
    return replace(step, period_s=found.period_s, every=every or None, times=times or None, order=place)


def _order(
    found: Recurrence, ticks: FloatArray, pairs: Pairs, inlined: Sequence[int], options: StepOptions
) -> list[int]:
    """Return the steps that come once in an iteration, in their order; empty where it is not known.

    inlined: steps that are never called. Whether they come once in an iteration, their order shows.
    """
    once = np.flatnonzero((found.every == 1) & (found.times == 1) & (ticks > 0)).tolist()
    if found.reference not in once:
        return []
    others = (found.every == 0) | (found.times > 1)
    one_after_another = len(once) <= 2 and not others.any()
    those = [found.reference, *(i for i in [*once, *inlined] if i != found.reference)]
    number = np.full(len(ticks), -1)
    number[those] = np.arange(len(those))
    first, second = number[pairs.first], number[pairs.second]
    use = (first >= 0) & (second >= 0)
    # Rare steps are no part of the iterations that most pairs are in.
    common = 1 - ticks[found.every > 1].sum() / ticks.sum()
    ours = Pairs(first[use], second[use], pairs.lag[use] / common, pairs.error[use] / common)
    share = ticks[those] / ticks[those].sum()
    order = [those[i] for i in order_of(share, ours, found.ahead(found.lead)[:, those], options)]
    # One step and two are always in turn, but out of more they say nothing.
    if len(order) <= 2 and not one_after_another:
        return []
    start = first_of(order, found)
    return order[start:] + order[:start]


def _with_rare(
    order: Sequence[int], found: Recurrence, ticks: FloatArray, story: Story, options: StepOptions
) -> dict[int, int]:
    """Return the places of the steps in the iteration, from 1, with those of rare steps that can be placed."""
    share = ticks[list(order)]
    number = np.full(len(ticks) + 1, -1)
    number[list(order)] = np.arange(len(order))
    behind: dict[int, list[int]] = {}
    whole = set(order) >= set(np.flatnonzero((found.every == 1) & (found.times == 1)).tolist())
    for rare in np.flatnonzero(found.every > 1).tolist() if whole else []:
        before, gap_before, after, gap_after = visits_of(story, rare)
        lags = gap_before / found.period_s, gap_after / found.period_s
        place = place_of(share, number[before], lags[0], number[after], lags[1], options)
        if place is not None:
            behind.setdefault(place, []).append(rare)
    line: list[int] = []
    for place, step in enumerate(order, 1):
        line.append(step)
        # Of two rare steps at one place, it is not known which comes first.
        line += behind.get(place, []) if len(behind.get(place, [])) == 1 else []
    return {step: place for place, step in enumerate(line, 1)}
