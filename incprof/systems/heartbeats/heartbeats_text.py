"""Heartbeats as text: a head line, a table with a line for each heartbeat, and each of them over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary
from incprof.report.words import formatting as words
from incprof.report.words.display_names import shorten_beat

SHOWN = 40
HEADS = ("ID", "Name", "Count", "Rate /s", "Mean", "5-95 %", "Min", "Max", "Std", "Wall %", "Imb. %", "In progress")
NAME = 1
WIDEST_NAME = 60
DEAR_PCT = 2.0  # percent of the time of a beat's threads: twice its budget
GAP = 2
COUNTERS = {
    "dropped": "beats dropped (tables full)",
    "unmatched": "ends without a begin",
    "abandoned": "beats open when their thread ended",
    "lost_intervals": "intervals that could not be written",
    "lost_rows": "rows that could not be written",
}


def write_text(
    run: BeatRun, beats: Sequence[BeatSummary], out: TextIO, *, width: int = 120, every: bool = False
) -> None:
    """Write the result, about `width` columns wide; `every` heartbeat, or the SHOWN that take most time."""
    shown = list(beats) if every else busiest(beats)
    out.write(head(run) + "\n")
    lost = [f"{run.counters[key]} {text}" for key, text in COUNTERS.items() if run.counters.get(key)]
    if lost:
        out.write(", ".join(lost) + "\n")
    out.write("\n")
    if not shown:
        out.write("no heartbeats\n")
        return
    for line in table(run, shown, width):
        out.write(line + "\n")
    for line in notes(shown):
        out.write(line + "\n")
    out.write("\n")
    for line in timelines(run, shown, width, blocks=takes_blocks(out)):
        out.write(line + "\n")
    if len(shown) < len(beats):
        out.write(f"\n{len(beats) - len(shown)} more heartbeats, with less time each: --all, --id or --json\n")


def notes(beats: Sequence[BeatSummary]) -> list[str]:
    """Return notes on heartbeats of which not every beat was recorded."""
    found = []
    if any(beat.rate_factor > 1 for beat in beats):
        found.append("/N: one beat in N was recorded; count and rate are of those, wall % is an estimate for all")
    if thinned := [beat for beat in beats if beat.thinned]:
        found.append(
            f"thinned at run time, all beats would have cost more than their share (EKG_OVERHEAD): {_ids(thinned)}"
        )
    dear = [beat for beat in thinned if (beat.cost_pct or 0.0) >= DEAR_PCT]
    for beat in dear:
        found.append(
            f"id {beat.id} costs {words.rate(beat.cost_pct or 0.0)} % of its threads' time even so: "
            "put it around the loop"
        )
    if bounded := [beat for beat in beats if beat.bounded]:
        found.append(
            "!: a recorded beat had to wait, and represents more time than its thread had; that time was used instead: "
            f"{_ids(bounded)}"
        )
    return found


def _ids(beats: Sequence[BeatSummary]) -> str:
    """Return "id 1", "ids 1, 2"."""
    numbers = [str(beat.id) for beat in beats]
    return f"id{'s' * (len(numbers) > 1)} {', '.join(numbers)}"


def busiest(beats: Sequence[BeatSummary]) -> list[BeatSummary]:
    """Return the SHOWN heartbeats that take most time, then those with most beats, by id."""
    order = sorted(beats, key=lambda beat: (-beat.busy_pct, -beat.count - beat.pulses, beat.id))
    return sorted(order[:SHOWN], key=lambda beat: beat.id)


def takes_blocks(out: TextIO) -> bool:
    """Return whether the encoding of a stream has the characters of a sparkline."""
    try:
        words.BLOCKS.encode(getattr(out, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def head(run: BeatRun) -> str:
    """Return a description of the recording, in one line."""
    parts = [words.printable(run.app), _count(run.ranks, "rank")]
    if run.processes > run.ranks:
        parts.append(f"{run.processes} processes")
    parts.append(_count(run.threads, "thread"))
    parts.append(f"{_count(run.intervals, 'interval')} of {run.interval_s:g} s")
    parts.append(words.elapsed(run.duration_s))
    if run.start_s >= 0.0005:
        parts.append(f"from {words.elapsed(run.start_s)} on")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    """Return "1 rank", "2 ranks"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def table(run: BeatRun, beats: Sequence[BeatSummary], width: int) -> list[str]:
    """Return the table, a line for each heartbeat under the heads; empty columns are omitted."""
    cells = [HEADS, *(_cells(run, beat) for beat in beats)]
    keep = [at for at in range(len(HEADS)) if at <= NAME + 1 or any(row[at] not in ("", "-") for row in cells[1:])]
    rooms = {at: max(words.cell_len(row[at]) for row in cells) for at in keep}
    others = sum(rooms[at] + GAP for at in keep if at != NAME)
    rooms[NAME] = min(rooms[NAME], WIDEST_NAME, max(width - others, 16))
    lines = []
    for row in cells:
        fits = [(shorten_beat if at == NAME else words.fitted)(row[at], rooms[at]) for at in keep]
        columns = [words.padded(cell, rooms[at], right=at != NAME) for at, cell in zip(keep, fits, strict=True)]
        lines.append((" " * GAP).join(columns).rstrip())
    return lines


