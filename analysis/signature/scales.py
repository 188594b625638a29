"""Runs of a program on several numbers of processes, side by side: the paper's Tables 3 to 6 (Section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.signature.find import Signature
from incprof.analysis.signature.results import Method


@dataclass(frozen=True)
class Analysis:
    """What one method makes of a run.

    Attributes:
        method: Of finding phases.
        seconds: That it took, reading included (the paper's TFAT).
        pet_s: Predicted time.
        error: By how much that is off, of the run's time (PETE).
        set_s: Sum of the times of the phases, one occurrence of each (SET).
        phases: How many there are.
        coverage: The part of the run that lies in them.
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
        directory: Of its traces.
        app: The program.
        ranks: Processes that have a trace.
        aet_s: Time of the representative process.
        events: Of all processes.
        trace_bytes: Size of all traces.
        analyses: By each of the methods that are compared.
    """

    directory: str
    app: str
    ranks: int
    aet_s: float
    events: int
    trace_bytes: int
    analyses: tuple[Analysis, ...]


def analysis_of(signature: Signature, seconds: float) -> Analysis:
    """Summarise the signature of a run. seconds: that it took to find it."""
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
