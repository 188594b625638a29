"""Recorded runs: the stream, the symbols beside it, what was kept beside it, files of gmon.out, names."""

from __future__ import annotations

from pathlib import Path

from soak.hostile_names import rename
from soak.mutate import mutate_binary
from soak.mutate_elf import mutate_elf
from soak.mutate_json import mutate_json_text
from soak.mutate_stream import gathered, mutate_gathered, mutate_stream
from soak.seeds_beats import beat_runs
from soak.seeds_runs import all_runs, gmon_trees, runs, with_source
from soak.subject import Command, Subject

READ: tuple[tuple[float, Command], ...] = (
    (9000, ("read-images", "run/rank-00000.gmon")),
    (3000, ("read-stream", "run")),
    (60, ("read-run", "run")),
)
FULL: tuple[tuple[float, Command], ...] = READ[1:]
EXPORTS: tuple[tuple[float, Command], ...] = (
    (3, ("export", "run", "--format", "csv")),
    (3, ("export", "run", "--format", "folded", "--libs", "separate")),
    (3, ("export", "run", "--format", "speedscope")),
    (2, ("export", "run", "--format", "gprof", "-o", "{new}")),
    (1, ("export", "run", "--format", "parquet", "--table", "samples", "-o", "{new}")),
    (1, ("periods", "run", "--json")),
    (0.5, ("top", "--once", "run")),
)
VERBS: tuple[tuple[float, Command], ...] = (
    (1, ("phases", "run")),
    (1, ("phases", "run", "--json", "--libs", "drop")),
    (0.5, ("phases", "run", "--method", "paper", "--explain")),
    (0.5, ("sites", "run", "--json")),
    (0.5, ("report", "run", "-o", "-")),
    (0.5, ("diff", "run", "run", "--json")),
    (0.3, ("export", "run", "--format", "trace", "--all-ranks")),
    (0.3, ("export", "run", "--format", "hatchet")),
    (0.3, ("validate", "run", "ekg", "--json")),
)
PLACED: tuple[tuple[float, Command], ...] = (
    (2, ("sites", "run", "--source", "src")),
    (2, ("sites", "run", "--source", "src", "--allow-changed", "--json")),
    (1, ("instrument", "run", "--source", "src")),
    (1, ("instrument", "run", "--source", "src", "--site", "solve:loop", "--style", "calls")),
    (1, ("report", "run", "--source", "src", "-o", "-")),
    (1, ("phases", "run")),
)

GMON: tuple[tuple[float, Command], ...] = (
    (1000, ("read-stream", "run", "app")),
    (1000, ("read-gmon", "run/gmon-1")),
    (10, ("export", "run", "--format", "csv", "--exe", "app")),
    (1, ("phases", "run", "--exe", "app")),
)
GMON_META: tuple[tuple[float, Command], ...] = (
    (500, ("read-metadata", "run/gmon-meta.0.json")),
    (200, ("read-stream", "run")),
    (1, ("export", "run", "--format", "csv")),
)


def subjects(scratch: Path) -> list[Subject]:
    """All kinds of input that belong to a recorded run."""
    heartbeats = beat_runs()[0]
    small = [tree | heartbeats for tree in runs()]
    all_seeds = [tree | heartbeats for tree in all_runs(scratch)]
    recorded = [tree for tree in all_seeds if len(tree) and any(path.endswith(".elf") for path in tree)]
    shared = [gathered(tree) for tree in small]
    placed = [with_source(tree) for tree in small]
    stream = r"run/rank-.*\.gmon"
    return [
        Subject("stream", 11, small, stream, mutate_stream, (*READ, *EXPORTS)),
        Subject("stream-recorded", 1, all_seeds, stream, mutate_stream, (*READ, *EXPORTS)),
        Subject("gathered", 3, shared, r"run/node-.*\.gmon", mutate_gathered, (*FULL, *EXPORTS)),
        Subject("stream-verbs", 0.03, small, stream, mutate_stream, VERBS),
        Subject("symbols", 0.4, recorded, r"run/symbols/.*\.elf", mutate_elf, (*FULL, *EXPORTS)),
        Subject("stores", 0.05, placed, r"run/(symbols/)?.*\.json", mutate_json_text, PLACED),
        Subject("gmon", 14, gmon_trees(), r"run/gmon-\d+.*", mutate_binary, GMON),
        Subject("gmon-meta", 10, gmon_trees()[2:], r"run/gmon-meta.*", mutate_json_text, GMON_META),
        Subject("names", 0.3, small, stream, mutate_stream, (*FULL, *EXPORTS, *VERBS), rename),
    ]
