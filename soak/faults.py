"""Faults of host programs: whatever a program does, and whatever is done to it, it behaves as without the libraries."""

from __future__ import annotations

import collections
import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from incprof.record.launch import IO_LIBRARY, find_library
from soak.budget import Budget
from soak.faults_check import (
    MOST_LOCKED_KIB,
    MOST_MORE_KIB,
    Beats,
    Recorded,
    addresses,
    check_beats,
    check_calls,
    check_reader,
    check_stderr,
    check_streams,
    compare,
    read_beats,
)
from soak.faults_draw import Fault, draw_fault
from soak.faults_hosts import Build, build_hosts
from soak.faults_run import Entry, Outcome, adopt_orphans, entries, new_ledger, run_host
from soak.finding import Keeper, signature

FULL_DISK = "48k"


@contextmanager
def run_place(folder: Path, kind: str, name: str) -> Iterator[Path]:
    """Return the path that the library is given, below `folder`. kind: one of faults_draw.PLACES."""
    path = folder / name
    if kind == "missing":
        path = folder / "no" / "such" / name
    elif kind == "file":
        path.write_text("a file")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("nowhere")
    elif kind in ("other", "locked"):
        path.mkdir()
        (path / "launch").write_text("another launch\n")
        path.chmod(0 if kind == "locked" else 0o777)
    elif kind == "full":
        disk = folder / f"{name}-disk"
        disk.mkdir()
        path = disk / name
        with _small_disk(disk):
            yield path
        return
    yield path


