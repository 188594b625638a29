"""What is said of a figure and its past, in the table, in JSON, and in lines of their own."""

from __future__ import annotations

from datetime import UTC, datetime

from incprof.analysis.beats.history import Assessment
from incprof.report.words import numbers as words


def change(assessment: Assessment) -> str:
    """Return how far a figure is from the past's median, in percent."""
    if assessment.past is None or assessment.value is None:
        return "-"
    return f"{round(100 * (assessment.value / assessment.past.median - 1), 1) + 0.0:+.1f} %"


def figure(metric: str, value: float | None) -> str:
    """Return a figure with its unit."""
    return words.seconds(value) if metric == "mean" or value is None else f"{words.rate(value)} /s"


def p_text(value: float | None) -> str:
    """Return a p-value."""
    return "-" if value is None else "<0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def label(assessment: Assessment) -> str:
    """Return how a heartbeat is called: by its name and id."""
    name = assessment.name
    return f"id {assessment.id}" if name is None else f"{words.printable(name)} (id {assessment.id})"


def poor_line(assessment: Assessment) -> str:
    """Return what is poor about a heartbeat, with the evidence, in one line."""
    past = assessment.past
    if past is None:
        return f"poor: {label(assessment)}: missing, but in all {assessment.better_runs} past runs"
    value, median = (figure(assessment.metric, number) for number in (assessment.value, past.median))
    return (
        f"poor: {label(assessment)}: {assessment.metric} {value}, {change(assessment)} from the median {median} of "
        f"{past.runs} past runs (spread {100 * past.spread:.1f} %): {assessment.deviations or 0:.1f} deviations, "
        f"p {p_text(assessment.p_adjusted)}, worse than {assessment.better_runs} of them"
    )


def when(unix_s: float) -> str:
    """Return a moment as date and time, UTC."""
    try:
        return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{unix_s:.0f} s since 1970"
