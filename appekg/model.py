"""The content of a heartbeat file, as numpy tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appekg._cost import Cost

# One row per (process, interval, thread, id). Times in ns, as in formats.md. `process` and `interval` are indices: in
# Heartbeats.processes, and in that process's `intervals`. `busy_ns` is not in the file: the time spent in beats within
# the interval (appekg/busy.py). `executions` of a file without them are estimated from its rate factors.
ROW = np.dtype(
    [
        ("process", np.int32),
        ("interval", np.int64),
        ("thread", np.int64),
        ("id", np.int64),
        ("count", np.int64),
        ("pulses", np.int64),
        ("sum_ns", np.int64),
        ("min_ns", np.int64),
        ("max_ns", np.int64),
        ("sumsq_ns2", np.float64),
        ("nested_ns", np.int64),
        ("open", np.int64),
        ("open_ns", np.int64),
        ("executions", np.int64),
        ("busy_ns", np.int64),
    ],
    align=True,
)

# One row per interval of a process. `start_ns` and `end_ns`: since the start of the process's heartbeats.
INTERVAL = np.dtype(
    [
        ("interval", np.int64),
        ("start_ns", np.int64),
        ("end_ns", np.int64),
        ("threads", np.int64),
        ("dropped", np.int64),
        ("unmatched", np.int64),
        ("abandoned", np.int64),
        ("lost_intervals", np.int64),
        ("lost_rows", np.int64),
        ("own_ns", np.int64),
        ("enabled", np.bool_),
    ],
    align=True,
)


@dataclass(frozen=True)
class Beat:
    """The name of an id (None without one) and its rate factor (1 beat in this many is recorded)."""

    id: int
    name: str | None
    rate_factor: int


@dataclass(frozen=True)
class Process:
    """One file: a rank, or a further process of a rank.

    Attributes:
        path: The file.
        rank: Rank assigned by the launcher; 0 without one.
        metadata: The `#appekg` object.
        intervals: Complete intervals in file order, dtype INTERVAL, shape (n,).
        tids: Thread number to kernel thread id.
        clean: Whether the run ended cleanly.
    """

    path: Path
    rank: int
    metadata: dict[str, Any]
    intervals: NDArray[np.void]
    tids: dict[int, int]
    clean: bool

    @cached_property
    def start_unix_s(self) -> float:
        """Start of the heartbeats, in seconds since 1970."""
        return float(self.metadata.get("start_unix_ns", 0)) / 1e9

    @cached_property
    def duration_s(self) -> float:
        """Seconds from the start to the end of the last complete interval."""
        return float(self.intervals["end_ns"][-1]) / 1e9 if len(self.intervals) else 0.0

    @property
    def app(self) -> str:
        """Name of the program."""
        return str(self.metadata.get("app") or "?")

    @property
    def interval_s(self) -> float:
        """Nominal length of an interval, in seconds."""
        return float(self.metadata.get("interval_s", 1.0))

    @property
    def cost(self) -> Cost | None:
        """Cost of a heartbeat, as measured on the machine of the process; None where it was not measured."""
        pair, skipped = self.metadata.get("pair_ns"), self.metadata.get("skipped_ns")
        return Cost(pair, skipped) if pair is not None and skipped is not None else None
