"""Two runs' heartbeats as text and as JSON, schema incprof.heartbeats-diff/1 (docs/use/heartbeats.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.compare import Condition
from incprof.analysis.compare.noise import LEVEL, Change
from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary
from incprof.model.section import Column, Table
from incprof.report.render.json import exact, fields, significant, write
from incprof.report.render.plain import plain_table
from incprof.report.words import formatting as words
from incprof.report.words.display_names import shorten_beat
from incprof.report.words.formatting import signed
from incprof.safe.printable import printable
from incprof.systems.heartbeats.compare import BeatDiff

SHOWN = 40
NOTABLE = ("slower", "faster", "gone", "new")
VERDICTS = {
    "noise": "within noise",
    "unsure": "too few intervals",
    "gone": "not in B",
    "new": "not in A",
}


def write_text(
    runs: tuple[tuple[str, BeatRun], tuple[str, BeatRun]],
    notes: Sequence[str],
    diffs: Sequence[BeatDiff],
    out: TextIO,
    *,
    width: int = 120,
    every: bool = False,
) -> None:
    """Write the comparison, about `width` columns wide.

    Args:
        runs: Path and facts of A, the baseline, and of B.
        notes: Differences between the runs as a whole.
        diffs: Their heartbeats.
        out: The output stream.
        width: Columns; names are truncated to fit.
        every: Show every heartbeat; else SHOWN of them.
    """
    for letter, (path, run) in zip("AB", runs, strict=True):
        out.write(f"{letter}  {printable(path)}: {_head(run)}\n")
    out.writelines(f"   {printable(note)}\n" for note in notes)
    out.write("\n")
    if not diffs:
        out.write("no heartbeats\n")
        return
    shown = list(diffs) if every else most_notable(diffs)
    out.writelines(line + "\n" for line in plain_table(beats_table(shown), width))
    if len(shown) < len(diffs):
        out.write(f"{_more(diffs, shown)}: --all, --id or --json\n")
    odd = [f"{label(diff)}: {printable(note)}" for diff in shown for note in (*diff.pair.notes, *_rate_note(diff))]
    if odd:
        out.write("\n" + "\n".join(dict.fromkeys(odd)) + "\n")


def _head(run: BeatRun) -> str:
    """Return a description of a run, in one line."""
    size = f"{words.count(run.ranks, 'rank')}, {words.count(run.threads, 'thread')}"
    intervals = f"{words.count(run.intervals, 'interval')} of {run.interval_s:g} s"
    return f"{printable(run.app)}, {size}, {intervals}, {words.elapsed(run.duration_s)}"


def most_notable(diffs: Sequence[BeatDiff]) -> list[BeatDiff]:
    """Return SHOWN heartbeats, by id: those with a notable verdict first, then those that take most time."""

    def rank(diff: BeatDiff) -> tuple[bool, float, int]:
        return (diff.verdict not in NOTABLE, -max(diff.deltas["busy"].a or 0, diff.deltas["busy"].b or 0), diff.pair.id)

    order = sorted(range(len(diffs)), key=lambda at: rank(diffs[at]))
    return [diffs[at] for at in sorted(order[:SHOWN])]


def _more(diffs: Sequence[BeatDiff], shown: Sequence[BeatDiff]) -> str:
    """Return the number of heartbeats not shown, and of those with a notable verdict."""
    parts = [f"{len(diffs) - len(shown)} more heartbeats"]
    for verdict in NOTABLE:
        number = sum(d.verdict == verdict for d in diffs) - sum(d.verdict == verdict for d in shown)
        if number:
            parts.append(f"{number} {VERDICTS.get(verdict, verdict)}")
    return ", ".join(parts)


def beats_table(diffs: Sequence[BeatDiff]) -> Table:
    """Return a row for each heartbeat."""

    def name(diff: BeatDiff, room: int | None = None) -> str:
        text = printable(diff.pair.name or "")
        return text if room is None else shorten_beat(text, room)

    columns = (
        Column("ID", lambda diff: diff.pair.id, "count"),
        Column("Name", name, fit=name),
        Column("Mean A", lambda diff: diff.deltas["mean"].a, "s"),
        Column("Mean B", lambda diff: diff.deltas["mean"].b, "s"),
        Column("Change", lambda diff: percent(diff.deltas["mean"].pct), "%"),
        Column("95 % interval", interval, "%"),
        Column("Verdict", lambda diff: VERDICTS.get(diff.verdict, diff.verdict)),
        Column("Count A", lambda diff: None if diff.verdict == "new" else f"{diff.deltas['count'].a:.0f}", "count"),
        Column("Count B", lambda diff: None if diff.verdict == "gone" else f"{diff.deltas['count'].b:.0f}", "count"),
        Column("Rate", lambda diff: None if diff.verdict in ("gone", "new") else percent(diff.deltas["rate"].pct), "%"),
        Column("Wall % A", lambda diff: None if diff.verdict == "new" else diff.deltas["busy"].a or 0.0, "number"),
        Column("Wall % B", lambda diff: None if diff.verdict == "gone" else diff.deltas["busy"].b or 0.0, "number"),
    )
    return Table(columns, diffs)


def _rate_note(diff: BeatDiff) -> list[str]:
    """Return a note that count and rate are estimates, if not every beat was recorded."""
    factors = [beat.rate_factor for beat in (diff.pair.a, diff.pair.b) if beat is not None]
    if max(factors) == 1:
        return []
    return [
        f"1 beat in {' and '.join(map(words.rate, dict.fromkeys(factors)))} was recorded; count and rate are estimates"
    ]


# Two runs' heartbeats as JSON, schema incprof.heartbeats-diff/1 (docs/use/heartbeats.md).


SCHEMA = "incprof.heartbeats-diff/1"
KEYS = {"mean": "mean_s", "min": "min_s", "max": "max_s", "std": "std_s", "p95": "p95_s", "count": "count",
        "rate": "rate_hz", "busy": "busy_pct"}  # fmt: skip


def write_json(
    runs: tuple[tuple[str, BeatRun], tuple[str, BeatRun]],
    notes: Sequence[str],
    diffs: Sequence[BeatDiff],
    broken: Sequence[tuple[Condition, BeatDiff]],
    warnings: Sequence[str],
    out: TextIO,
) -> None:
    """Write one JSON object and a newline."""
    found = {
        "schema": SCHEMA,
        "a": _run(*runs[0]),
        "b": _run(*runs[1]),
        "notes": list(notes),
        "warnings": list(warnings),
        "level": LEVEL,
        "heartbeats": [_diff(diff) for diff in diffs],
        "broken": [
            {"condition": condition.text, **fields(diff.pair, "id name"), "message": broken_line(condition, diff)}
            for condition, diff in broken
        ],
    }
    write(found, out)


def _run(path: str, run: BeatRun) -> dict[str, object]:
    """Return the facts about a run as a whole."""
    path = path.encode("utf-8", "replace").decode("utf-8")
    return {
        "path": path,
        **fields(run, "app ranks threads intervals interval_s", exact),
        **fields(run, "duration_s clean", significant),
    }


def _diff(diff: BeatDiff) -> dict[str, object]:
    """Return a heartbeat in both runs."""
    ci = diff.ci
    return {
        **fields(diff.pair, "id name"),
        "a": _beat(diff.pair.a),
        "b": _beat(diff.pair.b),
        **fields(diff, "verdict notes=pair.notes"),
        "changes": {
            KEYS[metric]: {key: significant(getattr(d, key)) for key in ("a", "b", "change", "pct")}
            for metric, d in diff.deltas.items()
        },
        "mean_pct_interval": None if ci is None else [significant(100 * (end - 1)) for end in (ci.low, ci.high)],
        "p_value": None if ci is None else significant(ci.p_value),
        **fields(diff, "p_adjusted intervals", significant),
    }


def _beat(beat: BeatSummary | None) -> dict[str, object] | None:
    """Return a heartbeat in one run; None if the run does not have it."""
    return None if beat is None else fields(beat, "id name count pulses open rate_factor", exact)


# User-facing text about a heartbeat in two runs: for the table, for JSON, and for failed conditions.


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
    return f"id {diff.pair.id}" if name is None else f"{printable(name)} (id {diff.pair.id})"


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