@contextmanager
def _small_disk(disk: Path) -> Iterator[None]:
    """Mount a file system of a few pages while the body runs, if that is permitted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={FULL_DISK},mode=777", "tmpfs", str(disk)]
    mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def run_directories(path: Path) -> list[Path]:
    """Return where the run may be: the given directory, DIR.1, and where the host has moved it."""
    return sorted(found for found in path.parent.glob(f"{path.name}*") if found.is_dir())


MOMENTS = {"killin": signal.SIGKILL, "termin": signal.SIGTERM}
# So often is a finding tried again, to tell what always happens from what may happen.
REPEATS = 4


@dataclass
class Trial:
    """A fault, and the result of trying it."""

    wrong: list[str]
    alone: Outcome
    recorded: Outcome
    ledger: list[Entry]
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Bench:
    """The environment of the trials: programs, and in `place` an empty folder for each run."""

    place: Path
    programs: Path
    builds: list[Build]
    ticks: dict[str, tuple[int, int]]

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the host's environment."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {**kept, "SOAK_LEDGER": str(folder / "ledger")}

    def fresh(self, name: str) -> Path:
        """Return an empty folder that every user may use."""
        folder = self.place / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        folder.chmod(0o777)
        new_ledger(folder / "ledger")
        return folder


@contextmanager
def bench_of(names: Sequence[str] = (), bin_: Path | None = None) -> Iterator[Bench]:
    """Build the hosts, all or the named ones, in memory where possible. bin_: where they may exist already."""
    adopt_orphans()
    place = Path(tempfile.mkdtemp(prefix="soak-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        place.chmod(0o755)
        programs = bin_ or place / "bin"
        programs.mkdir(exist_ok=True)
        builds = build_hosts(programs, names)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        yield Bench(place, programs, builds, {build.name: addresses(programs / build.name) for build in builds})
    finally:
        shutil.rmtree(place, ignore_errors=True)


def preloaded(settings: Mapping[str, str]) -> str:
    """Return the libraries that the settings require."""
    collector = find_library(os.environ)
    return str(collector) + (f":{collector.with_name(IO_LIBRARY)}" if settings.get("INCPROF_IO") == "1" else "")


def try_fault(bench: Bench, fault: Fault) -> Trial:
    """Run the host without and with the libraries; return the faults."""
    folder = bench.fresh("alone")
    program = bench.programs / fault.build.alone
    alone = run_host([program, *fault.without_moments], folder, bench.environment(folder))
    folder = bench.fresh("recorded")
    with ExitStack() as stack:
        run, ekg = (stack.enter_context(run_place(folder, fault.place, name)) for name in ("run", "ekg"))
        own = {
            "INCPROF_DIR": str(run),
            "EKG_DIR": str(ekg),
            "EKG_OVERHEAD": "0",
            "SOAK_DIR": str(run if fault.build.counted else ekg),
        }
        if fault.build.counted:
            own["LD_PRELOAD"] = preloaded(dict(fault.settings))
        env = {**bench.environment(folder), **own, **dict(fault.settings)}
        recorded = run_host([bench.programs / fault.build.name, *fault.script], folder, env)
        trial = Trial([], alone, recorded, list(entries(folder / "ledger")))
        trial.wrong = list(_judge(bench, fault, trial, run, ekg))
        if trial.wrong:
            files = [path for path in (run.parent, ekg.parent) for path in path.rglob("*") if path.is_file()]
            trial.files = {str(path.relative_to(folder)): path.read_bytes() for path in files if path.name != "ledger"}
    return trial


def _judge(bench: Bench, fault: Fault, trial: Trial, run: Path, ekg: Path) -> list[str]:
    """Return all faults."""
    recorded, ledger = trial.recorded, trial.ledger
    moments = [MOMENTS[action.name] for action in fault.actions if action.name in MOMENTS]
    is_locked = any(action.name == "lock" for action in fault.actions)
    wrong = list(compare(trial.alone, recorded, moments, MOST_LOCKED_KIB if is_locked else MOST_MORE_KIB))
    programs = len(ledger) + sum(word.startswith(("exec", "clearenv")) for word in fault.script)
    wrong += check_stderr(fault, trial.alone, recorded, max(programs, 1))
    orderly = recorded.pid if recorded.status >= 0 and not fault.harmed and not recorded.hung else None
    killed = fault.harmed or any(action.name in ("fork", "forkexec", "vfork", "spawn") for action in fault.actions)
    if fault.build.counted and not fault.spoilt:
        by_pid: dict[int, Recorded] = {}
        tick = bench.ticks[fault.build.name]
        for directory in run_directories(run):
            streams = sorted(directory.glob("rank-*.gmon"))
            wrong += check_streams(fault, streams, killed, tick, by_pid)
            wrong += check_reader(directory, killed)
        wrong += check_calls(fault, ledger, by_pid, orderly if fault.records else None)
    if fault.build.beats and not fault.spoilt:
        beats = Beats()
        for directory in run_directories(ekg):
            wrong += read_beats(directory, fault, beats)
        wrong += check_beats(fault, ledger, beats, orderly if fault.beats else None)
    return wrong


def shrink(bench: Bench, fault: Fault, trial: Trial) -> tuple[Fault, int]:
    """Return the smallest fault with the same symptom, and how many of REPEATS tries show it. A hang is not retried."""
    wrong = trial.wrong[0]

    def shows(candidate: Fault) -> bool:
        return signature("", wrong) in {signature("", other) for other in try_fault(bench, candidate).wrong}

    if trial.alone.hung or trial.recorded.hung or not shows(fault):
        return fault, 0
    smaller = True
    while smaller:
        smaller = False
        for candidate in fault.shorter():
            if shows(candidate):
                fault, smaller = candidate, True
                break
    return fault, sum(shows(fault) for _ in range(REPEATS))


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Try faults until the budget is used up; return the number of each build. only: the number of one."""
    del scratch
    done = collections.Counter[str]()
    with bench_of() as bench:
        for number, dice in budget.drawn("faults", seed, only):
            fault = draw_fault(dice, bench.builds)
            trial = try_fault(bench, fault)
            done[fault.build.name] += 1
            done["processes"] += len(trial.ledger)
            if trial.wrong:
                _keep(bench, keeper, f"faults/{number}", fault, trial)
    return done


def _keep(bench: Bench, keeper: Keeper, case: str, fault: Fault, trial: Trial) -> None:
    """Keep a finding, with the smallest fault that shows it."""
    wrong, *more = trial.wrong
    least, times = shrink(bench, fault, trial)
    facts = {name: dataclasses.asdict(thing) for name, thing in (("fault", fault), ("least", least))}
    output = {name: getattr(trial.recorded, name) for name in ("stdout", "stderr")} | {"alone": trial.alone.stdout}
    keeper.keep(case, wrong, {**trial.files, **output}, **facts, shown=f"{times} of {REPEATS}", more=more)
