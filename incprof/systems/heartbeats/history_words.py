"""User-facing text about a metric and its past: for the table, for JSON, and for single lines."""

from __future__ import annotations

from datetime import UTC, datetime

from incprof.report.words import formatting as words
from incprof.systems.heartbeats.history import Assessment


def change(assessment: Assessment) -> str:
    """Return the difference of a metric from the past median, in percent."""
    if assessment.past is None or assessment.value is None:
        return "-"
    return f"{round(100 * (assessment.value / assessment.past.median - 1), 1) + 0.0:+.1f} %"


def figure(metric: str, value: float | None) -> str:
    """Return a value of a metric with its unit."""
    return words.seconds(value) if metric == "mean" or value is None else f"{words.rate(value)} /s"


def p_text(value: float | None) -> str:
    """Format a p-value."""
    return "-" if value is None else "<0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def label(assessment: Assessment) -> str:
    """Return the label of a heartbeat: its name and id."""
    name = assessment.name
    return f"id {assessment.id}" if name is None else f"{words.printable(name)} (id {assessment.id})"


def poor_line(assessment: Assessment) -> str:
    """Return why a heartbeat is poor, with the evidence, in one line."""
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
    """Format a time as date and time, UTC."""
    try:
        return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{unix_s:.0f} s since 1970"
