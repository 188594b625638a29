"""User-facing text about a heartbeat in two runs: for the table, for JSON, and for failed conditions."""

from __future__ import annotations

import math

from incprof.analysis.compare.conditions import Condition
from incprof.analysis.compare.log_mean import Change
from incprof.report.words import formatting as words
from incprof.report.words.formatting import signed
from incprof.systems.heartbeats.compare import BeatDiff


def percent(value: float | None) -> str:
    """Return a change in percent with its sign; `-` for None."""
    if value is None:
        return "-"
    return "from 0" if math.isinf(value) else f"{signed(value)} %"


def interval(diff: BeatDiff) -> str:
    """Return the confidence interval of the mean's change."""
    return interval_of(diff.ci)


def interval_of(ci: Change | None) -> str:
    """Return the confidence interval of a change in percent; `-` for None."""
    if ci is None:
        return "-"
    # Intervals estimated from few noisy intervals are wide: beyond a factor of 10 the exact value is meaningless.
    low, high = (signed(100 * (end - 1)) if end < 10 else f"x{end:.3g}" for end in (ci.low, ci.high))
    return f"{low} to {high} %" if ci.high < 10 else f"{low} % to {high}"


def label(diff: BeatDiff) -> str:
    """Return the label of a heartbeat: its name and id."""
    name = diff.pair.name
    return f"id {diff.pair.id}" if name is None else f"{words.printable(name)} (id {diff.pair.id})"


def broken_line(condition: Condition, diff: BeatDiff) -> str:
    """Return why a heartbeat fails a condition, with the evidence, in one line."""
    head = f"fails {condition.text.strip()!r}: {label(diff)}: "
    delta = diff.deltas[condition.metric]
    if diff.verdict == "gone":
        count = diff.deltas["count"].a or 0
        return head + f"the phase vanished: {count:.0f} beats in A, none in B"
    if delta.b is None:
        return head + f"{condition.metric} {value(condition.metric, delta.a)} in A, none in B: too few beats ended"
    by = percent(delta.pct) if condition.relative else _difference(condition.metric, delta.change or 0.0)
    both = f"{value(condition.metric, delta.a)} in A, {value(condition.metric, delta.b)} in B, {by}"
    return head + f"{condition.metric} {both}{_evidence(condition, diff)}"


def _difference(metric: str, number: float) -> str:
    """Return a change in the metric's own unit, with its sign."""
    text = value(metric, abs(number)) if metric != "busy" else f"{words.rate(abs(number))} points"
    return ("-" if number < 0 else "+") + text


def value(metric: str, number: float | None) -> str:
    """Return a value of a metric with its unit."""
    if number is None or metric not in ("count", "rate", "busy"):
        return words.seconds(number)
    return f"{number:.0f}" if metric == "count" else words.rate(number) + {"rate": " /s", "busy": " %"}[metric]


def _evidence(condition: Condition, diff: BeatDiff) -> str:
    """Return whether a change is significant, and why; empty for metrics other than the mean."""
    if condition.metric != "mean":
        return ""
    if diff.ci is None:
        return f" (too few intervals to tell it from noise: {diff.intervals[0]} and {diff.intervals[1]})"
    verdict = "within noise" if diff.verdict == "noise" else "beyond noise"
    return f" ({verdict}: 95 % interval {interval(diff)}, {diff.intervals[0]} and {diff.intervals[1]} intervals)"
