"""Figures of a period of time, from the events counted in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incprof.analysis.counters.events import Events
from incprof.model import FloatArray
from incprof.model.series import CounterSeries

# Size of a line of the last-level cache, on x86-64 and most other processors.
LINE_BYTES = 64


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def _misses(events: Events) -> str:
    """Return the event that counts misses of the last level; perf also has one for loads alone."""
    return "cache-misses" if events.column("cache-misses") is not None else "llc-load-misses"


def _system(events: Events) -> float | None:
    """Return the kernel's share of the CPU time."""
    user, system = events.mean("user"), events.mean("system")
    return None if user is None or system is None or user + system <= 0 else system / (user + system)


# The node's power, from any column.
POWER = "power-watts"


def with_power(series: CounterSeries) -> tuple[tuple[str, ...], FloatArray]:
    """Return the names and values (r, m) of a series, with its power."""
    if series.power is None:
        return series.names, series.values
    return (*series.names, POWER), np.column_stack([series.values, series.power.watts])


FIGURES: dict[str, Callable[[Events], float | None]] = {
    "power_w": lambda e: e.mean(POWER),
    "cpu": lambda e: e.mean("cpu") if e.column("cpu") is not None else _times(1e-9, e.per_second("task-clock")),
    "ipc": lambda e: e.ratio("instructions", "cycles") if e.column("instructions") is not None else e.mean("ipc"),
    "misses_per_1000": lambda e: _times(1000, e.ratio(_misses(e), "instructions")),
    "misses_per_cycle": lambda e: e.ratio(_misses(e), "cycles"),
    "miss_share": lambda e: e.ratio("cache-misses", "cache-references"),
    "memory_bytes_s": lambda e: _times(LINE_BYTES, e.per_second(_misses(e))),
    "branch_misses_per_1000": lambda e: _times(1000, e.ratio("branch-misses", "instructions")),
    "branch_misses_per_cycle": lambda e: e.ratio("branch-misses", "cycles"),
    "system_share": _system,
    "iowait": lambda e: e.mean("iowait"),
    "context_switches_s": lambda e: e.per_second("context-switches"),
    "page_faults_s": lambda e: e.per_second(
        "page-faults" if e.column("page-faults") is not None else "minor-faults"
    ),
    "major_faults_s": lambda e: e.per_second("major-faults"),
    "read_bytes_s": lambda e: e.per_second("read-bytes"),
    "write_bytes_s": lambda e: e.per_second("write-bytes"),
    "disk_read_bytes_s": lambda e: e.per_second("disk-read-bytes"),
    "disk_write_bytes_s": lambda e: e.per_second("disk-write-bytes"),
    "net_bytes_s": lambda e: _sum(e.per_second("net-rx-bytes"), e.per_second("net-tx-bytes")),
    "rss_bytes": lambda e: e.mean("rss-bytes"),
}  # fmt: skip


def figures_of(events: Events) -> dict[str, float]:
    """Return the figures that the events allow, in order."""
    found = {name: make(events) for name, make in FIGURES.items()}
    return {name: value for name, value in found.items() if value is not None}
