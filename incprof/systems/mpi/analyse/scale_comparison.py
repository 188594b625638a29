"""Compare runs of a program with several numbers of processes: the paper's Tables 3 to 6 (Section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.systems.mpi.analyse.event_phases import Method
from incprof.systems.mpi.analyse.signature import Signature


@dataclass(frozen=True)
class Analysis:
    """Result of one method for a run.

    Attributes:
        method: Method of finding phases.
        seconds: Duration of the analysis, including reading (the paper's TFAT).
        pet_s: Predicted time, in seconds.
        error: Error of the prediction, relative to the run's time (PETE).
        set_s: Total time of one occurrence of each phase (SET), in seconds.
        phases: Number of phases.
        coverage: Share of the run in phases.
    """

    method: Method
    seconds: float
    pet_s: float
    error: float
    set_s: float
    phases: int
    coverage: float


@dataclass(frozen=True)
class ScaledRun:
    """A run at one scale.

    Attributes:
        directory: Directory of its traces.
        app: The program.
        ranks: Number of processes with a trace.
        aet_s: Time of the representative process, in seconds.
        events: Number of events in all processes.
        trace_bytes: Size of all traces.
        analyses: Result of each of the compared methods.
    """

    directory: str
    app: str
    ranks: int
    aet_s: float
    events: int
    trace_bytes: int
    analyses: tuple[Analysis, ...]


def analysis_of(signature: Signature, seconds: float) -> Analysis:
    """Summarise the signature of a run. seconds: duration of the analysis."""
    process = signature.process
    return Analysis(
        method=signature.method,
        seconds=seconds,
        pet_s=process.predicted.pet_s,
        error=process.error,
        set_s=sum(time.mean_s for time in process.predicted.phases),
        phases=len(process.found.phases),
        coverage=process.found.coverage,
    )


def by_program(runs: Iterable[ScaledRun]) -> list[list[ScaledRun]]:
    """Group runs by program, in the order of their names, and sort each group by the number of processes."""
    groups: dict[str, list[ScaledRun]] = {}
    for run in runs:
        groups.setdefault(run.app, []).append(run)
    return [sorted(groups[app], key=lambda run: run.ranks) for app in sorted(groups)]


def variation(values: Sequence[float]) -> float | None:
    """Return the coefficient of variation: the sample's standard deviation over its mean. None for fewer than two."""
    mean = float(np.mean(values)) if len(values) > 1 else 0.0
    return float(np.std(values, ddof=1)) / mean if mean > 0 else None
