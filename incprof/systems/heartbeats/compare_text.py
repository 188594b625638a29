"""Two runs' heartbeats as text: the runs, and a line for each heartbeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.heartbeats.summaries import BeatRun
from incprof.report.words import formatting as words
from incprof.report.words.display_names import shorten_beat
from incprof.systems.heartbeats.compare import BeatDiff
from incprof.systems.heartbeats.compare_words import interval, label, percent

HEADS = (
    "ID", "Name", "Mean A", "Mean B", "Change", "95 % interval", "Verdict", "Count A", "Count B", "Rate", "Wall % A",
    "Wall % B",
)  # fmt: skip
NAME, VERDICT, GAP = 1, 6, 2
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
        out.write(f"{letter}  {words.printable(path)}: {_head(run)}\n")
    out.writelines(f"   {words.printable(note)}\n" for note in notes)
    out.write("\n")
    if not diffs:
        out.write("no heartbeats\n")
        return
    shown = list(diffs) if every else most_notable(diffs)
    out.writelines(line + "\n" for line in table(shown, width))
    if len(shown) < len(diffs):
        out.write(f"{_more(diffs, shown)}: --all, --id or --json\n")
    odd = [
        f"{label(diff)}: {words.printable(note)}" for diff in shown for note in (*diff.pair.notes, *_rate_note(diff))
    ]
    if odd:
        out.write("\n" + "\n".join(dict.fromkeys(odd)) + "\n")


def _head(run: BeatRun) -> str:
    """Return a description of a run, in one line."""
    parts = [words.printable(run.app), f"{run.ranks} rank" + "s" * (run.ranks != 1)]
    parts.append(f"{run.threads} thread" + "s" * (run.threads != 1))
    parts.append(f"{run.intervals} interval" + "s" * (run.intervals != 1) + f" of {run.interval_s:g} s")
    return ", ".join([*parts, words.elapsed(run.duration_s)])


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


def table(diffs: Sequence[BeatDiff], width: int) -> list[str]:
    """Return a line for each heartbeat under the heads."""
    rows = [HEADS, *(_cells(diff) for diff in diffs)]
    rooms = [max(words.cell_len(row[at]) for row in rows) for at in range(len(HEADS))]
    others = sum(rooms) - rooms[NAME] + GAP * (len(HEADS) - 1)
    rooms[NAME] = min(rooms[NAME], max(width - others, 16))
    lines = []
    for row in rows:
        cells = [
            words.padded(
                (shorten_beat if at == NAME else words.fitted)(cell, room), room, right=at not in (NAME, VERDICT)
            )
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


def _rate_note(diff: BeatDiff) -> list[str]:
    """Return a note that count and rate are estimates, if not every beat was recorded."""
    factors = [beat.rate_factor for beat in (diff.pair.a, diff.pair.b) if beat is not None]
    if max(factors) == 1:
        return []
    return [
        f"1 beat in {' and '.join(map(words.rate, dict.fromkeys(factors)))} was recorded; count and rate are estimates"
    ]
