"""Input and results of `incprof validate`; all that reports read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from incprof.model import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

# Values for times at which heartbeats indicate no phase.
SILENT, UNSEEN = -1, -2


@dataclass(frozen=True)
class Beats:
    """The heartbeats of one process, summed over threads: h heartbeats, m intervals.

    Attributes:
        start_s: (m,) seconds since the start of the heartbeats.
        end_s: (m,) seconds since the start of the heartbeats.
        ids: (h,).
        names: (h,), None without a name.
        factors: (h,) rate factors.
        busy_s: (h, m) seconds in beats, including unrecorded ones (times the rate factor).
        executed: (h, m) beats and pulses, including unrecorded ones.
        recorded: (h, m) recorded beats that ended.
        sum_s: (h, m) total duration of those, in seconds.
        pulses: (h, m) recorded pulses.
        present: (h, m) whether there was a beat, a pulse or a beat in progress.
        others: Names of the heartbeats that belong to no phase, and are not included.
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
class Alignment:
    """Map between the times of the heartbeats' run and of the recorded run.

    Attributes:
        kind: "clock", "scale" or "warp".
        recorded_s: (b,) ascending, seconds since the start of the recorded run; linear in between.
        beats_s: (b,) the same times in seconds since the start of the heartbeats' run.
        stretch: Length of the aligned part of the recorded run relative to that of the heartbeats' run.
        warp_mean: Mean shift by the warp, as a share of the aligned time (0 without a warp).
        warp_max: Greatest shift, likewise.
    """

    kind: str
    recorded_s: FloatArray = field(repr=False)
    beats_s: FloatArray = field(repr=False)
    stretch: float = 1.0
    warp_mean: float = 0.0
    warp_max: float = 0.0


@dataclass(frozen=True)
class Pieces:
    """The compared time, cut at the edges of both runs' intervals; all shape (p,).

    Attributes:
        recorded: Index of the interval in the recorded run, -1 if there is none.
        beats: Index of the interval in the heartbeats' run, -1 if there is none.
        end_s: End, in seconds of the recorded run.
        seconds: Length in the recorded run.
        beat_seconds: Length in the heartbeats' run, in seconds.
    """

    recorded: IntArray
    beats: IntArray
    end_s: FloatArray
    seconds: FloatArray
    beat_seconds: FloatArray


@dataclass(frozen=True)
class Timeline:
    """Both timelines, piece by piece, all shape (p,); phases are positions in PhaseResult.phases.

    Attributes:
        end_s: End, in seconds of the recorded run.
        seconds: Length.
        label: The recorded phase, -1 for none.
        named: The phase indicated by heartbeats, SILENT, or UNSEEN where they were not recorded.
        compared: Whether the piece is compared.
    """

    end_s: FloatArray
    seconds: FloatArray
    label: IntArray
    named: IntArray
    compared: BoolArray


@dataclass(frozen=True)
class PhaseAgreement:
    """A phase measured by its heartbeats. None without heartbeats, or without time.

    Attributes:
        id: Number of the phase.
        seconds: Recorded time in the phase.
        heartbeats: Ids of its heartbeats.
        missing: Sites without a heartbeat.
        same_as: First phase with the same heartbeats (usually itself).
        recall: Share of its compared time that is correctly indicated by heartbeats.
        coverage: Share of its time in intervals in which its heartbeats beat or are in progress.
        busy: Share of its time spent in its beats (the longest of them).
        spill_beats: Share of its beats in phases to which they do not belong.
        spill_busy: Share of the time in its beats in such phases.
        rate_hz: Beats per second of the phase.
        mean_s: Mean duration of these beats, in seconds.
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
    """Overhead of the heartbeats.

    Attributes:
        beats: Number of recorded pairs.
        skipped: Number of pairs and pulses that cost as much as a skipped pair.
        pair_ns: Cost of a recorded pair, in nanoseconds.
        skipped_ns: Cost of a skipped pair, in nanoseconds.
        own_s: CPU time of the interval thread.
        base_s: Time of the program: CPU time ("cpu"), or wall time of its threads with heartbeats ("wall").
        base: "cpu" or "wall".
        predicted_pct: Predicted from the recorded calls; None if these are insufficient.
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
        """CPU time of the beats, in the threads that beat."""
        return 1e-9 * (self.beats * self.pair_ns + self.skipped * self.skipped_ns)

    @property
    def beats_pct(self) -> float | None:
        """The same in percent of the program's time, comparable with the prediction."""
        return 100 * self.beats_s / self.base_s if self.base_s > 0 else None

    @property
    def seconds(self) -> float:
        """CPU time of the heartbeats, including the interval thread."""
        return self.beats_s + self.own_s

    @property
    def pct(self) -> float | None:
        """The same in percent of the program's time."""
        return 100 * self.seconds / self.base_s if self.base_s > 0 else None


@dataclass(frozen=True)
class Agreement:
    """Agreement of heartbeats with the recorded phases.

    Attributes:
        agreement: Share of the compared time in which both indicate the same phase, 0 to 1.
        kappa: Agreement beyond chance (Cohen); None with a single phase.
        balanced: Mean recall of the phases.
        unwarped: Agreement after scaling only; None without a warp.
        compared_s: Compared time, in seconds of the recorded run.
        total_s: Duration of the recorded run, in seconds.
        confusion: (k, k + 1) seconds by recorded phase and by phase indicated by heartbeats; last column: SILENT.
        phases: Measures of each phase.
        alignment: Alignment of the runs.
        timeline: Both timelines.
        notes: Notes on what was not compared.
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