def _cells(run: BeatRun, beat: BeatSummary) -> tuple[str, ...]:
    """Return the cells of a heartbeat, in the order of HEADS."""
    spread = "-" if beat.p5_s is None else f"{words.seconds(beat.p5_s)} - {words.seconds(beat.p95_s)}"
    uneven = [share for share in (beat.imbalance_ranks, beat.imbalance_threads) if share is not None]
    alone = run.ranks == 1 and beat.threads <= 1
    return (
        str(beat.id),
        _name(beat) + (f" /{words.rate(beat.rate_factor)}" if beat.rate_factor > 1 else ""),
        _count(beat.pulses, "pulse") if _only_pulses(beat) else str(beat.count),
        words.rate(beat.rate_hz),
        words.seconds(beat.mean_s),
        spread,
        words.seconds(beat.min_s),
        words.seconds(beat.max_s),
        words.seconds(beat.std_s),
        "-" if _only_pulses(beat) else words.rate(beat.busy_pct) + ("!" if beat.bounded else ""),
        "-" if alone or not uneven else words.pct(max(uneven)),
        f"{beat.open} for {words.elapsed(beat.open_s)}" if beat.open else "",
    )


def _name(beat: BeatSummary) -> str:
    """Return the printable name, empty without one."""
    return words.printable(beat.name or "")


def timelines(run: BeatRun, beats: Sequence[BeatSummary], width: int, *, blocks: bool) -> list[str]:
    """Return each heartbeat over time: its share of wall time, or its pulses."""
    numbers = max(len("ID"), max(len(str(beat.id)) for beat in beats))
    room = min(max((words.cell_len(_name(beat)) for beat in beats), default=0), 24)
    left = numbers + GAP + room + GAP
    line = max(width - left - len("  max 99999 pulses"), 10)
    drawn = [(beat, *words.sparkline(_over_time(beat), line, blocks=blocks)) for beat in beats]
    longest = max(len(signs) for _, signs, _ in drawn)
    lines = []
    for beat, signs, top in drawn:
        name = words.padded(shorten_beat(_name(beat), room), room, right=False)
        most = f"max {words.rate(top)} {'pulses' if _only_pulses(beat) else '%'}"
        lines.append(f"{beat.id:>{numbers}}  {name}  {signs:<{longest}}  {most}")
    begin, end = words.elapsed(run.start_s), words.elapsed(run.start_s + run.duration_s)
    lines.append(" " * left + begin + end.rjust(max(longest - len(begin), len(end) + 1)))
    return lines


def _only_pulses(beat: BeatSummary) -> bool:
    """Return whether a heartbeat has no durations."""
    return bool(beat.pulses) and not beat.count and not beat.open


def _over_time(beat: BeatSummary) -> NDArray[np.float64]:
    """Return the values drawn for a heartbeat over time, shape (m,)."""
    return beat.series.pulses.astype(np.float64) if _only_pulses(beat) else beat.series.busy_pct
