"""What of an iteration's wall time its steps do not have, and where that is."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.phases.results import Step
from incprof.model.spent import SPENT
from incprof.report.words.names import SHORT, Names
from incprof.report.words.numbers import seconds
from incprof.report.words.spent import WORDS

# Less of an iteration than this is not worth a line: counting samples is not more exact.
WORTH = 0.1


def remainder(steps: Sequence[Step], names: Names = SHORT) -> str | None:
    """Say where the rest of an iteration is, if steps do not add up to it. steps: of one driver, those below left out.

    A thread is off the CPU while it waits, reads or writes, or while the CPU is another's; what it does on the CPU
    outside of the steps is the driver's own, or that of smaller steps, or of libraries that wait, read or write.
    """
    timed = [step for step in steps if step.period_s]
    if not timed or timed[0].cpu is None or not timed[0].period_s:
        return None
    period, on = timed[0].period_s, timed[0].cpu * timed[0].period_s
    inside = min(sum(step.mean_s * calls_per_iteration(step) for step in timed), on)
    parts = _off_the_cpu(period - on, timed[0], names) if period - on >= WORTH * period else []
    if on - inside >= WORTH * period:
        parts += _on_the_cpu(on - inside, timed[0], WORTH * period, bool(parts))
    return f"{seconds(inside)} of CPU time in steps, " + ", ".join(parts) if parts else None


def _off_the_cpu(off_s: float, step: Step, names: Names) -> list[str]:
    """Say how long the loop is off the CPU, and which functions that may wait were seen in it."""
    waits = step.rest.waits if step.rest is not None else ()
    seen = f" (it calls {', '.join(names(function) for function in waits)})" if waits else ""
    return [f"{seconds(off_s)} off the CPU{seen}"]


def _on_the_cpu(rest_s: float, step: Step, least_s: float, beside: bool) -> list[str]:
    """Say what the loop does on the CPU outside of its steps. beside: something was said of time off the CPU."""
    spent = step.rest.spent if step.rest is not None else {}
    large = {kind: spent[kind] for kind in SPENT[1:] if spent.get(kind, 0.0) >= least_s}
    out = [f"{seconds(value)} {WORDS[kind]}" for kind, value in large.items()]
    left = rest_s - sum(large.values())
    if left >= least_s:
        out.append(f"{seconds(left)} {'on it' if beside or out else 'of it'} elsewhere")
    return out


def calls_per_iteration(step: Step) -> float:
    """Return how often a step is called in an iteration, in the mean."""
    if step.every is not None and step.times is not None:
        return step.times / step.every
    return step.per_iteration or 1.0
