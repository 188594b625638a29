"""The cost of `incprof top` for the job that it watches."""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result, Usage, run

SECONDS = 20
FEWEST_PAIRS = 5


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "top", lambda: _Job(bed).measured()


@dataclass
class _Job:
    """A recorded program that only computes.

    Attributes:
        bed: where it runs.
        cpu_of_top: CPU seconds of `incprof top` in each run.
    """

    bed: Bed
    cpu_of_top: list[float] = field(default_factory=list)

    def measured(self) -> list[Result]:
        """Run pairs of watched and alone, and between them pairs of alone and alone, which measure the noise."""
        program = self.bed.compile("sums.c")
        rounds = SECONDS * int(run([program], self.bed.scratch).output)
        job: Command = [str(program), str(rounds)]
        triples = [(self._alone(job), self._watched(job), self._alone(job)) for _ in range(self._pairs)]
        return [
            _judged(f"a job under `incprof top`, {what}", triples, of)
            for what, of in (("CPU time", lambda u: u.cpu_s), ("elapsed time", lambda u: u.elapsed_s))
        ] + [self._own_cost()]

    @property
    def _pairs(self) -> int:
        return max(self.bed.pairs, FEWEST_PAIRS)

    def _alone(self, job: Command) -> Usage:
        return run(job, self.bed.scratch, self.bed.environment(interval=0.5))

    def _watched(self, job: Command) -> Usage:
        """Run the job with the screen of `incprof top` beside it, from the beginning to the end."""
        environment = self.bed.environment(interval=0.5)
        master, slave = pty.openpty()
        reader = threading.Thread(target=_drain, args=(master,))
        reader.start()
        command = [sys.executable, "-m", "incprof", "top", environment["INCPROF_DIR"]]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm-256color"}
        ) as top:
            os.close(slave)
            usage = run(job, self.bed.scratch, environment)
            _, status, used = os.wait4(top.pid, 0)
            top.returncode = os.waitstatus_to_exitcode(status)
        reader.join()
        os.close(master)
        assert top.returncode == 0
        self.cpu_of_top.append(used.ru_utime + used.ru_stime)
        return usage

    def _own_cost(self) -> Result:
        middle = statistics.median(self.cpu_of_top)
        return Result(f"`incprof top`, its own CPU time for {SECONDS} s", "-", f"{middle:.2f} s", None)


def _drain(master: int) -> None:
    """Read the screen output until its last writer has closed it."""
    with suppress(OSError):
        while os.read(master, 1 << 16):
            pass


def _judged(what: str, triples: list[tuple[Usage, Usage, Usage]], of: Callable[[Usage], float]) -> Result:
    """Compare watched with the mean of the runs alone before and after it; the noise is one of these over the other."""
    ratios = [2 * of(watched) / (of(before) + of(after)) for before, watched, after in triples]
    noise = [of(after) / of(before) for before, _, after in triples]
    middle, low, high = statistics.median(ratios), min(noise), max(noise)
    reached = f"{middle:.4g}x ({min(ratios):.4g}-{max(ratios):.4g}, {len(ratios)} pairs); alone {low:.4g}-{high:.4g}"
    return Result(what, "within the noise of alone against alone", reached, low <= middle <= high)
