"""The number of phases of a run, in words, and what to try if it has only one."""

from __future__ import annotations

from incprof.analysis.phase_result import PhaseResult, verdict
from incprof.report.words.formatting import count


def verdict_line(result: PhaseResult) -> str:
    """Return the number of phases, and the share of the run in none of them."""
    parts = [one_phase(result) or count(result.k, "phase")]
    if result.short:
        parts.append(f"{count(len(result.short), 'part')} too short for one")
    return ", ".join(parts)


def one_phase(result: PhaseResult) -> str | None:
    """Explain an answer of one phase; None where there are several, or the user asked for one."""
    match verdict(result):
        case "steady":
            return "one steady phase"
        case "no_distinct_phases":
            k = max(result.votes.get("silhouette") or 0, 2)
            return f"one phase, which varies a lot but forms no clear groups (try --k {k})"
        case "too_few_intervals":
            return "one phase: too few samples to tell whether there are more"
        case "nameless":
            return "one phase, of code without symbols"
        case _:
            return None
