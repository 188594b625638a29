"""The signature of a run: the phases of its processes, and the predicted time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.event_phases import DEFAULT, EventPhase, Method, ProcessPhases, SignatureOptions
from incprof.systems.mpi.analyse.mpi_events import (
    SECONDS,
    EventKind,
    ProcessEvents,
    alike,
    by_function,
    kind_bytes,
    sent_to,
)
from incprof.systems.mpi.analyse.paper_phases import global_phases, paper_phases
from incprof.systems.mpi.analyse.predicted_time import Predicted, predicted
from incprof.systems.mpi.analyse.robust_phases import robust_phases
from incprof.systems.mpi.signature_types import Program

# Number of parts of a run for which the phase is recorded.
PARTS = 240


@dataclass(frozen=True)
class Ending:
    """Where the processes of a signature run end.

    Attributes:
        events: Number of events of the representative process before.
        seconds: Time of that process before.
        executed_s: Time until the last process has arrived there.
        collective: Number of calls of all processes together before; None: they end otherwise.
        calls: For each rank, a function and the number of its calls before; None: they end otherwise. If both are None,
            the program is run to its end.
    """

    events: int
    seconds: float
    executed_s: float
    collective: int | None = None
    calls: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True)
class ProcessSignature:
    """The repetitions of one process.

    Attributes:
        rank: Its rank.
        app: The program.
        found: Its phases, without the labels of events, and with the places of first occurrences only.
        kinds: Kinds of the phases' events.
        kind_bytes: Mean bytes of a message of each kind, in the needed events; None without messages.
        program: The program that was run.
        predicted: Its time, predicted from its beginning.
        events: Number of its events.
        ending: Where a signature run can end after all measurements, at a call of all processes together.
        parts: (PARTS,) the most frequent phase in each part of its time; -1 for none.
        outside_s: (PARTS,) time of each part in no phase, in seconds.
        sends: For each phase, the number of sends before its first occurrence begins, and before it ends.
        sent: Number of messages sent to each rank in the whole run.
        clean: Whether its trace is complete.
        start_mono_ns: As in `ProcessEvents`.
        work_unit: As in `Work`.
        work_missing: As in `Work`.
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
        """Error of the predicted time, relative to the run's."""
        return abs(self.predicted.pet_s - self.found.aet_s) / self.found.aet_s if self.found.aet_s > 0 else 0.0


@dataclass(frozen=True)
class Signature:
    """The processes of a run, one of which is representative.

    Attributes:
        method: Method of finding phases.
        options: Thresholds.
        processes: By rank.
        own_ending: Where they end after calls of their own; None: after calls of all together, or at the program's end.
    """

    method: Method
    options: SignatureOptions
    processes: tuple[ProcessSignature, ...]
    own_ending: Ending | None = None

    @property
    def set_s(self) -> float:
        """The paper's SET: total time of one occurrence of each phase, in seconds."""
        return sum(time.mean_s for time in self.process.predicted.phases)

    @property
    def late(self) -> EventPhase | None:
        """The phase that is seen last, if a signature run continues only for it; else None."""
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
        """The representative process: the one with the most accurate prediction (the paper's Section 4.4).

        The share of time in no phase counts as error: a process without phases is not representative.
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
    """Return the signature of a process, reduced to what is shown."""
    if method != "robust":
        events = by_function(events)
    until = np.cumsum(events.tick_s)
    guess = predicted(found, events.tick_s, options, whole=method == "robust")
    # The paper's phases are identified by their places, loops by their content.
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
    """Return where a signature run ends at a call of all processes, if possible. until: (n,) ends of events, s."""
    together = np.flatnonzero(events.together)
    place = int(np.searchsorted(together, guess.events - 1))
    if place == len(together):
        return Ending(len(until), float(until[-1]), events.aet_s)
    end = int(together[place]) + 1
    return Ending(end, float(until[end - 1]), float(until[end - 1]), collective=place + 1)


def _sends(events: ProcessEvents, phases: Sequence[EventPhase]) -> tuple[tuple[int, int], ...]:
    """Return the positions of phases in sends, as counted in the paper (its Figure 13)."""
    names = [kind.function.lower() for kind in events.kinds]
    sends = np.array(["send" in name and not name.endswith("_init") for name in names], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(sends[events.kind])])
    return tuple((int(before[phase.starts[0]]), int(before[phase.ends[0]])) for phase in phases)


def outside_after(process: ProcessSignature, seconds: float) -> float:
    """Return the time of a process in no phase after `seconds`, to the resolution of PARTS."""
    part_s = process.found.aet_s / PARTS
    at = min(seconds / part_s, PARTS) if part_s > 0 else PARTS
    whole = int(np.ceil(at))
    broken = float(process.outside_s[whole - 1]) * (whole - at) if whole > at else 0.0
    return float(process.outside_s[whole:].sum()) + broken


def _first(phase: EventPhase, events: int) -> EventPhase:
    """Return a phase with the places of its first occurrences only: those of many processes would fill the memory.

    events: occurrences that end within this number of events are kept, and at least one.
    """
    count = max(int(np.searchsorted(phase.ends, events, side="right")), 1)
    return replace(phase, starts=phase.starts[:count].copy(), ends=phase.ends[:count].copy())


def _parts(label: IntArray, until: FloatArray, aet_s: float) -> tuple[IntArray, FloatArray]:
    """Return the label with most time in each part of a run, (PARTS,), and the time in no phase, (PARTS,).

    until: (n,) ends of events, in seconds.
    """
    edges = np.linspace(0.0, aet_s, PARTS + 1)
    # Time of each label up to each edge; the time after the last event belongs to none.
    labels = np.unique(np.append(label, -1))
    spent = np.zeros((len(labels), PARTS))
    times = np.concatenate([[0.0], until])
    for row, one in enumerate(labels.tolist()):
        own = np.concatenate([[0.0], np.cumsum(np.where(label == one, np.diff(times), 0.0))])
        spent[row] = np.diff(np.interp(edges, times, own))
    outside_s: FloatArray = aet_s / PARTS - spent[labels >= 0].sum(axis=0)
    return labels[spent.argmax(axis=0)].astype(np.int64), np.maximum(outside_s, 0.0)
