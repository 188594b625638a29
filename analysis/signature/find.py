"""The signature of a run: the phases of its processes, and the time that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.signature.events import EventKind, ProcessEvents, alike, by_function, kind_bytes, sent_to
from incprof.analysis.signature.paper import global_phases, paper_phases
from incprof.analysis.signature.phases import robust_phases
from incprof.analysis.signature.predicted import Predicted, predicted
from incprof.analysis.signature.results import DEFAULT, EventPhase, Method, ProcessPhases, SignatureOptions
from incprof.analysis.signature.work import SECONDS
from incprof.model import FloatArray, IntArray
from incprof.model.signature import Program

# Parts of a run for which it is said what it was in.
PARTS = 240


@dataclass(frozen=True)
class Ending:
    """Where the processes of a signature run end.

    Attributes:
        events: Of the representative process until then.
        seconds: Of it until then.
        executed_s: Time until the last process is there.
        collective: After so many calls of all processes together; None: not by these.
        calls: Of each rank, the function and after how many calls of it; None: not by these. Where both are None, the
            program is run to its end.
    """

    events: int
    seconds: float
    executed_s: float
    collective: int | None = None
    calls: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True)
class ProcessSignature:
    """What one process repeats.

    Attributes:
        rank: Of it.
        app: The program.
        found: Its phases; the labels of single events are left out, and the places of all but first occurrences.
        kinds: What the phases' events are of.
        kind_bytes: Mean bytes of a message of each kind, in the events that are needed; None where there is none.
        program: What was run.
        predicted: Its time, from its beginning.
        events: How many it had.
        ending: Where a signature run can be ended after all that is measured, at a call of all processes together.
        parts: (PARTS,) the phase that most of each part of its time was in; -1 for none.
        outside_s: (PARTS,) time of each part in no phase.
        sends: Of each phase, how often something was sent before its first occurrence begins, and before it ends.
        sent: Messages that it sent to each rank, in the whole run.
        clean: Whether its trace is whole.
        start_mono_ns: As of `ProcessEvents`.
        work_unit, work_missing: As of `Work`.
    """

    rank: int
    app: str
    found: ProcessPhases
    kinds: tuple[EventKind, ...]
    kind_bytes: tuple[float | None, ...]
    program: Program
    predicted: Predicted
    events: int
    ending: Ending
    parts: IntArray
    outside_s: FloatArray
    sends: tuple[tuple[int, int], ...]
    sent: Mapping[int, int]
    clean: bool
    start_mono_ns: int | None = None
    work_unit: str = SECONDS
    work_missing: str = ""

    @property
    def error(self) -> float:
        """By how much the predicted time is off, of the run's."""
        return abs(self.predicted.pet_s - self.found.aet_s) / self.found.aet_s if self.found.aet_s > 0 else 0.0


@dataclass(frozen=True)
class Signature:
    """The processes of a run, by rank, and the one that stands for it.

    own_ending: where they end by calls of their own; None: by calls of all together, or not at all.
    """

    method: Method
    options: SignatureOptions
    processes: tuple[ProcessSignature, ...]
    own_ending: Ending | None = None

    @property
    def set_s(self) -> float:
        """The paper's SET: the time of one occurrence of each phase, in all."""
        return sum(time.mean_s for time in self.process.predicted.phases)

    @property
    def late(self) -> EventPhase | None:
        """The phase that is seen last, if a signature run goes on for its sake longer than it measures otherwise."""
        phases, times = self.process.found.phases, self.process.predicted.phases
        last = max(range(len(phases)), key=lambda place: times[place].enough_s, default=None)
        if last is None or times[last].enough_s > self.ending.seconds:
            return None
        begin_s = min(time.enough_s for time in times)
        longest_s = begin_s + self.options.most_of(self.process.found.aet_s) * self.process.found.aet_s
        return phases[last] if times[last].enough_s > longest_s else None

    @property
    def ending(self) -> Ending:
        """Where a signature run ends."""
        return self.own_ending or self.process.ending

    @property
    def process(self) -> ProcessSignature:
        """The representative one: that whose predicted time is nearest to its own (the paper's Section 4.4).

        Time in no phase is predicted by no phase: one without phases represents nothing.
        """
        return min(self.processes, key=lambda one: (one.error + 1.0 - one.found.coverage, one.rank))


def process_signature(
    events: ProcessEvents, method: Method = "robust", options: SignatureOptions = DEFAULT
) -> ProcessSignature:
    """Find the phases of one process by itself. method: "robust" or "paper"."""
    if method == "robust":
        return _signed(events, robust_phases(events.kind, events.tick_s, events.aet_s, options), method, options)
    return _signed(
        events, paper_phases(events.types, events.work, events.tick_s, events.aet_s, options), method, options
    )


