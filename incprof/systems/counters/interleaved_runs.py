"""Runs of a program under several settings, in turn, so that drift of the machine affects all of them alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from incprof.errors import IncprofError, UsageError
from incprof.readers.series.counter_series import read_counters
from incprof.systems.counters.advice import Setting

OWN = (sys.executable, "-m", "incprof")
# Exit status of incprof sample without anything to sample.
NO_COUNTERS = 4


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
    recorded = [Recorded(setting) for setting in settings]
    for number in range(1, rounds + 1):
        for each in recorded:
            directory = output / f"{each.setting.slug}-{number}"
            words = [*OWN, "record", "-i", interval, "-o", str(directory), "--", *command]
            counters = output / f"{directory.name}.csv"
            recorder_words = [*OWN, "sample", "--system", "-i", interval, *sample, "-o", str(counters), "--", *words]
            if limits is None:
                status = _run(recorder_words, words, each.setting, directory)
            else:
                with limits.limited(each.setting.khz):
                    status = _run(recorder_words, words, each.setting, directory)
            if status != 0:
                raise IncprofError(
                    f"{command[0]} ended with status {status} under {each.setting.name}: no advice; "
                    f"recordings are in {output}"
                )
            each.runs.append(str(directory))
            if counters.is_file():
                each.counters.append(str(counters))
    return recorded


def _run(recorder_words: Sequence[str], words: Sequence[str], setting: Setting, directory: Path) -> int:
    """Run with the machine's counters, or without if there are none; return the exit status."""
    status = _wait(recorder_words, setting)
    if status == NO_COUNTERS and not directory.exists():
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


# Frequency limits of processors, set through Linux's cpufreq and restored afterwards.


@dataclass(frozen=True)
class Frequencies:
    """The policies of a machine and their frequency limits.

    Attributes:
        policies: directories in sysfs.
        lowest: the lowest limit that all of them support, kHz.
        highest: the highest such limit, kHz.
        now: the current limit of each policy, kHz.
    """

    policies: tuple[Path, ...]
    lowest: int
    highest: int
    now: tuple[int, ...]

    def steps(self) -> tuple[int, ...]:
        """Return limits worth trying: two thirds of the way down, and the lowest."""
        middle = self.highest - (self.highest - self.lowest) // 2
        return tuple(dict.fromkeys(each for each in (middle, self.lowest) if each < self.highest))

    @contextmanager
    def limited(self, khz: int | None) -> Iterator[None]:
        """Limit the frequency while the body runs; None leaves it unchanged.

        Raises:
            IncprofError: the kernel rejects the limit.
        """
        try:
            if khz is not None:
                for policy in self.policies:
                    _write(policy, khz)
            yield
        finally:
            if khz is not None:
                for policy, before in zip(self.policies, self.now, strict=True):
                    _write(policy, before)


def frequencies(sysfs: str) -> Frequencies | str:
    """Return the limits that may be set here, or the reason why none may be."""
    policies = sorted(Path(sysfs, "devices/system/cpu/cpufreq").glob("policy[0-9]*"))
    if not policies:
        return "this machine, or its hypervisor, has no cpufreq"
    if not all(os.access(policy / "scaling_max_freq", os.W_OK) for policy in policies):
        return f"{policies[0] / 'scaling_max_freq'} is writable for root only"
    try:
        lowest = max(_read(policy, "cpuinfo_min_freq") for policy in policies)
        highest = min(_read(policy, "cpuinfo_max_freq") for policy in policies)
        now = tuple(_read(policy, "scaling_max_freq") for policy in policies)
    except (OSError, ValueError) as error:
        return f"its cpufreq cannot be read: {error}"
    if lowest >= highest:
        return "its processors have one frequency"
    return Frequencies(tuple(policies), lowest, min(highest, *now), now)


def check_limits(frequencies: Frequencies, limits: list[int]) -> None:
    """Reject limits that the processors do not support.

    Raises:
        UsageError: one of them is too low or too high.
    """
    for khz in limits:
        if not frequencies.lowest <= khz <= frequencies.highest:
            span = f"{frequencies.lowest / 1e6:g} to {frequencies.highest / 1e6:g} GHz"
            raise UsageError(f"--frequencies: {khz / 1e6:g} GHz: these processors support {span}")


def _read(policy: Path, name: str) -> int:
    return int((policy / name).read_text())


def _write(policy: Path, khz: int) -> None:
    try:
        (policy / "scaling_max_freq").write_text(f"{khz}\n")
    except OSError as error:
        raise IncprofError(f"{policy / 'scaling_max_freq'}: cannot be set to {khz}: {error.strerror}") from None
