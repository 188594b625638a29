"""State of a running job to show; all that reports read."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.phase_result import Phase
from incprof.model import Function, IntArray, Metadata


@dataclass(frozen=True)
class LiveFunction:
    """A function, and its shares of the recent time and of the whole run (0..1)."""

    function: Function
    share: float
    run_share: float


@dataclass(frozen=True)
class LivePhase:
    """A phase with a stable number.

    Attributes:
        id: Stable number.
        intervals: Number of its intervals in the lead, over the whole run.
        found: Result of the last fit that contained it; its id and intervals are those of that fit.
    """

    id: int
    intervals: int
    found: Phase


@dataclass(frozen=True)
class LiveProcess:
    """State of a process.

    Attributes:
        rank: Rank of the process.
        pid: Process id; None if unknown.
        primary: Whether it is the rank's main process, not a child.
        metadata: Metadata of the recording.
        intervals: Number of intervals.
        elapsed_s: End of the last interval, in seconds since the start.
        label: Phase of the last interval, or BETWEEN or NEW (model.py).
        since_s: Duration of the current label, in seconds.
        labels: (m,) labels of the run so far, thinned out if it is long.
        cpus: CPU seconds per second in the last interval.
        behind_s: Delay of its data relative to the most recent rank's, in seconds.
        samples: Number of samples.
        lost: Number of lost samples.
        overhead_pct: Increase of CPU time by recording, in percent; None if not measured.
        ended: Whether the process has ended.
        killed: Whether it left without an end record.
        step: The phase's step with the greatest share of the last interval, and that share.
        functions: Functions with most recent self time.
        now_s: Length of the recent time that `functions` covers, in seconds.
    """

    rank: int
    pid: int | None
    primary: bool
    metadata: Metadata
    intervals: int
    elapsed_s: float
    label: int
    since_s: float
    labels: IntArray
    cpus: float
    behind_s: float
    samples: int
    lost: int
    overhead_pct: float | None
    ended: bool
    killed: bool
    step: tuple[Function, float] | None
    functions: tuple[LiveFunction, ...]
    now_s: float


@dataclass(frozen=True)
class LiveView:
    """State of the job.

    Attributes:
        processes: By rank, children last.
        lead: Index of the process that phases are fitted to.
        phases: The phases.
        fitted: Number of intervals at the last fit, 0 before the first.
    """

    processes: tuple[LiveProcess, ...]
    lead: int
    phases: tuple[LivePhase, ...]
    fitted: int

    @property
    def front(self) -> LiveProcess:
        """The lead, which phases are fitted to."""
        return self.processes[self.lead]
