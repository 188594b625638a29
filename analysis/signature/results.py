"""What is known of the phases of a run's communication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from incprof.model import FloatArray, IntArray
from incprof.model.signature import Grammar

Method = Literal["robust", "paper", "global"]


# A signature run is to be cheap: a twentieth of a short run, some seconds of a long one.
MOST, MOST_S = 0.05, 4.0


@dataclass(frozen=True)
class SignatureOptions:
    """How phases are found and weighed.

    similar: least ratio of the work before two events for which they are alike; None: the paper's 0.85 where work was
        counted, and what noise permits where it is a time.
    relevant: least part of the run that a phase has (the paper's, 0.01).
    warm_up, occurrences: how often a phase is let pass, and is then measured at least.
    least: part of the run that is measured at least, from where the first phase begins.
    precise: more is measured until the range of the prediction is as narrow as this part of it, to either side.
    most: part of the run that is measured at most; a phase that begins later is left out. None: as much as MOST and
        MOST_S allow, and what is needed to see every phase.
    """

    similar: float | None = None
    relevant: float = 0.01
    warm_up: int = 1
    occurrences: int = 3
    least: float = 0.005
    precise: float = 0.01
    most: float | None = None

    def most_of(self, aet_s: float) -> float:
        """Return the part of a run of some seconds up to which precision is bought by measuring more."""
        return self.most if self.most is not None else min(MOST, MOST_S / aet_s) if aet_s > 0 else MOST


DEFAULT = SignatureOptions()


@dataclass(frozen=True)
class EventPhase:
    """What comes again and again in one process.

    Attributes:
        id: From 0, by first appearance.
        kinds: Of the events of its first occurrence, in order, without those of other phases.
        starts, ends: Of each occurrence, (weight,): its first event, and the one after its last.
        time_s: Of each occurrence, (weight,), what lies in it of another phase left out.
        loop: The number of the loop that it is; None for the paper's phases.
        whole: No loop inside of it is a phase.
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
        """How often it comes."""
        return len(self.time_s)

    @property
    def seconds(self) -> float:
        """In all."""
        return float(self.time_s.sum())


@dataclass(frozen=True)
class ProcessPhases:
    """The phases of one process that matter, and what is left.

    Attributes:
        phases: By first appearance.
        label: (n,) the phase of each event; -1 for none.
        events: How many there are.
        aet_s: Time of the whole run.
        outside_s: Time in no phase.
        grammar: Of its loops; None for the paper's phases.
    """

    phases: tuple[EventPhase, ...]
    label: IntArray
    aet_s: float
    outside_s: float
    grammar: Grammar | None = None

    @property
    def coverage(self) -> float:
        """The part of the run that lies in phases."""
        return 1.0 - self.outside_s / self.aet_s if self.aet_s > 0 else 0.0
