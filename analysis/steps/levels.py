"""The tree of steps: what is called again and again, by whom, and what these call again and again in turn.

What is called once or twice is no step but a driver: its own loop is what matters, if that holds enough of the phase.
Two drivers that run one after another have a loop each.
"""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.steps import StepOptions
from incprof.analysis.steps.called import Called, PhaseCalls

MAX_STEPS = 8
MAX_LEVELS = 3


@dataclass(frozen=True)
class Branch:
    """A step, and the loops below it."""

    called: Called
    below: tuple[Loop, ...] = ()


@dataclass(frozen=True)
class Loop:
    """What a function calls again and again, largest first."""

    driver: Called
    steps: tuple[Branch, ...]

    @property
    def ticks(self) -> float:
        """Ticks of all its steps."""
        return sum(step.called.ticks for step in self.steps)


def loops_of(phase: PhaseCalls) -> tuple[Loop, ...]:
    """Return the loops of a phase, outermost first, the largest before others."""
    return _kept(phase, phase.root, _below(phase, phase.root, (0, 0)))


def _below(phase: PhaseCalls, driver: Called, above: tuple[int, int]) -> list[Loop]:
    """Return the loop of a driver, and those of the drivers that it calls. above: levels, and those that are full."""
    again, once = phase.again_and_once(driver)
    steps = tuple(_branch(phase, driver, called, above) for called in again[:MAX_STEPS])
    found = [Loop(driver, steps)] if steps else []
    for called in once:
        found += _below(phase, called, above)
    return found


def _branch(phase: PhaseCalls, driver: Called, called: Called, above: tuple[int, int]) -> Branch:
    """Return a step with the loops below it.

    A step that has nearly all of its driver's time says little: what is below it is looked at as if it were its driver.
    """
    full = called.ticks >= phase.options.holds * driver.ticks
    levels = above[0] + 1, above[1] + (not full)
    small = called.ticks < phase.options.looked_into * phase.root.ticks
    if small or levels[0] > MAX_LEVELS - 1 or levels[1] > MAX_LEVELS - 2 or _tiny(phase, called) or not called.calls:
        return Branch(called)
    if above[0] == 0 and (only := _only(phase, called)) is not None:
        # A function that does nothing but call the next one is no level of its own. Of several in a row, the first is
        # named and the last that has steps.
        inner = _branch(phase, driver, only, above)
        if _is_chain(inner, phase.options):
            (last,) = inner.below[0].steps
            inner = last if last.below else Branch(only)
        return Branch(called, (Loop(called, (inner,)),))
    return Branch(called, _kept(phase, called, _below(phase, called, levels)))


def _only(phase: PhaseCalls, called: Called) -> Called | None:
    """Return what a function passes on to; None where it does anything else."""
    again, _ = phase.again_and_once(called)
    return again[0] if len(again) == 1 and _passes_on(called, again[0], phase.options) else None


def _is_chain(branch: Branch, options: StepOptions) -> bool:
    """Tell whether a step only passes on to the one below it."""
    below = [step for loop in branch.below for step in loop.steps]
    return len(below) == 1 and _passes_on(branch.called, below[0].called, options)


def _passes_on(outer: Called, inner: Called, options: StepOptions) -> bool:
    """Tell whether a function does hardly more than to call another one, at most once."""
    return 0 < inner.calls <= outer.calls and inner.ticks >= options.wrapped * outer.ticks


def _kept(phase: PhaseCalls, above: Called, loops: list[Loop]) -> tuple[Loop, ...]:
    """Leave out loops that hold little of what is above them, and calls too short for a step where there are others.

    What is left of a run's set-up or output are such loops.
    """
    watched = [loop for loop in (_without_tiny(phase, loop, above) for loop in loops) if loop.steps]
    if above.function >= 0 or sum(loop.ticks for loop in watched) >= phase.options.apart * above.ticks:
        loops = watched
    most = max((loop.ticks for loop in loops), default=0.0)
    kept = [loop for loop in loops if loop.ticks >= min(most, phase.options.apart * above.ticks)]
    return tuple(sorted(kept, key=lambda loop: (-loop.ticks, loop.driver.nodes)))


def _without_tiny(phase: PhaseCalls, loop: Loop, above: Called) -> Loop:
    """Leave out steps whose calls are too short for a step.

    Within a step, also those that nobody counts: they may be shorter.
    """
    long = [step for step in loop.steps if not _tiny(phase, step.called)]
    if above.function >= 0:
        long = [step for step in long if step.called.calls]
    return Loop(loop.driver, tuple(long))


def _tiny(phase: PhaseCalls, called: Called) -> bool:
    """Tell whether a call is too short for a step. Where none was counted, it is not known, unless the code says so."""
    code = phase.counts.uncounted
    if code is not None and code.brief[list(called.nodes)].all():
        return True
    return called.ticks / phase.profile.metadata.rate_hz < phase.options.shortest_s * called.calls
