"""What is said of a figure and its past, in the table, in JSON, and in lines of their own."""

from __future__ import annotations

from datetime import UTC, datetime

from incprof.analysis.beats.history import Judgement
from incprof.report.words import numbers as words


def change(judgement: Judgement) -> str:
    """Return how far a figure is from the past's median, in percent."""
    if judgement.past is None or judgement.value is None:
        return "-"
    return f"{round(100 * (judgement.value / judgement.past.median - 1), 1) + 0.0:+.1f} %"


def figure(metric: str, value: float | None) -> str:
    """Return a figure with its unit."""
    return words.seconds(value) if metric == "mean" or value is None else f"{words.rate(value)} /s"


def p_text(value: float | None) -> str:
    """Return a p-value."""
    return "-" if value is None else "<0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def label(judgement: Judgement) -> str:
    """Return how a heartbeat is called: by its name and id."""
    name = judgement.name
    return f"id {judgement.id}" if name is None else f"{words.printable(name)} (id {judgement.id})"


def poor_line(judgement: Judgement) -> str:
    """Return what is poor about a heartbeat, with the evidence, in one line."""
    past = judgement.past
    if past is None:
        return f"poor: {label(judgement)}: missing, but in all {judgement.better_runs} past runs"
    value, median = (figure(judgement.metric, number) for number in (judgement.value, past.median))
    return (
        f"poor: {label(judgement)}: {judgement.metric} {value}, {change(judgement)} from the median {median} of "
        f"{past.runs} past runs (spread {100 * past.spread:.1f} %): {judgement.deviations or 0:.1f} deviations, "
        f"p {p_text(judgement.p_adjusted)}, worse than {judgement.better_runs} of them"
    )


def when(unix_s: float) -> str:
    """Return a moment as date and time, UTC."""
    try:
        return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{unix_s:.0f} s since 1970"
