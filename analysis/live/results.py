"""What there is to see of a running job. Reports read these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.phases.results import Phase
from incprof.model import Function, IntArray, Metadata


@dataclass(frozen=True)
class LiveFunction:
    """A function: share of the time lately, and of the whole run (0..1)."""

    function: Function
    share: float
    run_share: float


@dataclass(frozen=True)
class LivePhase:
    """A phase by the number that it keeps. intervals: of the process that phases are fitted to, all of them.

    found: as the last fit that saw it found it; its id and intervals are those of that fit.
    """

    id: int
    intervals: int
    found: Phase


@dataclass(frozen=True)
class LiveProcess:
    """A process. label: phase of the last interval, or BETWEEN or NEW (analysis.live.model). since_s: for how long.

    labels: (m,) of the run so far, thinned out where it is long. elapsed_s: to the end of the last interval.
    cpus: CPU seconds per second in the last interval. behind_s: how much earlier than another rank's its data ends.
    lost: samples. overhead_pct: by how much recording has raised the CPU time, None where it is not measured.
    step: what the phase repeats, the one with most of the last interval, and how much.
    now_s: length of what `functions` calls lately.
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
    """The job. processes: by rank, children last. lead: the one that phases are fitted to, an index of them.

    fitted: intervals that the phases were found in, 0 before the first fit.
    """

    processes: tuple[LiveProcess, ...]
    lead: int
    phases: tuple[LivePhase, ...]
    fitted: int

    @property
    def front(self) -> LiveProcess:
        """The process that phases are fitted to."""
        return self.processes[self.lead]
