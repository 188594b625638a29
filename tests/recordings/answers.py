"""The answers of every verb for a folder of runs, to compare before and after a change.

    python tests/recordings/answers.py RUNS > before.json
    python tests/recordings/answers.py RUNS --against before.json

The folder holds run directories, heartbeats (ekg*) and series (*.csv).
Each answer is the command's status and the hashes of its stdout, its stderr and the file that it wrote. Runs are copied
first, to the same place each time: what is kept beside a run is made anew, and paths in the answers are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

PLACE = Path("/tmp/incprof-answers")
# Imported once, before the processes part.
HEAVY = ("pandas", "scipy.stats", "elftools.elf.elffile", "rich.console", "jinja2")
OUT = "OUT"  # stands for the file that a command writes

Command = tuple[str, ...]


def of_run(run: str) -> Iterator[Command]:
    """Questions about one recorded run."""
    yield ("phases", run, "--json")
    yield ("phases", run, "--json", "--explain")
    yield ("phases", run, "--details", "--explain")
    yield ("phases", run, "--brief")
    yield ("phases", run, "--csv")
    yield ("phases", run, "--method", "paper", "--json")
    yield ("phases", run, "--k", "3")
    yield ("phases", run, "--libs", "separate")
    yield ("phases", run, "--plot", OUT + ".svg")
    yield ("sites", run, "--json")
    yield ("sites", run)
    yield ("sites", run, "--source", "SRC", "--allow-changed", "--json")
    yield ("sites", run, "--source", "SRC", "--allow-changed")
    yield ("instrument", run, "--source", "SRC", "--allow-changed", "--patch", OUT + ".patch")
    yield ("report", run, "-o", OUT + ".html")
    yield ("report", run, "--source", "SRC", "--allow-changed", "-o", OUT + ".html", "--full")
    for form in ("gprof", "csv", "folded", "speedscope", "trace", "hatchet", "parquet"):
        yield ("export", run, "--format", form, "-o", OUT + "." + form)
    for table in ("intervals", "samples", "phases", "labels", "functions", "sites", "steps", "scores"):
        yield ("export", run, "--format", "csv", "--table", table)
    yield ("top", run, "--once")
    yield ("top", run, "--plain")
    yield ("top", run, "--json")
    yield ("periods", run, "--column", "samples", "--json")


def of_pair(a: str, b: str) -> Iterator[Command]:
    """Questions about two recorded runs."""
    yield ("diff", a, b)
    yield ("diff", a, b, "--json")
    yield ("diff", a, b, "--markdown", "--fail-on", "phase>1%")
    yield ("diff", a, b, "--html", OUT + ".html")


def of_beats(beats: list[str], run: str | None) -> Iterator[Command]:
    """Questions about heartbeats."""
    for each in beats:
        yield ("heartbeats", each)
        yield ("heartbeats", each, "--json")
        yield ("heartbeats", each, "--csv", OUT + ".csv")
        if run is not None:
            yield ("validate", run, each)
            yield ("validate", run, each, "--json")
            yield ("report", run, "--heartbeats", each, "-o", OUT + ".html")
            yield ("export", run, "--format", "trace", "--heartbeats", each, "-o", OUT + ".json")
    for a, b in itertools.pairwise(beats):
        yield ("heartbeats", a, b)
        yield ("heartbeats", a, b, "--json")


def questions(names: list[str]) -> Iterator[Command]:
    """All questions about what the folder holds."""
    beats = [name for name in names if name.startswith("ekg")]
    series = [name for name in names if name.endswith(".csv")]
    runs = [name for name in names if name not in {*beats, *series}]
    for run in runs:
        yield from of_run(run)
    for a, b in itertools.pairwise(runs):
        yield from of_pair(a, b)
    yield from of_beats(beats, next((run for run in runs if run.startswith("phases")), None))
    for each in series:
        yield ("periods", each, "--column", "cpu", "--json")
        yield ("periods", each, "--column", "cpu")
        yield ("periods", each, "--column", "cpu", "--csv", OUT + ".csv")


def answer(task: tuple[Path, int, Command]) -> tuple[str, list[str | int]]:
    """Ask one question in a fresh copy of the runs that it is about. In a process of its own, which ends with it."""
    runs, number, words = task
    place = PLACE / f"{number:04}"
    place.mkdir(parents=True)
    for name in {word for word in words if (runs / word).exists()}:
        copy = shutil.copytree if (runs / name).is_dir() else shutil.copy2
        copy(runs / name, place / name)
    known = [str(runs.parent / "src") if word == "SRC" else word for word in words]
    os.chdir(place)
    said = [place / "stdout", place / "stderr"]
    for descriptor, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY), descriptor)
    from incprof.cli.main import main as ask

    status = ask(known)
    sys.stdout.flush()
    sys.stderr.flush()
    written = [path.read_bytes() for path in (*said, *sorted(place.glob(OUT + ".*")))]
    shutil.rmtree(place)
    return " ".join(words), [status, *(hashlib.sha256(data).hexdigest()[:16] for data in written)]


def main() -> int:
    """Print the answers, or which of them differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="", help="questions that contain this")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    shutil.rmtree(PLACE, ignore_errors=True)
    asked = [
        words for words in questions(sorted(path.name for path in args.runs.iterdir())) if args.only in " ".join(words)
    ]
    for name in HEAVY:
        importlib.import_module(name)
    tasks = [(args.runs.absolute(), number, words) for number, words in enumerate(asked)]
    with multiprocessing.get_context("fork").Pool(args.jobs, maxtasksperchild=1) as pool:
        found = dict(pool.map(answer, tasks, chunksize=1))
    if args.against is None:
        print(json.dumps(found, indent=1))
        return 0
    before = json.loads(args.against.read_text())
    changed = [name for name, each in found.items() if before.get(name) != each]
    for name in changed:
        print(f"differs: {name}: {before.get(name)} {found[name]}")
    print(f"{len(found) - len(changed)} of {len(found)} answers are the same")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
