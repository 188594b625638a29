"""Paired measurements: two commands in turn, the ratio of each pair, median and spread of the ratios.

Machines are shared and clocks drift: two consecutive commands run under the same conditions, and the median of their
ratios is reliable where single times are not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Command = Sequence[str | Path]


@dataclass(frozen=True)
class Usage:
    """The resources used by a process.

    Attributes:
        elapsed_s: elapsed seconds.
        cpu_s: CPU seconds.
        peak_mb: peak memory in MB.
        output: its standard output.
    """

    elapsed_s: float
    cpu_s: float
    peak_mb: float
    output: str


@dataclass(frozen=True)
class Ratio:
    """Ratios of pairs; `best` is the minimum of one side over that of the other."""

    of_pairs: tuple[float, ...]
    best: float

    @property
    def median(self) -> float:
        """The median of the pairs."""
        return statistics.median(self.of_pairs)

    def __str__(self) -> str:
        """Return `0.27x (0.25-0.31, 7 pairs; best against best 0.26x)`."""
        return self.text()

    def text(self, digits: int = 3) -> str:
        """Return the same with that many digits."""
        values = self.median, min(self.of_pairs), max(self.of_pairs), self.best
        median, low, high, best = (f"{value:.{digits}g}" for value in values)
        return f"{median}x ({low}-{high}, {len(self.of_pairs)} pairs; best against best {best}x)"


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes:
        what: what was measured.
        bar: the required value.
        reached: the measured value.
        met: whether the bar is met, None without a bar.
    """

    what: str
    bar: str
    reached: str
    met: bool | None


def run(command: Command, cwd: Path, env: dict[str, str] | None = None) -> Usage:
    """Run a command to its end; raise CalledProcessError if it fails."""
    started = time.perf_counter()
    with subprocess.Popen(
        [str(word) for word in command], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.perf_counter() - started
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, [str(word) for word in command])
    return Usage(elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def compare(ours: Callable[[], float], peer: Callable[[], float], pairs: int) -> Ratio:
    """Return the ratio ours / peer over several pairs, after one unmeasured run of each; the order alternates."""
    ours()
    peer()
    first: list[float] = []
    second: list[float] = []
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            (second, first)[side == 0].append((ours, peer)[side]())
    ratios = tuple(a / b for a, b in zip(first, second, strict=True))
    return Ratio(ratios, min(first) / min(second))
