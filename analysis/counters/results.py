"""What counters say of phases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from incprof.model import Function

By = Literal["waiting", "mpi", "openmp", "io", "memory", "branches", "kernel", "stalls", "instructions"]


@dataclass(frozen=True)
class Bound:
    """What a phase is bound by. share: of its time or of its cycles that the rule goes by, 0 and more; None: none."""

    by: By
    share: float | None = None


@dataclass(frozen=True)
class StepEnergy:
    """A step of a phase: how often it was called, and the energy of the node in a call, joules."""

    function: Function
    calls: int
    energy_j: float


@dataclass(frozen=True)
class PhaseCounters:
    """The counters of a phase. seconds: that were sampled in it. figures: by their names in figures.py and energy.py.

    bound: None where nothing was counted that tells. steps: with their energy, where power was measured.
    """

    id: int
    seconds: float
    figures: Mapping[str, float]
    bound: Bound | None
    steps: tuple[StepEnergy, ...] = ()


@dataclass(frozen=True)
class PowerUnder:
    """Where energy comes from. name: the column. simulated: the formula, None: it was measured.

    energy_j: of the run, joules. between_j: of these in no phase. measured_s: of the run. notes: what power is of.
    """

    name: str
    simulated: str | None
    energy_j: float
    between_j: float
    measured_s: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CountersUnder:
    """Counters of a file, by phase. row_s: usual length of a row.

    by_clock: they lie where the clock says, offset_s after the start of the recording; else both are taken to have
    begun together. left_out: rows in which the phase changes, or between phases. outside: before or after the run.
    notes: what the file says of its columns. unknown: columns that mean nothing here.
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
