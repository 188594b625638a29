"""What `incprof validate` compares, and what it answers. Reports read these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from incprof.model import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

# What the heartbeats may say of a moment besides the place of a phase.
SILENT, UNSEEN = -1, -2


@dataclass(frozen=True)
class Beats:
    """The heartbeats of one process, all threads together: h heartbeats, m intervals.

    start_s, end_s: (m,) seconds since the start of the heartbeats. names: (h,), None without one. factors: (h,).
    busy_s, executed: (h, m) seconds that passed in beats, and beats and pulses, of those that were not recorded too
    (times the rate factor). recorded: (h, m) beats that ended, sum_s: (h, m) of their durations, pulses: (h, m).
    present: (h, m) whether there was a beat, a pulse or a beat in progress. others: what the heartbeats are called that
    are not here, because they belong to no phase.
    """

    start_s: FloatArray
    end_s: FloatArray
    ids: tuple[int, ...]
    names: tuple[str | None, ...]
    factors: IntArray
    busy_s: FloatArray
    executed: FloatArray
    recorded: FloatArray
    sum_s: FloatArray
    pulses: FloatArray
    present: BoolArray
    others: tuple[str, ...] = ()

    @property
    def length_s(self) -> FloatArray:
        """Length of each interval, (m,) seconds."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Matched:
    """Which heartbeats belong to which phases. Places are those in Beats.ids and in PhaseResult.phases.

    of_phase: for each phase the places of its heartbeats. functions: for each heartbeat the columns in the profile of
    the functions whose sites it stands for. loops: for each heartbeat whether one of these sites is a loop. missing:
    for each phase the sites without a heartbeat, `function:kind`.
    """

    of_phase: tuple[tuple[int, ...], ...]
    functions: tuple[tuple[int, ...], ...]
    loops: tuple[bool, ...]
    missing: tuple[tuple[str, ...], ...]

    @property
    def used(self) -> tuple[int, ...]:
        """Heartbeats that belong to a phase."""
        return tuple(place for place, columns in enumerate(self.functions) if columns)


@dataclass(frozen=True)
class Alignment:
    """Which moment of the heartbeats' run is which moment of the recorded one.

    kind: "clock", "scale" or "warp". recorded_s, beats_s: (b,) ascending, seconds since the start of either run; in
    between, time goes evenly. stretch: length of the aligned part of the recorded run over that of the heartbeats'.
    warp_mean, warp_max: how far the warp moves a moment, as a part of the aligned time (0 without a warp).
    """

    kind: str
    recorded_s: FloatArray = field(repr=False)
    beats_s: FloatArray = field(repr=False)
    stretch: float = 1.0
    warp_mean: float = 0.0
    warp_max: float = 0.0


@dataclass(frozen=True)
class Pieces:
    """The compared time, cut at every interval's edge of either run; all shape (p,).

    recorded, beats: positions of the interval in either run, -1 where there is none. end_s: seconds of the recorded
    run. seconds, beat_seconds: length in either run.
    """

    recorded: IntArray
    beats: IntArray
    end_s: FloatArray
    seconds: FloatArray
    beat_seconds: FloatArray


@dataclass(frozen=True)
class Timeline:
    """Both timelines, piece by piece, all shape (p,); phases are places in PhaseResult.phases.

    label: the recorded phase, -1 for none. named: what the heartbeats say: a phase, SILENT, or UNSEEN where they were
    not recorded. compared: whether the piece counts.
    """

    end_s: FloatArray
    seconds: FloatArray
    label: IntArray
    named: IntArray
    compared: BoolArray


@dataclass(frozen=True)
class PhaseAgreement:
    """A phase, seen by its heartbeats. None where that makes no sense: no heartbeats, or no time.

    same_as: the first phase with the same heartbeats (itself, mostly). recall: share of its compared time that the
    heartbeats call by its name. coverage: share of its time in intervals in which its heartbeats beat or are in
    progress. busy: share of its time that passes in its beats (the longest of them). spill_beats, spill_busy: share of
    their beats, and of the time in them, that lies in phases to which they do not belong. rate_hz, mean_s: their beats
    per second of the phase, and the mean duration of those.
    """

    id: int
    seconds: float
    heartbeats: tuple[int, ...]
    missing: tuple[str, ...]
    same_as: int
    recall: float | None
    coverage: float | None
    busy: float | None
    spill_beats: float | None
    spill_busy: float | None
    rate_hz: float | None
    mean_s: float | None


@dataclass(frozen=True)
class Overhead:
    """What the heartbeats cost. beats: recorded pairs; skipped: pairs and pulses that cost what a skipped pair costs.

    own_s: CPU time of the interval thread. base_s: of the program, CPU time ("cpu") or wall time of
    its threads with heartbeats ("wall"). predicted_pct: from the recorded calls; None where they do not say.
    """

    beats: float
    skipped: float
    pair_ns: float
    skipped_ns: float
    own_s: float
    base_s: float
    base: str
    predicted_pct: float | None

    @property
    def beats_s(self) -> float:
        """CPU time that the beats took in the threads that beat."""
        return 1e-9 * (self.beats * self.pair_ns + self.skipped * self.skipped_ns)

    @property
    def beats_pct(self) -> float | None:
        """The same in percent of the program's time: what is predicted."""
        return 100 * self.beats_s / self.base_s if self.base_s > 0 else None

    @property
    def seconds(self) -> float:
        """CPU time that the heartbeats took, the interval thread's included."""
        return self.beats_s + self.own_s

    @property
    def pct(self) -> float | None:
        """Percent of the program's time."""
        return 100 * self.seconds / self.base_s if self.base_s > 0 else None


@dataclass(frozen=True)
class Agreement:
    """How well the heartbeats tell the story that was recorded.

    agreement: share of the compared time in which both name the same phase, 0..1. kappa: the same beyond chance
    (Cohen); None where there is one phase only. balanced: mean recall of the phases. unwarped: the agreement that
    scaling alone gives; None without a warp. compared_s, total_s: seconds of the recorded run. confusion: (k, k + 1)
    seconds of compared time by recorded phase and what the heartbeats say, the last column SILENT.
    """

    agreement: float
    kappa: float | None
    balanced: float
    unwarped: float | None
    compared_s: float
    total_s: float
    confusion: FloatArray
    phases: tuple[PhaseAgreement, ...]
    alignment: Alignment
    timeline: Timeline
    notes: tuple[str, ...] = ()
