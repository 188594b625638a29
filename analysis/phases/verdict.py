"""What an answer of one phase means: a run that is steady, or a run whose intervals have nothing in common."""

from __future__ import annotations

from typing import Literal

from incprof.analysis.phases.results import PhaseResult

# Fewer intervals show no scatter that could be judged.
ENOUGH = 4
# With more of its time in code without names, an answer of one phase says nothing about the program.
NAMELESS = 0.5

Verdict = Literal["phases", "steady", "no_distinct_phases", "too_few_intervals", "nameless", "asked"]


def verdict(result: PhaseResult) -> Verdict:
    """Say what kind of answer this is.

    "phases": there are several. "steady": one phase, whose scatter sampling explains. "no_distinct_phases": one, since
    the intervals differ and nothing separates them into groups. "nameless": most of the time is in code without names,
    in which nothing is told apart. "too_few_intervals": to tell. "asked": one was wanted.
    """
    if result.k > 1:
        return "phases"
    if result.rule == "user":
        return "asked"
    if len(result.labels) < ENOUGH:
        return "too_few_intervals"
    if nameless_part(result) >= NAMELESS:
        return "nameless"
    return (
        "no_distinct_phases"
        if result.scatter is not None and result.scatter > result.options.phases.steady
        else "steady"
    )


def odd_intervals(result: PhaseResult) -> int:
    """Return how many intervals of a run of one phase lie farther from its mean than counting samples explains."""
    return next((score.misfits or 0 for score in result.scores if score.k == 1), 0)


def nameless_part(result: PhaseResult) -> float:
    """Return the part of the time of the phases that is in code without names, 0..1."""
    tops = [top for phase in result.phases for top in phase.functions]
    whole = sum(phase.functions[0].self_s / phase.functions[0].share for phase in result.phases if phase.functions)
    return sum(top.self_s for top in tops if top.function.is_nameless) / whole if whole > 0 else 0.0
