"""What a command may take of the machine."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIMIT_MIB, LIMIT_TIMES = 64, 16
LIMIT_CPU_S = 10


def cpu_used() -> float:
    """User and system time of this process, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def limits(size: int) -> Iterator[None]:
    """Refuse memory beyond 16 times so many bytes and 64 MiB; end this process by SIGXCPU after 10 s of CPU."""
    before = {what: resource.getrlimit(what) for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU)}
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft = {
        resource.RLIMIT_AS: mapped + LIMIT_TIMES * size + (LIMIT_MIB << 20),
        resource.RLIMIT_CPU: int(cpu_used()) + LIMIT_CPU_S + 1,
    }
    for what, value in soft.items():
        resource.setrlimit(what, (value, before[what][1]))
    try:
        yield
    finally:
        for what, pair in before.items():
            resource.setrlimit(what, pair)
