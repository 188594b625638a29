"""Heartbeats as text, as JSON (schema incprof.heartbeats/1), and as tables: CSV, Parquet, SQLite."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary
from incprof.model.section import Column, Table
from incprof.report.render.json import exact, fields
from incprof.report.render.plain import plain_table
from incprof.report.words import formatting as words
from incprof.report.words.display_names import shorten_beat
from incprof.safe.printable import printable

SHOWN = 40
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
    for line in plain_table(beats_table(run, shown), width):
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
            f"thinned at run time, as all beats would have cost more than their share (EKG_OVERHEAD): {_ids(thinned)}"
        )
    dear = [beat for beat in thinned if (beat.cost_pct or 0.0) >= DEAR_PCT]
    for beat in dear:
        found.append(
            f"id {beat.id} costs {words.rate(beat.cost_pct or 0.0)} % of its threads' time even when thinned: "
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
    parts = [printable(run.app), words.count(run.ranks, "rank")]
    if run.processes > run.ranks:
        parts.append(f"{run.processes} processes")
    parts.append(words.count(run.threads, "thread"))
    parts.append(f"{words.count(run.intervals, 'interval')} of {run.interval_s:g} s")
    parts.append(words.elapsed(run.duration_s))
    if run.start_s >= 0.0005:
        parts.append(f"from {words.elapsed(run.start_s)} on")
    return ", ".join(parts)


def beats_table(run: BeatRun, beats: Sequence[BeatSummary]) -> Table:
    """Return a row for each heartbeat; empty columns are omitted."""

    def name(beat: BeatSummary, room: int = WIDEST_NAME) -> str:
        factor = f" /{words.rate(beat.rate_factor)}" if beat.rate_factor > 1 else ""
        return shorten_beat(_name(beat) + factor, min(room, WIDEST_NAME))

    def spread(beat: BeatSummary) -> str | None:
        return None if beat.p5_s is None else f"{words.seconds(beat.p5_s)} - {words.seconds(beat.p95_s)}"

    def wall(beat: BeatSummary) -> str | None:
        return None if _only_pulses(beat) else words.rate(beat.busy_pct) + ("!" if beat.bounded else "")

    def imbalance(beat: BeatSummary) -> float | None:
        uneven = [share for share in (beat.imbalance_ranks, beat.imbalance_threads) if share is not None]
        return None if (run.ranks == 1 and beat.threads <= 1) or not uneven else max(uneven)

    always = (
        Column("ID", lambda beat: beat.id, "count"),
        Column("Name", name, fit=name),
        Column("Count", lambda b: words.count(b.pulses, "pulse") if _only_pulses(b) else str(b.count), "count"),
    )
    others = (
        Column("Rate /s", lambda beat: beat.rate_hz, "number"),
        Column("Mean", lambda beat: beat.mean_s, "s"),
        Column("5-95 %", spread, "s"),
        Column("Min", lambda beat: beat.min_s, "s"),
        Column("Max", lambda beat: beat.max_s, "s"),
        Column("Std", lambda beat: beat.std_s, "s"),
        Column("Wall %", wall, "%"),
        Column("Imb. %", imbalance, "percent"),
        Column("In progress", lambda beat: f"{beat.open} for {words.elapsed(beat.open_s)}" if beat.open else "", "s"),
    )
    return Table((*always, *(c for c in others if any(c.get(beat) not in (None, "") for beat in beats))), beats)


def _name(beat: BeatSummary) -> str:
    """Return the printable name, empty without one."""
    return printable(beat.name or "")


def timelines(run: BeatRun, beats: Sequence[BeatSummary], width: int, *, blocks: bool) -> list[str]:
    """Return each heartbeat over time: its share of wall time, or its pulses."""
    numbers = max(len("ID"), max(len(str(beat.id)) for beat in beats))
    room = min(max((cell_len(_name(beat)) for beat in beats), default=0), 24)
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


# Heartbeats as JSON, schema incprof.heartbeats/1 (docs/use/heartbeats.md).


SCHEMA = "incprof.heartbeats/1"


def write_json(run: BeatRun, beats: Sequence[BeatSummary], warnings: Sequence[str], out: TextIO) -> None:
    """Write one JSON object and a newline; one heartbeat at a time, because the series of thousands are long."""
    head = {"schema": SCHEMA, "run": _run(run), "warnings": list(warnings), "heartbeats": []}
    before, after = json.dumps(head, allow_nan=False)[:-2], "]}\n"
    out.write(before)
    for position, beat in enumerate(beats):
        out.write(", " if position else "")
        out.write(json.dumps(beat_as_dict(beat), ensure_ascii=True, allow_nan=False))
    out.write(after)


def _run(run: BeatRun) -> dict[str, object]:
    """Return the facts about the run as a whole."""
    return {
        **fields(run, "app ranks processes threads intervals interval_s", exact),
        **fields(run, "start_s duration_s clean", _seconds),
        **run.counters,
    }


def beat_as_dict(beat: BeatSummary) -> dict[str, object]:
    """Return a heartbeat in the terms of the schema; its series are lists of equal length, with null without a mean."""
    series = beat.series
    return {
        **fields(beat, "id name count pulses executions mean_s min_s max_s std_s p5_s p95_s", _seconds),
        **fields(beat, "rate_hz busy_pct bounded rate_factor thinned cost_pct open"),
        **fields(beat, "open_s ranks threads", _seconds),
        **fields(beat, "imbalance_ranks imbalance_threads"),
        "series": {
            **fields(series, "end_s count pulses mean_s", _seconds),
            **fields(series, "busy_pct open rate_factor=factor"),
        },
    }


def _seconds(value: float | None) -> float | None:
    """Return seconds without meaningless digits; None for None or NaN."""
    return None if value is None or math.isnan(value) else round(value, 12)


# Heartbeats as tables for other tools: CSV, Parquet, SQLite (docs/use/heartbeats.md).


Columns = Mapping[str, NDArray[Any]]

BATCH = 50_000
TYPES = {"i": "INTEGER", "b": "INTEGER", "f": "REAL", "O": "TEXT", "U": "TEXT"}
KEYS = {
    "processes": ("process",),
    "beats": ("id",),
    "intervals": ("process", "interval"),
    "rows": ("process", "interval", "thread", "id"),
}


def write_sqlite(tables: Mapping[str, Columns], out: BinaryIO) -> None:
    """Write an SQLite database with these tables.

    Args:
        tables: Tables named as in KEYS, in that order; each as columns of equal length.
        out: The output stream.
    """
    with tempfile.TemporaryDirectory(prefix="incprof-") as directory:
        path = Path(directory) / "heartbeats.sqlite"
        with closing(sqlite3.connect(path)) as database:
            # The file is discarded if this fails, so it needs no journal.
            database.execute("PRAGMA journal_mode = OFF")
            for name, columns in tables.items():
                _add_table(database, name, columns)
            database.commit()
        with path.open("rb") as raw:
            shutil.copyfileobj(raw, out, 1 << 20)


def _add_table(database: sqlite3.Connection, name: str, columns: Columns) -> None:
    """Create a table and fill it."""
    declared = [f'"{column}" {TYPES[values.dtype.kind]}' for column, values in columns.items()]
    key = ", ".join(f'"{column}"' for column in KEYS[name])
    database.execute(f'CREATE TABLE "{name}" ({", ".join(declared)}, PRIMARY KEY ({key})) WITHOUT ROWID')
    places = ", ".join("?" * len(columns))
    database.executemany(f'INSERT INTO "{name}" VALUES ({places})', _rows(columns))


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table as Python values; SQLite stores NaN as NULL."""
    length = len(next(iter(columns.values())))
    for begin in range(0, length, BATCH):
        yield from zip(*(values[begin : begin + BATCH].tolist() for values in columns.values()), strict=True)
