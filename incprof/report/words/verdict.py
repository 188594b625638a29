"""How many phases a run has, in words, and what to try where it has one only."""

from __future__ import annotations

from incprof.analysis.phases.interval import MOST_HZ, rounded_up
from incprof.analysis.phases.results import PhaseResult, RunSummary
from incprof.analysis.phases.verdict import odd_intervals, verdict
from incprof.report.words.figures import count

# Counting samples puts this part of a steady phase's intervals beyond its limit by chance.
CHANCE = 0.01


def verdict_line(run: RunSummary, result: PhaseResult) -> str:
    """Return how many phases there are, and how much of the run is in none of them."""
    parts = [one_phase(run, result) or count(result.k, "phase")]
    if result.short:
        parts.append(f"{count(len(result.short), 'part')} too short for one")
    between = int((result.labels < 0).sum()) - sum(short.intervals for short in result.short)
    if between > 0:
        parts.append(f"{count(between, 'interval')} between phases")
    return ", ".join(parts)


def one_phase(run: RunSummary, result: PhaseResult) -> str | None:
    """Return what an answer of one phase means; None where there are several, or the user asked for one."""
    match verdict(result):
        case "steady":
            odd, intervals = odd_intervals(result), len(result.labels)
            if odd <= CHANCE * intervals:
                return "one steady phase"
            return f"one phase; {odd} of {intervals} intervals are unlike the rest{_try(_finer(run, result))}"
        case "no_distinct_phases":
            k = max(result.votes.get("silhouette") or 0, 2)
            return f"intervals vary a lot but form no clear groups{_try(f'--k {k}', _finer(run, result))}"
        case "too_few_intervals":
            return "one phase: too few intervals to tell whether there are more"
        case "nameless":
            return "one phase, of code without symbols"
        case _:
            return None


def _finer(run: RunSummary, result: PhaseResult) -> str:
    """Return the option of `record` that gives finer intervals with samples enough; nothing where there is none."""
    if not run.samples:
        return ""
    interval_s = rounded_up(result.options.phases.samples * run.duration_s / run.samples)
    if interval_s < run.interval_s:
        return f"record -i {interval_s:g}"
    return f"record -r {MOST_HZ:g}" if run.rate_hz < MOST_HZ else ""


def _try(*what: str) -> str:
    """Return what to try."""
    known = [one for one in what if one]
    return f" (try {' or '.join(known)})" if known else ""
