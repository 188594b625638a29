"""Signals to a recorder outside the program: the program gets each of them once, and ends as it does alone."""

from __future__ import annotations

import collections
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from soak.budget import Budget
from soak.finding import Keeper
from soak.places import empty

SOURCE = Path(__file__).parent / "hosts" / "outside" / "heard.c"
RECORDERS = (("sample", "-o", "counters.csv"), ("record", "--external", "-o", "run"))
# What a program may hear, and what may end it or stop it.
HEARD = (1, 2, 3, 6, 10, 12, 13, 14, 15, 16, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 34, 35, 40, 50, 60, 63)
DEADLY = (1, 2, 3, 6, 9, 10, 11, 12, 13, 14, 15, 24, 26, 27, 31, 34, 50)
MOST_SIGNALS = 12
# What takes longer has hung.
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Case:
    """steps: signals in their order; 0: stop and continue. to_group: those sent to the group. end: the last signal."""

    heard: tuple[int, ...]
    steps: tuple[int, ...]
    to_group: tuple[int, ...]
    end: int
    status: int

    @property
    def words(self) -> list[str]:
        """The arguments of the program."""
        return [str(self.status), *map(str, self.heard)]


def draw(dice: Random) -> Case:
    """Return a case; it depends only on the random generator."""
    heard = tuple(sorted(dice.sample(HEARD, dice.randint(1, len(HEARD)))))
    steps = tuple(0 if dice.random() < 0.1 else dice.choice(heard) for _ in range(dice.randint(0, MOST_SIGNALS)))
    # The same one to all, and soon after to the recorder alone, counts once (docs/use/sample.md).
    to_group = tuple(number for number in heard if dice.random() < 0.3)
    deadly = [number for number in DEADLY if number not in heard]
    end = dice.choice(deadly) if deadly and dice.random() < 0.5 else int(signal.SIGRTMAX)
    return Case(heard, steps, to_group, end, dice.randint(0, 255))


class Started:
    """A program, or a recorder that has started one; both must behave alike."""

    def __init__(self, words: Sequence[str | Path], folder: Path):
        self.process = subprocess.Popen(
            words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        self.output = b""
        self.lines = 0

    def wait_for_line(self) -> None:
        """Wait for one more line of output."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + PATIENCE_S
        self.lines += 1
        while self.output.count(b"\n") < self.lines:
            ready, _, _ = select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))
            got = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not got:
                raise TimeoutError(f"no line {self.lines}, but {self.output!r}")
            self.output += got

    def send(self, number: int, to_group: bool) -> None:
        """Send a signal to the started process, or to its group."""
        (os.killpg if to_group else os.kill)(self.process.pid, number)

    def stop_and_continue(self) -> None:
        """Stop and continue it as a shell does with a foreground job."""
        self.send(signal.SIGSTOP, to_group=True)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)
        self.send(signal.SIGCONT, to_group=True)

    def end(self) -> tuple[int, bytes]:
        """Return status and output, once all processes that could write have ended."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, self.output + out

    def abandon(self) -> None:
        """End a hanging case."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


def play(case: Case, words: Sequence[str | Path], folder: Path) -> tuple[int, bytes] | str:
    """Return the outcome, or why it did not end."""
    started = Started(words, folder)
    try:
        started.wait_for_line()
        for number in case.steps:
            if number == 0:
                started.stop_and_continue()
            else:
                started.send(number, number in case.to_group)
            # It goes on by a signal that it may hear.
            if number or int(signal.SIGCONT) in case.heard:
                started.wait_for_line()
        started.send(case.end, to_group=False)
        return started.end()
    except TimeoutError as error:
        started.abandon()
        return str(error)
    except subprocess.TimeoutExpired:
        started.abandon()
        return f"it did not end by {case.end}"


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Send random signals until the budget is used up. only: the number of one."""
    done = collections.Counter[str]()
    place = empty(scratch / "outside")
    program = place / "heard"
    subprocess.run(["gcc", "-g", "-O1", SOURCE, "-o", program], check=True)
    # What is started in the background of a script ignores them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    for number, dice in budget.drawn("outside", seed, only):
        case, recorder = draw(dice), dice.choice(RECORDERS)
        alone = play(case, [program, *case.words], place)
        folder = empty(place / "case")
        recorded = play(case, [sys.executable, "-m", "incprof", *recorder, "--", program, *case.words], folder)
        if alone != recorded:
            keeper.keep(f"outside/{number}", f"{recorder[0]}: {recorded!r}, alone {alone!r}", {}, drawn=repr(case))
        done[recorder[0]] += 1
        done["signals"] += len(case.steps) + 1
    shutil.rmtree(place, ignore_errors=True)
    return done
