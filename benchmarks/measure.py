"""Paired measurements: two commands in turn, the ratio of each pair, median and spread of the ratios.

Machines are shared and clocks drift: two commands that run right after each other see the same machine, and the
median of their ratios holds where single times do not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """What a process cost: elapsed and CPU seconds, peak memory in MB, its standard output."""

    elapsed_s: float
    cpu_s: float
    peak_mb: float
    output: str


@dataclass(frozen=True)
class Ratio:
    """Ratios of pairs: median, lowest and highest, number of pairs."""

    median: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        """`0.27x (0.25-0.31, 7 pairs)`."""
        return f"{self.median:.3g}x ({self.low:.3g}-{self.high:.3g}, {self.pairs} pairs)"


@dataclass(frozen=True)
class Result:
    """One line of the table: what was measured, the bar it has to reach, what came out."""

    what: str
    bar: str
    reached: str
    met: bool


def run(command: Sequence[str | Path], cwd: Path, env: dict[str, str] | None = None) -> Usage:
    """Runs a command to its end; raises CalledProcessError if it fails."""
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
    """The ratio ours / peer over several pairs, after one unmeasured run of each; the order alternates."""
    ours()
    peer()
    ratios = []
    for pair in range(pairs):
        if pair % 2 == 0:
            first, second = ours(), peer()
        else:
            second, first = peer(), ours()
        ratios.append(first / second)
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), pairs)
