"""The frequency of a step, in words."""

from __future__ import annotations

from incprof.analysis.phase_result import Step
from incprof.report.words.calls import calls_words

# The mean number of calls is a whole number if it is this close to one.
WHOLE = 0.02


def how_often(step: Step) -> str:
    """Return ", in one of 8", ", 2 times", or nothing if a step runs once in each iteration, or call above it."""
    if step.per_call is not None:
        return _often(step.per_call)
    if step.period_s is None:
        return f", {calls_words(step.calls, step.estimated)}" if step.calls else ""
    if step.every is not None and step.times is not None:
        return _often(step.times / step.every)
    return _often(step.per_iteration) if step.per_iteration else ""


def _often(calls: float) -> str:
    """Return a mean number of calls in words."""
    times, inverse = (calls, False) if calls >= 1 else (1 / max(calls, 1e-9), True)
    whole = max(round(times), 1)
    about = "" if abs(times - whole) <= WHOLE * min(times, 1) else "about "
    if whole == 1 and not about:
        return ""
    if inverse and about and times < 2:
        return f", in {100 * calls:.0f} %"
    number = f"{whole}" if not about or times >= 10 else f"{times:.1f}"
    return f", in {about}one of {number}" if inverse else f", {about}{number} times"
