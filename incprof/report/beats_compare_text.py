"""Two runs' heartbeats for people: what was compared, a line for each heartbeat, and lines for broken conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.beatresults import BeatRun
from incprof.analysis.beats_compare import BeatDiff
from incprof.analysis.beats_gates import Condition
from incprof.report import beat_words as words

HEADS = (
    "ID", "Name", "Mean A", "Mean B", "Change", "95 % interval", "Verdict", "Count A", "Count B", "Rate", "Wall % A",
    "Wall % B",
)  # fmt: skip
NAME, VERDICT, GAP = 1, 6, 2
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
) -> None:
    """Write the comparison, about `width` columns wide.

    Args:
        runs: Path and figures of A, the baseline, and of B.
        notes: How the runs differ as such.
        diffs: Their heartbeats.
        out: Where to.
        width: Columns; names are cut to fit.
    """
    for letter, (path, run) in zip("AB", runs, strict=True):
        out.write(f"{letter}  {words.printable(path)}: {_head(run)}\n")
    out.writelines(f"   {words.printable(note)}\n" for note in notes)
    out.write("\n")
    if not diffs:
        out.write("no heartbeats\n")
        return
    out.writelines(line + "\n" for line in table(diffs, width))
    odd = [
        f"{label(diff)}: {words.printable(note)}" for diff in diffs for note in (*diff.pair.notes, *_rate_note(diff))
    ]
    if odd:
        out.write("\n" + "\n".join(dict.fromkeys(odd)) + "\n")


def _head(run: BeatRun) -> str:
    """Return what a run is, in one line."""
    parts = [words.printable(run.app), f"{run.ranks} rank" + "s" * (run.ranks != 1)]
    parts.append(f"{run.threads} thread" + "s" * (run.threads != 1))
    parts.append(f"{run.intervals} interval" + "s" * (run.intervals != 1) + f" of {run.interval_s:g} s")
    return ", ".join([*parts, words.elapsed(run.duration_s)])


def table(diffs: Sequence[BeatDiff], width: int) -> list[str]:
    """Return a line for each heartbeat under the heads."""
    rows = [HEADS, *(_cells(diff) for diff in diffs)]
    rooms = [max(words.cell_len(row[at]) for row in rows) for at in range(len(HEADS))]
    others = sum(rooms) - rooms[NAME] + GAP * (len(HEADS) - 1)
    rooms[NAME] = min(rooms[NAME], max(width - others, 16))
    lines = []
    for row in rows:
        cells = [
            words.padded(words.fitted(cell, room), room, right=at not in (NAME, VERDICT))
            for at, (cell, room) in enumerate(zip(row, rooms, strict=True))
        ]
        lines.append((" " * GAP).join(cells).rstrip())
    return lines


def _cells(diff: BeatDiff) -> tuple[str, ...]:
    """Return the cells of a heartbeat, in the order of HEADS."""
    mean, count, busy = (diff.deltas[metric] for metric in ("mean", "count", "busy"))
    return (
        str(diff.pair.id),
        words.printable(diff.pair.name or ""),
        words.seconds(mean.a),
        words.seconds(mean.b),
        percent(mean.pct),
        interval(diff),
        VERDICTS.get(diff.verdict, diff.verdict),
        "-" if diff.verdict == "new" else f"{count.a:.0f}",
        "-" if diff.verdict == "gone" else f"{count.b:.0f}",
        "-" if diff.verdict in ("gone", "new") else percent(diff.deltas["rate"].pct),
        "-" if diff.verdict == "new" else words.rate(busy.a or 0.0),
        "-" if diff.verdict == "gone" else words.rate(busy.b or 0.0),
    )


def percent(value: float | None) -> str:
    """Return a change in percent with its sign; `-` for None."""
    if value is None:
        return "-"
    return "from 0" if math.isinf(value) else f"{signed(value)} %"


def signed(value: float) -> str:
    """Return a number with its sign and one decimal; what rounds to nothing has a plus."""
    return f"{round(value, 1) + 0.0:+.1f}"


def interval(diff: BeatDiff) -> str:
    """Return the confidence interval of the mean's change."""
    if diff.ci is None:
        return "-"
    # An interval from few intervals with much noise reaches far: ten times as long is as good as any number.
    low, high = (signed(100 * (end - 1)) if end < 10 else f"x{end:.3g}" for end in (diff.ci.low, diff.ci.high))
    return f"{low} to {high} %" if diff.ci.high < 10 else f"{low} % to {high}"


def label(diff: BeatDiff) -> str:
    """Return how a heartbeat is called: by its name and id."""
    name = diff.pair.name
    return f"id {diff.pair.id}" if name is None else f"{words.printable(name)} (id {diff.pair.id})"


def _rate_note(diff: BeatDiff) -> list[str]:
    """Say that count and rate are estimates, where not every beat was recorded."""
    factors = [beat.rate_factor for beat in (diff.pair.a, diff.pair.b) if beat is not None]
    if max(factors) == 1:
        return []
    return [f"1 beat in {' and '.join(map(str, dict.fromkeys(factors)))} was recorded; count and rate are estimates"]


def broken_line(condition: Condition, diff: BeatDiff) -> str:
    """Return what a heartbeat did that the user asked to fail on, with the evidence, in one line."""
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
    """Return a change in a metric's own unit, with its sign."""
    text = value(metric, abs(number)) if metric != "busy" else f"{words.rate(abs(number))} points"
    return ("-" if number < 0 else "+") + text


def value(metric: str, number: float | None) -> str:
    """Return a figure with its unit."""
    if number is None or metric not in ("count", "rate", "busy"):
        return words.seconds(number)
    return f"{number:.0f}" if metric == "count" else words.rate(number) + {"rate": " /s", "busy": " %"}[metric]


def _evidence(condition: Condition, diff: BeatDiff) -> str:
    """Return what speaks for a change beyond noise, or against it; that is known of the mean only."""
    if condition.metric != "mean":
        return ""
    if diff.ci is None:
        return f" (too few intervals to tell it from noise: {diff.intervals[0]} and {diff.intervals[1]})"
    verdict = "within noise" if diff.verdict == "noise" else "beyond noise"
    return f" ({verdict}: 95 % interval {interval(diff)}, {diff.intervals[0]} and {diff.intervals[1]} intervals)"
