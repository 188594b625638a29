"""Runs cases in a forked process, which has all modules loaded and which a case may end."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from soak.answer import Answer, run_limited, troubles
from soak.capture import Capture
from soak.subject import Case, Subject, draw, lay_out

# A case that waits for something takes no CPU time: far more than a busy machine makes of the 10 s that it may take.
PATIENCE_S = 300.0
# Caches of libraries grow a little with each case.
MOST_CASES = 20_000


@dataclass(frozen=True)
class Result:
    """What came of a case. status: negative: ended by this signal. wrong: what must not be. size: of the input."""

    status: int
    wrong: tuple[str, ...]
    cpu_s: float = 0.0
    size: int = 0


def empty(place: Path) -> Path:
    """An empty folder there."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def run_case(case: Case, place: Path, capture: Capture, size: int | None = None) -> Answer:
    """Run a case in an empty folder, which becomes the working directory; size: that it may have memory for."""
    os.chdir(empty(place))
    lay_out(case.tree, place)
    words = [word.replace("{new}", str(place / "new")) for word in case.words]
    return run_limited(words, case.size if size is None else size, capture)


def warm_up(subjects: Sequence[Subject], place: Path) -> list[str]:
    """Run every command once on undamaged inputs: what is loaded then counts for no case. Returns what was wrong."""
    failed = []
    with Capture() as capture:
        for subject in subjects:
            for _, words in subject.commands:
                answer = run_case(Case(subject.name, subject.seeds[0], words), place, capture, 1 << 28)
                failed += [f"{subject.name}: {' '.join(words)}: {wrong}" for wrong in troubles(answer)]
    return failed


class Worker:
    """A process that runs cases; another one takes its place when a case has ended it."""

    def __init__(self, subjects: Sequence[Subject], seed: int, place: Path):
        self.subjects = {subject.name: subject for subject in subjects}
        self.seed, self.place = seed, place
        self._pid, self._done = 0, 0
        self._pipe: Connection | None = None

    def run(self, subject: str, number: int) -> Result:
        """Draw a case and run it."""
        if self._pipe is None or self._done >= MOST_CASES:
            self.end()
            self._pipe = self._start()
        self._done += 1
        self._pipe.send((subject, number))
        try:
            if self._pipe.poll(PATIENCE_S):
                result: Result = self._pipe.recv()
                return result
        except EOFError:
            return self._died()
        self.end()
        return Result(-signal.SIGKILL, (f"waits for something: nothing after {PATIENCE_S:g} s",))

    def end(self) -> None:
        """End the process."""
        if self._pipe is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pipe.close()
        self._pipe, self._done = None, 0

    def _died(self) -> Result:
        """The case has ended the process."""
        _, status = os.waitpid(self._pid, 0)
        self._pipe = None
        code = os.waitstatus_to_exitcode(status)
        return Result(code, ("more than 10 s" if code == -signal.SIGXCPU else f"ended: {code}",))

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        self._pid = os.fork()
        if self._pid:
            theirs.close()
            return ours
        ours.close()
        os.setsid()
        os._exit(self._serve(theirs))

    def _serve(self, pipe: Connection) -> int:
        with Capture() as capture:
            while True:
                try:
                    subject, number = pipe.recv()
                except EOFError:
                    return 0
                case = draw(self.subjects[subject], self.seed, number)
                answer = run_case(case, self.place, capture)
                pipe.send(Result(answer.status, tuple(troubles(answer)), answer.cpu_s, case.size))
