"""What of an iteration's wall time its steps do not have, and where that is."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.phases.results import Step
from incprof.report.words.numbers import seconds

# Less of an iteration than this is not worth a line: counting samples is not more exact.
WORTH = 0.1


def remainder(steps: Sequence[Step]) -> str | None:
    """Say where the rest of an iteration is, if steps do not add up to it. steps: of one driver, those below left out.

    A thread is off the CPU while it waits, reads or writes, or while the CPU is another's; what it does on the CPU
    outside of the steps is the driver's own, or that of smaller steps.
    """
    timed = [step for step in steps if step.period_s]
    if not timed or timed[0].cpu is None or not timed[0].period_s:
        return None
    period, on = timed[0].period_s, timed[0].cpu * timed[0].period_s
    inside = min(sum(step.mean_s * calls_per_iteration(step) for step in timed), on)
    parts = []
    if period - on >= WORTH * period:
        parts.append(f"{seconds(period - on)} off the CPU")
    if on - inside >= WORTH * period:
        parts.append(f"{seconds(on - inside)} on it elsewhere" if parts else f"{seconds(on - inside)} of it elsewhere")
    return f"{seconds(inside)} of CPU time in steps, " + ", ".join(parts) if parts else None


def calls_per_iteration(step: Step) -> float:
    """Return how often a step is called in an iteration, in the mean."""
    if step.every is not None and step.times is not None:
        return step.times / step.every
    return step.per_iteration or 1.0
