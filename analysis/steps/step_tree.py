"""The tree of steps: functions that are called repeatedly, their callers, and their own repeated callees.

A function that is called once or twice is no step but a driver: its own loop matters, if that holds enough of the
phase. Two drivers that run one after another have a loop each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.steps.called import Called, PhaseCalls
from incprof.analysis.steps.step_samples import SampleSequence, driving_threads, sequence_of
from incprof.analysis.thresholds import StepOptions
from incprof.model import BoolArray, FloatArray, IntArray

MAX_STEPS = 8
MAX_LEVELS = 3


@dataclass(frozen=True)
class Branch:
    """A step.

    Attributes:
        called: the function and its calls.
        below: loops below it.
    """

    called: Called
    below: tuple[Loop, ...] = ()


@dataclass(frozen=True)
class Loop:
    """A loop of a driver.

    Attributes:
        driver: the function with the loop.
        steps: functions that it calls repeatedly, largest first.
    """

    driver: Called
    steps: tuple[Branch, ...]

    @property
    def ticks(self) -> float:
        """Ticks of all its steps."""
        return sum(step.called.ticks for step in self.steps)


def loops_of(phase: PhaseCalls) -> tuple[Loop, ...]:
    """Return the loops of a phase, outermost first, larger ones before others."""
    return _kept(phase, phase.root, _below(phase, phase.root, (0, 0)))


def _below(phase: PhaseCalls, driver: Called, above: tuple[int, int]) -> list[Loop]:
    """Return the loop of a driver, and those of the drivers that it calls. above: number of levels, and full ones."""
    recurring, once = phase.recurring_and_single(driver)
    steps = tuple(_branch(phase, driver, called, above) for called in recurring[:MAX_STEPS])
    loops = [Loop(driver, steps)] if steps else []
    for called in once:
        loops += _below(phase, called, above)
    return loops


def _branch(phase: PhaseCalls, driver: Called, called: Called, above: tuple[int, int]) -> Branch:
    """Return a step with the loops below it.

    If a step has nearly all of its driver's time, the functions below it are examined as if the step were the driver.
    """
    full = called.ticks >= phase.options.holds * driver.ticks
    levels = above[0] + 1, above[1] + (not full)
    if levels[0] > MAX_LEVELS - 1 or levels[1] > MAX_LEVELS - 2 or _tiny(phase, called) or not called.calls:
        return Branch(called)
    if above[0] == 0 and (only := _only_callee(phase, called)) is not None:
        # A function that only calls the next one is no level of its own. Of several in a row, the first is kept, and
        # the last that has steps.
        inner = _branch(phase, driver, only, above)
        if _is_chain(inner, phase.options):
            (last,) = inner.below[0].steps
            inner = last if last.below else Branch(only)
        return Branch(called, (Loop(called, (inner,)),))
    return Branch(called, _kept(phase, called, _below(phase, called, levels)))


def _only_callee(phase: PhaseCalls, called: Called) -> Called | None:
    """Return the single function that a function passes on to; None if it does anything else."""
    recurring, _ = phase.recurring_and_single(called)
    return recurring[0] if len(recurring) == 1 and _passes_on(called, recurring[0], phase.options) else None


def _is_chain(branch: Branch, options: StepOptions) -> bool:
    """Return whether a step only passes on to the one below it."""
    below = [step for loop in branch.below for step in loop.steps]
    return len(below) == 1 and _passes_on(branch.called, below[0].called, options)


def _passes_on(outer: Called, inner: Called, options: StepOptions) -> bool:
    """Return whether a function does hardly more than call another one, at most once."""
    return 0 < inner.calls <= outer.calls and inner.ticks >= options.wrapped * outer.ticks


def _kept(phase: PhaseCalls, above: Called, loops: list[Loop]) -> tuple[Loop, ...]:
    """Drop loops with little of the time above them, and, if there are others, calls too short for a step.

    Remains of a run's set-up or output are such loops.
    """
    watched = [loop for loop in (_without_tiny(phase, loop, above) for loop in loops) if loop.steps]
    if above.function >= 0 or sum(loop.ticks for loop in watched) >= phase.options.apart * above.ticks:
        loops = watched
    most = max((loop.ticks for loop in loops), default=0.0)
    kept = [loop for loop in loops if loop.ticks >= min(most, phase.options.apart * above.ticks)]
    return tuple(sorted(kept, key=lambda loop: (-loop.ticks, loop.driver.nodes)))


def _without_tiny(phase: PhaseCalls, loop: Loop, above: Called) -> Loop:
    """Drop steps whose calls are too short for a step.

    Within a step, also drop those whose calls are not counted: they may be shorter.
    """
    long = [step for step in loop.steps if not _tiny(phase, step.called)]
    if above.function >= 0:
        long = [step for step in long if step.called.calls]
    return Loop(loop.driver, tuple(long))


def _tiny(phase: PhaseCalls, called: Called) -> bool:
    """Return whether a call is too short for a step; of calls that are not counted, only if the code shows it."""
    code = phase.counts.uncounted
    if code is not None and code.brief[list(called.nodes)].all():
        return True
    return called.ticks / phase.profile.metadata.rate_hz < phase.options.shortest_s * called.calls


# The threads that run a loop, and their samples. m steps, s samples of the phase.


@dataclass(frozen=True)
class Lanes:
    """The threads that run a loop.

    Attributes:
        count: number of threads.
        sequence: their samples.
        inside: which samples of the story are in the loop's driver.
        ticks: (m,) of the steps on these threads.
    """

    count: int
    sequence: SampleSequence
    inside: BoolArray
    ticks: FloatArray


def lanes_of(phase: PhaseCalls, driver: Called, sampled: IntArray, m: int) -> Lanes:
    """Return the threads that run a loop. sampled: (s,) the step of each sample."""
    threads = driving_threads(phase.profile, phase.use, sampled, phase.options.busy)
    inside = phase.inside(driver.nodes)
    # Steps from 0, -1 in the driver itself, -2 elsewhere.
    sequence = sequence_of(phase.profile, phase.use, np.where(inside, sampled, -2), threads, phase.interval)
    stepped = sequence.step >= 0
    ticks = np.bincount(sequence.step[stepped], weights=sequence.weight[stepped], minlength=m).astype(np.float64)
    return Lanes(max(len(threads), 1), sequence, sequence.step >= -1, ticks)
