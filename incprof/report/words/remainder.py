"""The part of an iteration's wall time outside of its steps, and where it is spent."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.phase_result import Step
from incprof.model.time_use import SPENT
from incprof.report.words.display_names import SHORT, Names
from incprof.report.words.formatting import seconds
from incprof.report.words.time_kinds import WORDS

# A smaller part of an iteration gets no line: sampling is not more exact.
WORTH = 0.1


def remainder(steps: Sequence[Step], names: Names = SHORT) -> str | None:
    """Describe the rest of an iteration if steps do not add up to it.

    steps: of one driver, without nested ones. A thread is off the CPU while it waits, reads or writes, or while another
    thread has the CPU. Its CPU time outside of the steps is the driver's own, or that of smaller steps, or of libraries
    that wait, read or write.
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
    """Report how long the loop is off the CPU, and which functions that may wait were sampled in it."""
    waits = step.rest.waits if step.rest is not None else ()
    seen = f" (it calls {', '.join(names(function) for function in waits)})" if waits else ""
    return [f"{seconds(off_s)} off the CPU{seen}"]


def _on_the_cpu(rest_s: float, step: Step, least_s: float, beside: bool) -> list[str]:
    """Describe the loop's CPU time outside of its steps. beside: time off the CPU is reported as well."""
    spent = step.rest.spent if step.rest is not None else {}
    large = {kind: spent[kind] for kind in SPENT[1:] if spent.get(kind, 0.0) >= least_s}
    out = [f"{seconds(value)} {WORDS[kind]}" for kind, value in large.items()]
    left = rest_s - sum(large.values())
    if left >= least_s:
        out.append(f"{seconds(left)} {'on it' if beside or out else 'of it'} elsewhere")
    return out


def calls_per_iteration(step: Step) -> float:
    """Return the mean number of calls of a step per iteration."""
    if step.every is not None and step.times is not None:
        return step.times / step.every
    return step.per_iteration or 1.0
