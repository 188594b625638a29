"""A run compared with the application's history, as text: the verdict, a line for each metric, and slow segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.report.words import formatting as words
from incprof.report.words.display_names import shorten_beat
from incprof.systems.heartbeats.history import MIN_PAST, Assessment
from incprof.systems.heartbeats.history_words import change, figure, label, p_text, when
from incprof.systems.heartbeats.slow_segments import Slow
from incprof.systems.heartbeats.verdict import History

HEADS = (
    "ID",
    "Name",
    "Figure",
    "This run",
    "Past median",
    "Spread",
    "Change",
    "Deviations",
    "p",
    "Worse than",
    "Verdict",
)
NAMES = (1, 2, 10)
GAP = 2
SHOWN = 80
STRETCHES = 5


def write_text(history: History, out: TextIO, *, width: int = 120, every: bool = False) -> None:
    """Write the result, about `width` columns wide; `every` metric, or SHOWN of them and all poor ones."""
    run = history.run
    parts = [words.printable(run.app), _count(run.ranks, "rank"), f"{_count(history.threads, 'thread')} at a time"]
    out.write(", ".join([*parts, words.elapsed(run.duration_s), f"started {when(history.start_unix_s)}"]) + "\n")
    out.writelines(line + "\n" for line in _about(history))
    out.write("\n" + verdict(history) + "\n")
    shown = list(history.assessments) if every else most_notable(history.assessments)
    if shown:
        out.write("\n")
        out.writelines(line + "\n" for line in table(shown, width))
    if len(shown) < len(history.assessments):
        out.write(f"{len(history.assessments) - len(shown)} more figures, none of them poor: --all or --json\n")
    notable = [line for slow in history.slow if slow.notable for line in slow_lines(slow)]
    if notable:
        out.write("\nSlower than 99 % of the past's intervals (1 in 100 is expected):\n")
        out.writelines(line + "\n" for line in notable)


def _about(history: History) -> list[str]:
    """Return a description of the past runs used."""
    path, n = words.printable(history.path), len(history.past_starts_unix_s)
    done = {"added": f"added to {path}", "updated": f"brought up to date in {path}", "known": f"already in {path}"}
    lines = [done[history.how] + (f", {_count(history.forgotten, 'old run')} forgotten" if history.forgotten else "")]
    if n:
        span = f", {when(history.past_starts_unix_s[0])} to {when(history.past_starts_unix_s[-1])}"
        lines.append(f"{_count(n, 'past run')} with as many ranks and about as many threads{span}")
    if history.other_threads:
        lines.append(f"{_count(history.other_threads, 'past run')} with other numbers of threads left out")
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


def table(assessments: Sequence[Assessment], width: int) -> list[str]:
    """Return a line for each metric under the heads."""
    rows = [HEADS, *(_cells(assessment) for assessment in assessments)]
    rooms = [max(words.cell_len(row[at]) for row in rows) for at in range(len(HEADS))]
    rooms[1] = min(rooms[1], max(width - sum(rooms) + rooms[1] - GAP * (len(HEADS) - 1), 16))
    lines = []
    for row in rows:
        cells = [
            words.padded(
                (shorten_beat if at == 1 else words.fitted)(row[at], rooms[at]), rooms[at], right=at not in NAMES
            )
            for at in range(len(row))
        ]
        lines.append((" " * GAP).join(cells).rstrip())
    return lines


def _cells(assessment: Assessment) -> tuple[str, ...]:
    """Return the cells of a metric, in the order of HEADS."""
    past, value = assessment.past, assessment.value
    name = (str(assessment.id), words.printable(assessment.name or ""))
    if assessment.verdict == "missing":
        return (*name, "none", *("-",) * 7, f"missing, in all {assessment.better_runs} past runs")
    head = (*name, assessment.metric, figure(assessment.metric, value))
    if past is None or value is None:
        return (*head, *("-",) * 6, "no past run has it")
    few = f"too few past runs ({past.runs})"
    return (
        *head,
        figure(assessment.metric, past.median),
        f"{100 * past.spread:.1f} %",
        change(assessment),
        f"{assessment.deviations or 0:+.1f}",
        p_text(assessment.p_adjusted),
        f"{assessment.better_runs} of {past.runs}",
        few if assessment.verdict == "few" else assessment.verdict,
    )


def slow_lines(slow: Slow) -> list[str]:
    """Return the longest slow segments of a heartbeat, in order of time."""
    name = f"id {slow.id}" if slow.name is None else f"{words.printable(slow.name)} (id {slow.id})"
    lines = [f"  {name}: {slow.slow} of {slow.intervals} intervals above {words.seconds(slow.limit_s)}"]
    longest = sorted(slow.stretches, key=lambda s: (-s.intervals, s.start_s))[:STRETCHES]
    for stretch in sorted(longest, key=lambda s: s.start_s):
        what = f"{_count(stretch.intervals, 'interval')}, mean {words.seconds(stretch.mean_s)}"
        lines.append(f"    {round(stretch.start_s, 3):.8g} to {round(stretch.end_s, 3):.8g} s: {what}")
    if len(longest) < len(slow.stretches):
        lines.append(f"    and {len(slow.stretches) - len(longest)} shorter ones")
    return lines


def _count(number: int, noun: str) -> str:
    """Return "1 run", "2 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
