"""Frequency limits of processors, set through Linux's cpufreq and restored afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError, UsageError


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


def check_limits(found: Frequencies, wanted: list[int]) -> None:
    """Reject limits that the processors do not support.

    Raises:
        UsageError: one of them is too low or too high.
    """
    for khz in wanted:
        if not found.lowest <= khz <= found.highest:
            span = f"{found.lowest / 1e6:g} to {found.highest / 1e6:g} GHz"
            raise UsageError(f"--frequencies: {khz / 1e6:g} GHz: these processors support {span}")


def _read(policy: Path, name: str) -> int:
    return int((policy / name).read_text())


def _write(policy: Path, khz: int) -> None:
    try:
        (policy / "scaling_max_freq").write_text(f"{khz}\n")
    except OSError as error:
        raise IncprofError(f"{policy / 'scaling_max_freq'}: cannot be set to {khz}: {error.strerror}") from None
