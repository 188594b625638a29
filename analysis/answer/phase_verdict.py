"""Verdict on an answer of one phase: a steady run, or a run whose intervals have nothing in common."""

from __future__ import annotations

from typing import Literal

from incprof.analysis.phase_result import PhaseResult

# With fewer intervals that have enough samples, scatter cannot be judged.
ENOUGH = 4
# With a larger share of time in unresolved code, an answer of one phase means nothing.
NAMELESS = 0.5

Verdict = Literal["phases", "steady", "no_distinct_phases", "too_few_intervals", "nameless", "asked"]


def verdict(result: PhaseResult) -> Verdict:
    """Return the kind of answer that a result is.

    "phases": there are several. "steady": one phase, whose scatter sampling explains. "no_distinct_phases": one phase,
    as the intervals differ but do not separate into groups. "nameless": most of the time is in unresolved code, which
    cannot be told apart. "too_few_intervals": too few to decide. "asked": the user requested one.
    """
    if result.k > 1:
        return "phases"
    if result.rule == "user":
        return "asked"
    if result.few:
        return "too_few_intervals"
    if nameless_part(result) >= NAMELESS:
        return "nameless"
    return (
        "no_distinct_phases"
        if result.scatter is not None and result.scatter > result.options.phases.steady
        else "steady"
    )


def nameless_part(result: PhaseResult) -> float:
    """Return the share of the phases' time that is in unresolved code, 0..1."""
    tops = [top for phase in result.phases for top in phase.functions]
    whole = sum(phase.functions[0].self_s / phase.functions[0].share for phase in result.phases if phase.functions)
    return sum(top.self_s for top in tops if top.function.is_nameless) / whole if whole > 0 else 0.0
