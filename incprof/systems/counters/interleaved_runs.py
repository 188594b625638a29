"""Runs of a program under several settings, in turn, so that drift of the machine affects all of them alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from incprof.errors import IncprofError
from incprof.readers.series.counter_series import read_counters
from incprof.systems.counters.advice import Setting
from incprof.systems.counters.cpufreq import Frequencies

OWN = (sys.executable, "-m", "incprof")
# Exit status of incprof sample without anything to sample.
NOTHING = 4


@dataclass
class Recorded:
    """The recordings of a setting.

    Attributes:
        setting: the setting.
        runs: run directories.
        counters: the counter file of each run; empty where the machine's counters cannot be sampled.
    """

    setting: Setting
    runs: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)

    @property
    def has_power(self) -> bool:
        """Return whether power was sampled during all of them."""
        return len(self.counters) == len(self.runs) and all(read_counters(path).power for path in self.counters)


def record_all(
    command: Sequence[str], settings: Sequence[Setting], output: Path, *, rounds: int, interval: str,
    limits: Frequencies | None, sample: Sequence[str] = (),
) -> list[Recorded]:  # fmt: skip
    """Run a program that many times under each setting.

    Args:
        command: the program and its arguments. Its input is empty, and its output goes to stderr.
        settings: the first is the baseline.
        output: an existing empty directory for the recordings.
        rounds: runs of each setting.
        interval: of the recording.
        limits: sets frequencies, if settings have some.
        sample: further arguments of incprof sample.

    Raises:
        IncprofError: the program does not exit with status 0, or a frequency cannot be set.
    """
    found = [Recorded(setting) for setting in settings]
    for number in range(1, rounds + 1):
        for each in found:
            directory = output / f"{each.setting.slug}-{number}"
            words = [*OWN, "record", "-i", interval, "-o", str(directory), "--", *command]
            counters = output / f"{directory.name}.csv"
            beside = [*OWN, "sample", "--system", "-i", interval, *sample, "-o", str(counters), "--", *words]
            if limits is None:
                status = _run(beside, words, each.setting, directory)
            else:
                with limits.limited(each.setting.khz):
                    status = _run(beside, words, each.setting, directory)
            if status != 0:
                raise IncprofError(
                    f"{command[0]} ended with status {status} under {each.setting.name}: no advice; "
                    f"recordings are in {output}"
                )
            each.runs.append(str(directory))
            if counters.is_file():
                each.counters.append(str(counters))
    return found


def _run(beside: Sequence[str], words: Sequence[str], setting: Setting, directory: Path) -> int:
    """Run with the machine's counters, or without if there are none; return the exit status."""
    status = _wait(beside, setting)
    if status == NOTHING and not directory.exists():
        status = _wait(words, setting)
    return status


def _wait(words: Sequence[str], setting: Setting) -> int:
    """Run and wait. A terminating signal ends the program first, so that frequencies are restored."""
    environment = dict(os.environ)
    if setting.threads is not None:
        environment["OMP_NUM_THREADS"] = str(setting.threads)
    process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno())
    ends = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(each, lambda number, frame: process.send_signal(number)) for each in ends]
    try:
        status = process.wait()
    except KeyboardInterrupt:
        process.wait()  # the terminal has signalled it as well
        raise
    finally:
        for each, handler in zip(ends, before, strict=True):
            signal.signal(each, handler)
    return 128 - status if status < 0 else status
