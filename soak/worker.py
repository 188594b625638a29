"""Run cases in a forked process, which has all modules loaded and which a case may end."""

from __future__ import annotations

import collections
import gc
import mmap
import os
import signal
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from soak.answer import Answer, Capture, one_arena, run_limited, troubles
from soak.places import Places, empty, lay_out
from soak.readers import PURE
from soak.subject import Case, Subject, draw

# A case that waits for something takes no CPU time: far more than a busy machine makes of the 10 s that it may take.
PATIENCE_S, LOOKS = 60.0, 5
# Caches of libraries grow a little with each case.
MOST_CASES = 20_000
RUNNING = struct.Struct("q")


@dataclass
class Results:
    """statuses: number of cases by exit status; negative: signals. wrong: number of a case, and its faults."""

    statuses: collections.Counter[int] = field(default_factory=collections.Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, status: int, wrong: Sequence[str]) -> None:
        """Add the result of a case."""
        self.statuses[status] += 1
        self.wrong += [(number, each) for each in wrong]


def run_in(case: Case, place: Path, capture: Capture, size: int) -> Answer:
    """Run a case whose files lie in a folder, which becomes the working directory. size: their bytes."""
    os.chdir(place)
    return run_limited([word.replace("{new}", str(place / "new")) for word in case.words], size, capture)


def run_case(case: Case, place: Path, capture: Capture, size: int | None = None) -> Answer:
    """Run a case in a folder of its own."""
    lay_out(case.tree, empty(place))
    return run_in(case, place, capture, case.size if size is None else size)


def warm_up(subjects: Sequence[Subject], place: Path) -> list[str]:
    """Run every command once on undamaged inputs, so that no case is charged for loading. Return the faults."""
    failed = []
    with Capture() as capture:
        for subject in subjects:
            for _, words in subject.commands:
                seed = subject.seeds[0]
                answer = run_case(Case(subject.name, seed, words, seed), place, capture, 1 << 28)
                failed += [f"{subject.name}: {' '.join(words)}: {wrong}" for wrong in troubles(answer)]
    return failed


class Worker:
    """A process that runs cases; it is replaced when a case has ended it."""

    def __init__(self, subjects: Sequence[Subject], seed: int, place: Path):
        self.subjects = {subject.name: subject for subject in subjects}
        self.seed, self.place = seed, place
        self._running = mmap.mmap(-1, RUNNING.size)  # the number of the case, for when it is the last one
        self._pid, self._done = 0, 0
        self._pipe: Connection | None = None

    def run(self, subject: str, first: int, count: int) -> Results:
        """Draw that many cases and run them. The cases before one that ends the process are run a second time."""
        results, todo = Results(), [(first, first + count)]
        while todo:
            low, high = todo.pop()
            if low >= high:
                continue
            answer = self._request(subject, low, high)
            if isinstance(answer, Results):
                results.statuses += answer.statuses
                results.wrong += answer.wrong
            else:
                (number,) = RUNNING.unpack(self._running[:])
                results.add(number, *answer)
                todo += [(number + 1, high), (low, number)]
        return results

    def end(self) -> None:
        """End the process."""
        if self._pipe is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pipe.close()
        self._pipe, self._done = None, 0

    def _request(self, subject: str, low: int, high: int) -> Results | tuple[int, tuple[str]]:
        """Return the results of the cases, or of the running case that has ended the process."""
        if self._pipe is None or self._done >= MOST_CASES:
            self.end()
            self._pipe = self._start()
        self._done += high - low
        self._pipe.send((subject, low, high))
        before, same = self._running[:], 0
        try:
            while not self._pipe.poll(PATIENCE_S):
                before, same = self._running[:], same + 1 if self._running[:] == before else 0
                if same == LOOKS:
                    self.end()
                    return -signal.SIGKILL, (f"waits for something: nothing in {LOOKS * PATIENCE_S:g} s",)
            results: Results = self._pipe.recv()
            return results
        except (EOFError, ConnectionResetError):
            return self._died()

    def _died(self) -> tuple[int, tuple[str]]:
        _, status = os.waitpid(self._pid, 0)
        self._pipe, self._done = None, 0
        code = os.waitstatus_to_exitcode(status)
        return code, ("more than 10 s" if code == -signal.SIGXCPU else f"ended: {code}",)

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        self._pid = os.fork()
        if self._pid:
            theirs.close()
            return ours
        ours.close()
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os._exit(self._serve(theirs))

    def _serve(self, pipe: Connection) -> int:
        gc.freeze()  # what was loaded before is never garbage
        one_arena()
        kept = Places(self.place / "kept")
        with Capture() as capture:
            while True:
                try:
                    name, low, high = pipe.recv()
                except EOFError:
                    return 0
                results = Results()
                for number in range(low, high):
                    self._running[:] = RUNNING.pack(number)
                    answer = self._run_one(draw(self.subjects[name], self.seed, number), kept, capture)
                    results.add(number, answer.status, troubles(answer))
                pipe.send(results)

    def _run_one(self, case: Case, kept: Places, capture: Capture) -> Answer:
        if case.words[0] in PURE and case.tree.keys() == case.seed.keys():
            return run_in(case, kept.put(case), capture, case.size)
        return run_case(case, self.place / "case", capture)
