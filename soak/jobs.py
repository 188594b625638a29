"""Whole jobs: all CPU time of a launch is in the recording, or the line at its end reports what is missing."""

from __future__ import annotations

import collections
import os
import re
import resource
import shlex
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incprof.cli import main as cli
from incprof.errors import IncprofError
from incprof.readers.run import open_run, use_of
from soak.budget import Budget
from soak.faults_run import adopt_orphans
from soak.finding import Keeper
from soak.jobs_draw import Bench, Launch
from soak.places import empty

# Of a launch's CPU time; or all but the start of each process that is on record: exec and loader take 5 to 11 ms.
LEAST_ACCOUNTED = 0.99
START_S = 0.02
# A process that is killed loses the interval in which it is, which is all of a short one.
OPEN_S = {"kill": 1.0}
# What takes longer has hung: launches take seconds.
PATIENCE_S = 300.0
SHARE = re.compile(r"(?:with|in all) (?:at least )?(\d+) % of the job's CPU time")
UNKNOWN = ("nothing recorded: the job used", "it is not recorded", "part of it in children not waited for")


@dataclass(frozen=True)
class Outcome:
    """Resources of a launch in seconds, the recorded part, the number of recorded processes, and its last lines."""

    used_s: float
    recorded_s: float
    processes: int
    messages: str

    @property
    def accounted(self) -> float:
        """The share of the CPU time that is recorded, or is reported as missing."""
        found = SHARE.search(self.messages)
        if any(text in self.messages for text in UNKNOWN):
            return 1.0
        missing = 1 - float(found[1]) / 100 if found else 0.0
        return min(self.recorded_s / self.used_s + missing, 1.0) if self.used_s else 1.0

    @property
    def silent_s(self) -> float:
        """The seconds that are neither, except for the start of processes."""
        return self.used_s * (1 - self.accounted) - START_S * self.processes


def _exec_recording(words: list[str], folder: Path, report: int) -> None:
    """In a child: exec `incprof record`, after reporting the CPU time that this process has used until then."""
    os.chdir(folder)
    os.setsid()
    for name, number in (("stdout", 1), ("stderr", 2)):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    become = os.execve

    def report_and_exec(*arguments: object) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        os.write(report, f"{usage.ru_utime + usage.ru_stime}".encode())
        become(*arguments)  # type: ignore[arg-type]

    os.execve = report_and_exec  # type: ignore[assignment]
    signal.alarm(0)
    os._exit(cli.main(["record", "-o", str(folder / "run"), "--", *words]))


def play(words: list[str], folder: Path) -> Outcome:
    """Run a launch, and wait for all its processes."""
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        _exec_recording(words, folder, ours)
    os.close(ours)
    deadline, used = time.monotonic() + PATIENCE_S, 0.0
    while True:
        try:
            ended, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            break
        used += usage.ru_utime + usage.ru_stime if ended else 0.0
        if not ended:
            time.sleep(0.002)
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            raise TimeoutError(shlex.join(words))
    before = float(os.read(theirs, 100) or 0)
    os.close(theirs)
    messages = [line for line in (folder / "stderr").read_text(errors="replace").splitlines() if "incprof: " in line]
    recorded = list(_recorded_s(folder))
    return Outcome(used - before, sum(recorded), len(recorded), "; ".join(messages))


def _recorded_s(folder: Path) -> Iterator[float]:
    """Return the recorded CPU time of each process."""
    for directory in folder.glob("run*"):
        try:
            run = open_run(directory)
        except IncprofError:
            continue
        programs = [cpu_s for program in run.programs for cpu_s in program.cpu_s]
        yield from programs or [use_of(process).cpu_s for process in run.processes]


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Run random launches until the budget is used up. only: the number of one."""
    adopt_orphans()
    place, done = empty(scratch / "jobs"), collections.Counter[str]()
    place.chmod(0o755)
    bench = Bench.make(place)
    accounted: list[float] = []
    for number, dice in budget.drawn("jobs", seed, only):
        launch = Launch(dice, bench)
        words = launch.draw()
        folder = empty(place / "case")
        folder.chmod(0o777)
        outcome = play(words, folder)
        accounted.append(outcome.accounted)
        if outcome.accounted < LEAST_ACCOUNTED and outcome.silent_s > OPEN_S.get(words[-1], 0.0):
            wrong = f"{outcome.accounted:.1%} of {outcome.used_s:.3f} s on record or named: {outcome.messages!r}"
            keeper.keep(f"jobs/{number}", wrong, {}, words=words)
        done.update(launch.kinds)
    shutil.rmtree(place, ignore_errors=True)
    least = sorted(accounted)
    print(f"jobs: CPU time on record or named: least {least[0]:.1%}, median {least[len(least) // 2]:.1%}", flush=True)
    return done
