"""`kill -9` of all ranks at a random moment: every complete interval is in the files, and can be read."""

from __future__ import annotations

import collections
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import appekg
from incprof.record.launch import find_library
from soak.budget import Budget
from soak.faults import Bench, bench_of
from soak.faults_check import IN_FLIGHT, check_reader
from soak.faults_run import PATIENCE_S, entries
from soak.faults_scan import scan
from soak.finding import Keeper

MOST_RANKS = 4
LATEST_S = 0.35
SCRIPTS = (
    ("burn:3600000",),
    ("busy:3", "burn:3600000"),
    ("dlopen:5", "deep:3000", "churn:2000", "burn:3600000"),
    ("forkt:8", "threads:40", "fork:4", "burn:3600000"),
)


def _start(bench: Bench, folder: Path, dice: Random) -> list[subprocess.Popen[bytes]]:
    """Start the ranks of a launch, as Open MPI does."""
    build = dice.choice(bench.builds)
    script, ranks = dice.choice(SCRIPTS), dice.randint(1, MOST_RANKS)
    interval = dice.choice(("0.001", "0.005", "0.02", "0.1"))
    env = {
        **bench.environment(folder),
        "INCPROF_DIR": str(folder / "run"),
        "EKG_DIR": str(folder / "ekg"),
        "EKG_OVERHEAD": "0",  # every beat is to be seen
        "INCPROF_INTERVAL": interval,
        "EKG_INTERVAL": interval,
        "INCPROF_RATE": dice.choice(("100", "1000")),
        "OMPI_COMM_WORLD_SIZE": str(ranks),
        "PMIX_NAMESPACE": folder.name,
    }
    if build.counted:
        env["LD_PRELOAD"] = str(find_library(os.environ))
    words = [str(bench.programs / build.name), *script]
    started = []
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        for rank in range(ranks):
            own: Mapping[str, str] = {**env, "OMPI_COMM_WORLD_RANK": str(rank)}
            started.append(
                subprocess.Popen(words, cwd=folder, env=own, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            )
    return started


def _beats_intervals(path: Path) -> int:
    """Return the complete intervals of a heartbeat file."""
    return sum(line.startswith(b"#interval ") for line in path.read_bytes().split(b"\n")[:-1])


def _complete_intervals(path: Path) -> tuple[int, bytes]:
    """Return the number of complete intervals in a file, and their bytes."""
    data = path.read_bytes()
    if path.suffix == ".ekg":
        return _beats_intervals(path), data[: data.rfind(b"\n#interval ") + 1]
    found = scan(path)
    return len(found.intervals), data[: len(data) - found.loose]


def _collect(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Return the files of all ranks and their children."""
    return {path: _complete_intervals(path) for kind in ("run/*.gmon", "ekg/*.ekg") for path in folder.glob(kind)}


def _check(folder: Path, before: Mapping[Path, tuple[int, bytes]]) -> Iterator[str]:
    """Check the files after the kill. before: their contents just before it."""
    after = _collect(folder)
    for path, (number, data) in before.items():
        if path not in after or after[path][0] < number or not after[path][1].startswith(data):
            yield f"{path.name}: {number} intervals before the kill, {after.get(path, (0, b''))[0]} after"
    ticks = {entry.pid: entry.ticks for entry in entries(folder / "ledger")}
    for path in after:
        if path.suffix == ".gmon":
            found = scan(path)
            yield from (f"{path.name}: {wrong}" for wrong in found.wrong)
            calls = max(found.calls.values(), default=0)
            if found.pid in ticks and calls > ticks[found.pid] + IN_FLIGHT:
                yield f"{path.name}: {calls} calls of {ticks[found.pid]}"
    yield from check_reader(folder / "run", killed=True)
    beats = [path for path in after if path.suffix == ".ekg" and after[path][0]]
    for path in beats:
        run = appekg.read(path)
        if len(run.processes[0].intervals) != after[path][0]:
            yield f"{path.name}: {len(run.processes[0].intervals)} of {after[path][0]} intervals read, {run.warnings}"


def _kill(started: list[subprocess.Popen[bytes]]) -> None:
    """End all ranks, and their orphaned children."""
    for process in started:
        process.send_signal(signal.SIGKILL)
    for process in started:
        process.wait(PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return
    raise RuntimeError("soak: children of a killed rank do not end")


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Kill runs until the budget is used up; every second one writes to a disk. only: the number of one."""
    done = collections.Counter[str]()
    with bench_of() as bench:
        disk = Bench(scratch / "kills", bench.programs, bench.builds, bench.ticks)
        disk.place.mkdir(parents=True, exist_ok=True)
        for number, dice in budget.drawn("kills", seed, only):
            folder = (disk if number % 2 else bench).fresh(f"kill-{os.getpid()}")
            started = _start(bench, folder, dice)
            time.sleep(dice.uniform(0.02, LATEST_S))
            before = _collect(folder)
            _kill(started)
            done["ranks"] += len(started)
            done["intervals"] += sum(whole for whole, _ in _collect(folder).values())
            for wrong in _check(folder, before):
                files = {str(path.relative_to(folder)): path.read_bytes() for path in before}
                keeper.keep(f"kills/{number}", wrong, files)
            shutil.rmtree(folder)
        shutil.rmtree(disk.place, ignore_errors=True)
    return done