def global_signature(processes: Sequence[ProcessEvents], options: SignatureOptions = DEFAULT) -> Signature:
    """Find the phases of all processes in one logical order."""
    types, partners = alike(list(processes))
    found = global_phases(
        types,
        [one.work for one in processes],
        [one.tick_s for one in processes],
        partners,
        [one.aet_s for one in processes],
        options,
    )
    signed = [_signed(events, phases, "global", options) for events, phases in zip(processes, found, strict=True)]
    return Signature("global", options, tuple(signed))


def _signed(events: ProcessEvents, found: ProcessPhases, method: Method, options: SignatureOptions) -> ProcessSignature:
    """Return a process with its time, and with as much of it as is shown."""
    if method != "robust":
        events = by_function(events)
    until = np.cumsum(events.tick_s)
    guess = predicted(found, events.tick_s, options, whole=method == "robust")
    # The paper's phases are found again by their places, loops by what they consist of.
    placed = 0 if method == "robust" else guess.events
    shown_phases = tuple(_first(phase, placed) for phase in found.phases)
    shown = _parts(found.label, until, events.aet_s)
    return ProcessSignature(
        rank=events.rank,
        app=events.app,
        found=replace(found, label=np.zeros(0, dtype=np.int64), phases=shown_phases),
        kinds=events.kinds,
        kind_bytes=tuple(kind_bytes(events, guess.events)),
        program=events.program,
        predicted=guess,
        events=len(until),
        ending=_ending(events, until, guess),
        parts=shown[0],
        outside_s=shown[1],
        sends=_sends(events, found.phases),
        sent=sent_to(events),
        clean=events.clean,
        start_mono_ns=events.start_mono_ns,
        work_unit=events.work.unit,
        work_missing=events.work.missing,
    )


def _ending(events: ProcessEvents, until: FloatArray, guess: Predicted) -> Ending:
    """Return where a signature run ends by calls of all processes, if it does. until: (n,) seconds at events' ends."""
    together = np.flatnonzero(events.together)
    place = int(np.searchsorted(together, guess.events - 1))
    if place == len(together):
        return Ending(len(until), float(until[-1]), events.aet_s)
    end = int(together[place]) + 1
    return Ending(end, float(until[end - 1]), float(until[end - 1]), collective=place + 1)


def _sends(events: ProcessEvents, phases: Sequence[EventPhase]) -> tuple[tuple[int, int], ...]:
    """Return the places of phases in sends, as the paper counts them (its Figure 13)."""
    names = [kind.function.lower() for kind in events.kinds]
    sends = np.array(["send" in name and not name.endswith("_init") for name in names], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(sends[events.kind])])
    return tuple((int(before[phase.starts[0]]), int(before[phase.ends[0]])) for phase in phases)


def outside_after(process: ProcessSignature, seconds: float) -> float:
    """Return the time of a process in no phase after some time, to a part of the run (PARTS)."""
    part_s = process.found.aet_s / PARTS
    at = min(seconds / part_s, PARTS) if part_s > 0 else PARTS
    whole = int(np.ceil(at))
    broken = float(process.outside_s[whole - 1]) * (whole - at) if whole > at else 0.0
    return float(process.outside_s[whole:].sum()) + broken


def _first(phase: EventPhase, events: int) -> EventPhase:
    """Return a phase with the places of its first occurrences alone: those of many processes fill the memory.

    events: those occurrences that end within so many events, and one at least.
    """
    count = max(int(np.searchsorted(phase.ends, events, side="right")), 1)
    return replace(phase, starts=phase.starts[:count].copy(), ends=phase.ends[:count].copy())


def _parts(label: IntArray, until: FloatArray, aet_s: float) -> tuple[IntArray, FloatArray]:
    """Return the label that has most of the time of each part of a run, (PARTS,), and the time in no phase, (PARTS,).

    until: (n,) ends of events.
    """
    edges = np.linspace(0.0, aet_s, PARTS + 1)
    # Time of each label up to each edge; what comes after the last event is in none.
    labels = np.unique(np.append(label, -1))
    spent = np.zeros((len(labels), PARTS))
    times = np.concatenate([[0.0], until])
    for row, one in enumerate(labels.tolist()):
        own = np.concatenate([[0.0], np.cumsum(np.where(label == one, np.diff(times), 0.0))])
        spent[row] = np.diff(np.interp(edges, times, own))
    outside_s: FloatArray = aet_s / PARTS - spent[labels >= 0].sum(axis=0)
    return labels[spent.argmax(axis=0)].astype(np.int64), np.maximum(outside_s, 0.0)
