"""Heartbeats, their history, and the loops of OpenMP programs."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from incprof.cli import main
from soak.mutate import mutate_binary
from soak.mutate_beats import mutate_beats
from soak.mutate_json import mutate_json_lines
from soak.places import lay_out
from soak.seeds_beats import beat_runs, loop_runs
from soak.seeds_runs import made, runs
from soak.subject import Command, Subject, Tree

COMMANDS: tuple[tuple[float, Command], ...] = (
    (8000, ("read-beats", "ekg")),
    (10, ("heartbeats", "ekg")),
    (10, ("heartbeats", "ekg", "--json")),
    (5, ("heartbeats", "ekg", "--csv", "-")),
    (2, ("heartbeats", "ekg", "--sqlite", "{new}")),
    (2, ("heartbeats", "ekg", "--parquet", "{new}")),
    (3, ("heartbeats", "other", "ekg", "--json")),
    (3, ("heartbeats", "ekg", "--history", "history", "--json")),
    (3, ("periods", "ekg", "--column", "1:mean", "--json")),
    (0.5, ("validate", "run", "ekg")),
    (0.5, ("top", "--once", "run", "--heartbeats", "ekg")),
)
LOOPS: tuple[tuple[float, Command], ...] = (
    (800, ("read-loops", "sa")),
    (5, ("selfanalyze", "sa")),
    (5, ("selfanalyze", "sa", "--json")),
    (3, ("selfanalyze", "one", "--baseline", "sa", "--json", "--iterations", "1000")),
)


def kept(directory: Path) -> None:
    """A history of three runs, as the command line keeps it."""
    for number in range(3):
        lay_out(beat_runs()[0], directory / f"{number}")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = main(["heartbeats", str(directory / f"{number}/ekg"), "--history", str(directory / "history")])
        if status != 0:
            raise RuntimeError(f"no history: {status}")
    for path in directory.rglob("*"):
        if path.is_file() and path.name != "history":
            os.unlink(path)


def subjects() -> list[Subject]:
    """All of them."""
    other = {path.replace("ekg/", "other/"): data for path, data in beat_runs()[0].items()}
    history = made(kept, "")
    seeds: list[Tree] = [tree | other | history | runs()[0] for tree in beat_runs()]
    return [
        Subject("heartbeats", 14, [*seeds[:2] * 20, seeds[2]], r"ekg/.*\.ekg", mutate_beats, COMMANDS),
        Subject("history", 0.1, seeds[:1], "history", mutate_binary, (COMMANDS[7],)),
        Subject("loops", 10, loop_runs(), r"sa/.*", mutate_json_lines, LOOPS),
    ]
