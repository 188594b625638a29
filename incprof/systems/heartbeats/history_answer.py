"""A run compared with its application's history as text and as JSON, incprof.heartbeats-history/1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TextIO

from incprof.analysis.compare.noise import PastRuns
from incprof.model.section import Column, Table, unseen
from incprof.report.render.json import exact, fields, json_rows, significant, write
from incprof.report.render.plain import plain_table
from incprof.report.words import formatting as words
from incprof.report.words.display_names import shorten_beat
from incprof.report.words.formatting import count
from incprof.safe.printable import printable
from incprof.systems.heartbeats.history import ALARM, MIN_PAST, Assessment, History, Slow

SHOWN = 80
SEGMENTS = 5


def write_text(history: History, out: TextIO, *, width: int = 120, every: bool = False) -> None:
    """Write the result, about `width` columns wide; `every` metric, or SHOWN of them and all poor ones."""
    run = history.run
    parts = [
        printable(run.app),
        count(run.ranks, "rank"),
        f"{count(history.threads, 'thread')} at a time",
    ]
    out.write(", ".join([*parts, words.elapsed(run.duration_s), f"started {when(history.start_unix_s)}"]) + "\n")
    out.writelines(line + "\n" for line in _about(history))
    out.write("\n" + verdict(history) + "\n")
    shown = list(history.assessments) if every else most_notable(history.assessments)
    if shown:
        out.write("\n")
        out.writelines(line + "\n" for line in plain_table(metrics_table(shown), width))
    if len(shown) < len(history.assessments):
        out.write(f"{len(history.assessments) - len(shown)} more figures, none of them poor: --all or --json\n")
    notable = [line for slow in history.slow if slow.notable for line in slow_lines(slow)]
    if notable:
        out.write("\nSlower than 99 % of the past's intervals (1 in 100 is expected):\n")
        out.writelines(line + "\n" for line in notable)


def _about(history: History) -> list[str]:
    """Return a description of the past runs used."""
    path, n = printable(history.path), len(history.past_starts_unix_s)
    done = {"added": f"added to {path}", "updated": f"brought up to date in {path}", "known": f"already in {path}"}
    lines = [done[history.how] + (f", {count(history.forgotten, 'old run')} forgotten" if history.forgotten else "")]
    if n:
        span = f", {when(history.past_starts_unix_s[0])} to {when(history.past_starts_unix_s[-1])}"
        lines.append(f"{count(n, 'past run')} with as many ranks and about as many threads{span}")
    if history.other_threads:
        lines.append(f"{count(history.other_threads, 'past run')} with other numbers of threads left out")
    if history.other_argv:
        lines.append(f"{history.other_argv} of them had other arguments: if those change the work, keep another file")
    return lines


def verdict(history: History) -> str:
    """Return the verdict on the run as a whole."""
    if not history.enough:
        return f"too few past runs to judge by: {len(history.past_starts_unix_s)}, at least {MIN_PAST} are needed"
    names = list(dict.fromkeys(label(assessment) for assessment in history.poor))
    if names:
        return f"POOR: {', '.join(names[:5])}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    good = any(assessment.verdict == "good" for assessment in history.assessments)
    return "better than usual" if good else "as usual"


def most_notable(assessments: Sequence[Assessment]) -> list[Assessment]:
    """Return the metrics to show, in their order: all poor ones, and the most unusual of the others."""
    order = sorted(
        range(len(assessments)),
        key=lambda at: (
            assessments[at].verdict not in ("poor", "missing"), -abs(assessments[at].deviations or 0), at,
        ),
    )  # fmt: skip
    poor = sum(assessment.verdict in ("poor", "missing") for assessment in assessments)
    return [assessments[at] for at in sorted(order[: max(SHOWN, poor)])]


def metrics_table(assessments: Sequence[Assessment]) -> Table:
    """Return a row for each metric, for text and for JSON."""

    def name(assessment: Assessment, room: int | None = None) -> str:
        text = printable(assessment.name or "")
        return text if room is None else shorten_beat(text, room)

    def of_past(text: Callable[[Assessment, PastRuns], str]) -> Callable[[Assessment], str | None]:
        return lambda one: None if one.past is None or one.value is None else text(one, one.past)

    columns = (
        Column("ID", lambda one: one.id, "count", key="id"),
        Column("Name", name, fit=name),
        Column("Figure", lambda one: "none" if one.verdict == "missing" else one.metric),
        Column("This run", lambda one: None if one.verdict == "missing" else figure(one.metric, one.value), "s"),
        Column("Past median", of_past(lambda one, past: figure(one.metric, past.median)), "s"),
        Column("Spread", of_past(lambda one, past: f"{100 * past.spread:.1f} %"), "%"),
        Column("Change", of_past(lambda one, past: change(one)), "%"),
        Column("Deviations", of_past(lambda one, past: f"{one.deviations or 0:+.1f}"), "number"),
        Column("p", of_past(lambda one, past: p_text(one.p_adjusted)), "number"),
        Column("Worse than", of_past(lambda one, past: f"{one.better_runs} of {past.runs}"), "count"),
        Column("Verdict", _verdict),
        *unseen("name metric value"),
        Column(None, lambda one: None if one.past is None else _past(one.past), key="past"),
        *unseen("deviations p_value p_adjusted"),
        Column(None, lambda one: one.better_runs, key="worse_than"),
        *unseen("verdict"),
    )
    return Table(columns, assessments)


def _verdict(assessment: Assessment) -> str:
    """Return the verdict on a metric, or the reason why there is none."""
    if assessment.verdict == "missing":
        return f"missing, in all {assessment.better_runs} past runs"
    if assessment.past is None or assessment.value is None:
        return "no past run has it"
    return f"too few past runs ({assessment.past.runs})" if assessment.verdict == "few" else assessment.verdict


def slow_lines(slow: Slow) -> list[str]:
    """Return the longest slow segments of a heartbeat, in order of time."""
    name = f"id {slow.id}" if slow.name is None else f"{printable(slow.name)} (id {slow.id})"
    lines = [f"  {name}: {slow.slow} of {slow.intervals} intervals above {words.seconds(slow.limit_s)}"]
    longest = sorted(slow.segments, key=lambda s: (-s.intervals, s.start_s))[:SEGMENTS]
    for segment in sorted(longest, key=lambda s: s.start_s):
        what = f"{count(segment.intervals, 'interval')}, mean {words.seconds(segment.mean_s)}"
        lines.append(f"    {round(segment.start_s, 3):.8g} to {round(segment.end_s, 3):.8g} s: {what}")
    if len(longest) < len(slow.segments):
        lines.append(f"    and {len(slow.segments) - len(longest)} shorter ones")
    return lines


# A run compared with its application's history as JSON, incprof.heartbeats-history/1 (docs/use/heartbeats.md).


SCHEMA = "incprof.heartbeats-history/1"


def write_json(history: History, warnings: Sequence[str], out: TextIO) -> None:
    """Write one JSON object and a newline."""
    run = history.run
    found = {
        "schema": SCHEMA,
        "run": {
            **fields(run, "app ranks"),
            **fields(history, "threads start_unix_s", exact),
            **fields(run, "duration_s", significant),
            **fields(run, "intervals interval_s clean", exact),
        },
        **fields(history, "state=how forgotten"),
        "past_runs": len(history.past_starts_unix_s),
        "past_runs_needed": MIN_PAST,
        **fields(history, "past_runs_with_other_threads=other_threads past_runs_with_other_arguments=other_argv"),
        "alarm": ALARM,
        "enough": history.enough,
        "poor": bool(history.poor) if history.enough else None,
        "evidence": [poor_line(assessment) for assessment in history.poor],
        "warnings": list(warnings),
        "figures": json_rows(metrics_table(history.assessments)),
        "slow": [
            {
                **fields(slow, "id name past_p99_s=limit_s intervals slow_intervals=slow notable", significant),
                "stretches": [fields(each, "start_s end_s intervals mean_s", significant) for each in slow.segments],
            }
            for slow in history.slow
        ],
    }
    write(found, out)


def _past(past: PastRuns) -> dict[str, object]:
    """Return a metric in the past runs."""
    return {"runs": past.runs, "median": past.median, "spread": past.spread, "min": past.low, "max": past.high}


# User-facing text about a metric and its past: for the table, for JSON, and for single lines.


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
    return f"id {assessment.id}" if name is None else f"{printable(name)} (id {assessment.id})"


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
