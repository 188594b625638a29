"""Phases of a run's communication, and the thresholds for finding them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.signature_types import Grammar

Method = Literal["robust", "paper", "global"]


# Upper limits for a cheap signature run: a twentieth of a short run, some seconds of a long one.
MOST, MOST_S = 0.05, 4.0


@dataclass(frozen=True)
class SignatureOptions:
    """Thresholds for finding and measuring phases.

    Attributes:
        similar: Least ratio of the work before two events that count as alike; None: the paper's 0.85 if work was
            counted, and what the noise permits if it is a time.
        relevant: Least share of the run in a phase (the paper's, 0.01).
        warm_up: Occurrences of a phase that are not measured.
        occurrences: Least number of occurrences measured after that.
        least: Least share of the run that is measured, from where the first phase begins.
        precise: Measuring continues until the interval of the prediction is this narrow, relative to it, on each side.
        most: Greatest share of the run that is measured; phases that begin later are omitted. None: limited by MOST and
            MOST_S, but long enough to see every phase.
    """

    similar: float | None = None
    relevant: float = 0.01
    warm_up: int = 1
    occurrences: int = 3
    least: float = 0.005
    precise: float = 0.01
    most: float | None = None

    def most_of(self, aet_s: float) -> float:
        """Return the share of a run of some seconds up to which measuring continues for precision."""
        return self.most if self.most is not None else min(MOST, MOST_S / aet_s) if aet_s > 0 else MOST


DEFAULT = SignatureOptions()


@dataclass(frozen=True)
class EventPhase:
    """A repeated pattern of events in one process.

    Attributes:
        id: From 0, by first appearance.
        kinds: Kinds of the events of its first occurrence, in order, without those of other phases.
        starts: (weight,) first event of each occurrence.
        ends: (weight,) event after the last one of each occurrence.
        time_s: (weight,) time of each occurrence, without that of other phases in it.
        loop: Number of its loop; None for the paper's phases.
        whole: Whether no loop inside it is a phase.
    """

    id: int
    kinds: tuple[int, ...]
    starts: IntArray
    ends: IntArray
    time_s: FloatArray
    loop: int | None = None
    whole: bool = True

    @property
    def weight(self) -> int:
        """Number of occurrences."""
        return len(self.time_s)

    @property
    def seconds(self) -> float:
        """Total time of all occurrences."""
        return float(self.time_s.sum())


@dataclass(frozen=True)
class ProcessPhases:
    """The relevant phases of one process, and the remaining time.

    Attributes:
        phases: By first appearance.
        label: (n,) the phase of each event; -1 for none.
        aet_s: Time of the whole run.
        outside_s: Time in no phase.
        grammar: Grammar of its loops; None for the paper's phases.
    """

    phases: tuple[EventPhase, ...]
    label: IntArray
    aet_s: float
    outside_s: float
    grammar: Grammar | None = None

    @property
    def coverage(self) -> float:
        """Share of the run in phases."""
        return 1.0 - self.outside_s / self.aet_s if self.aet_s > 0 else 0.0
