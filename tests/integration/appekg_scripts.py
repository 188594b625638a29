"""Runs scripts of beats (appekg_fixtures/script.c) by the fake clock, and reads back what was recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tests.integration.appekg_model import Row
from tests.integration.collector import Outcome, clean_environment, run

ROW_FIELDS = tuple(f.name for f in fields(Row))
COMPARED = ("interval", "start_ns", "end_ns", "threads", "dropped", "unmatched", "abandoned", "enabled")


@dataclass
class Recorded:
    """A file, line by line; a damaged one fails the test."""

    header: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    intervals: list[dict[str, Any]] = field(default_factory=list)
    beats: list[dict[str, Any]] = field(default_factory=list)
    threads: list[dict[str, int]] = field(default_factory=list)
    has_end: bool = False

    def total(self, column: str, **where: int) -> int:
        """Sum of a column, or of a counter of the intervals, over the rows where columns have these values."""
        if column not in ROW_FIELDS:
            return sum(int(interval[column]) for interval in self.intervals)
        chosen = [row for row in self.rows if all(getattr(row, name) == value for name, value in where.items())]
        return sum(int(getattr(row, column)) for row in chosen)

    def counters(self) -> list[dict[str, int]]:
        """Return the model's values of each interval."""
        return [{name: interval[name] for name in COMPARED} for interval in self.intervals]


def read_file(path: Path) -> Recorded:
    """Read a whole, undamaged file."""
    head, columns, *lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    assert head.startswith("#appekg ")
    assert tuple(columns.split(",")) == ROW_FIELDS
    found = Recorded(header=json.loads(head.removeprefix("#appekg ")))
    lists = {"#beat": found.beats, "#thread": found.threads, "#interval": found.intervals}
    rows_before = 0
    for line in lines:
        word, _, rest = line.partition(" ")
        assert not found.has_end, "a line after the end"
        if word in lists:
            lists[word].append(json.loads(rest))
        elif word == "#end":
            found.has_end = True
        else:
            found.rows.append(Row(*(int(float(value)) for value in line.split(","))))
        if word == "#interval":
            assert found.intervals[-1]["rows"] == len(found.rows) - rows_before
            rows_before = len(found.rows)
    found.rows.sort(key=lambda row: (row.interval, row.thread, row.id))
    return found


def files(directory: Path) -> list[Path]:
    """A run directory's heartbeat files, the rank's own one first."""
    return sorted(directory.glob("*.ekg"), key=lambda path: (len(path.name), path.name))


def only_file(directory: Path) -> Recorded:
    """Read the only file of a run."""
    (path,) = files(directory)
    return read_file(path)


def run_program(
    command: Path | Sequence[str | Path], place: Path, env: Mapping[str, str] | None = None, *, timeout_s: float = 600
) -> Outcome:
    """Run a program with heartbeats in `place`/run. Its status is for the test to look at."""
    place.mkdir(parents=True, exist_ok=True)
    clean = {name: value for name, value in clean_environment().items() if not name.startswith("EKG_")}
    words = [command] if isinstance(command, Path) else list(command)
    settings = {"EKG_DIR": str(place / "run"), "EKG_OVERHEAD": "0", **(env or {})}
    kept = ["env", "-i", *(f"{name}={value}" for name, value in {**clean, **settings}.items() if value != "")]
    return run([*kept, *words], place, {}, timeout_s)


def run_script(
    program: Path, script: Sequence[str], place: Path, env: Mapping[str, str] | None = None
) -> tuple[Outcome, Path]:
    """Let the script's program do these lines; return its outcome and the run directory."""
    place.mkdir(parents=True, exist_ok=True)
    lines = place / "script"
    lines.write_text("\n".join(script) + "\n")
    outcome = run_program(["sh", "-c", f"exec {program} < {lines}"], place, env)
    assert outcome.status == 0, outcome
    return outcome, place / "run"
