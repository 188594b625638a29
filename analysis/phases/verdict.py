"""What an answer of one phase means: a run that is steady, or a run whose intervals have nothing in common."""

from __future__ import annotations

from typing import Literal

from incprof.analysis.phases.results import PhaseResult

# Fewer intervals show no scatter that could be judged.
ENOUGH = 4

Verdict = Literal["phases", "steady", "no_distinct_phases", "too_few_intervals", "asked"]


def verdict(result: PhaseResult) -> Verdict:
    """Say what kind of answer this is.

    "phases": there are several. "steady": one phase, whose scatter sampling explains. "no_distinct_phases": one, since
    the intervals differ and nothing separates them into groups. "too_few_intervals": to tell. "asked": one was wanted.
    """
    if result.k > 1:
        return "phases"
    if result.rule == "user":
        return "asked"
    if len(result.labels) < ENOUGH:
        return "too_few_intervals"
    return (
        "no_distinct_phases"
        if result.scatter is not None and result.scatter > result.options.phases.steady
        else "steady"
    )
