"""Results from counters, by phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from incprof.model import Function

By = Literal["waiting", "mpi", "openmp", "io", "memory", "branches", "kernel", "stalls", "instructions"]


@dataclass(frozen=True)
class Bound:
    """Bound of a phase.

    Attributes:
        by: what the phase is bound by.
        share: of its time or its cycles that the rule is based on, from 0; None: no share.
    """

    by: By
    share: float | None = None


@dataclass(frozen=True)
class StepEnergy:
    """A step of a phase.

    Attributes:
        function: the function of the step.
        calls: number of calls.
        energy_j: energy of the node per call, joules.
    """

    function: Function
    calls: int
    energy_j: float


@dataclass(frozen=True)
class PhaseCounters:
    """The counters of a phase.

    Attributes:
        id: of the phase.
        seconds: sampled in the phase.
        figures: by their names in figures.py and energy.py.
        bound: None where the counters do not show it.
        steps: with their energy, where power was measured.
    """

    id: int
    seconds: float
    figures: Mapping[str, float]
    bound: Bound | None
    steps: tuple[StepEnergy, ...] = ()


@dataclass(frozen=True)
class PowerUnder:
    """Source and energy of the power samples.

    Attributes:
        name: of the column.
        simulated: the formula; None if power was measured.
        energy_j: of the run, joules.
        between_j: of these, in no phase.
        measured_s: measured time of the run, seconds.
        notes: what the power includes.
    """

    name: str
    simulated: str | None
    energy_j: float
    between_j: float
    measured_s: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CountersUnder:
    """Counters of a file, by phase.

    Attributes:
        path: of the file.
        phases: counters of each phase.
        by_clock: whether the rows are placed by the clock; else both are assumed to have begun together.
        offset_s: start of the rows, seconds after the start of the recording.
        row_s: usual length of a row, seconds.
        left_out: number of rows in which the phase changes, or between phases.
        outside: number of rows before or after the run.
        notes: the file's own notes on its columns.
        unknown: columns that no figure uses.
        power: None where none was sampled.
    """

    path: str
    phases: tuple[PhaseCounters, ...]
    by_clock: bool
    offset_s: float
    row_s: float
    left_out: int
    outside: int
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    power: PowerUnder | None = None
