"""The signature of a run: the phases of its processes, and the time that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.signature.events import EventKind, ProcessEvents, alike
from incprof.analysis.signature.paper import global_phases, paper_phases
from incprof.analysis.signature.phases import robust_phases
from incprof.analysis.signature.predicted import Predicted, predicted
from incprof.analysis.signature.results import DEFAULT, EventPhase, Method, ProcessPhases, SignatureOptions
from incprof.analysis.signature.work import SECONDS
from incprof.model import FloatArray, IntArray

# Parts of a run for which it is said what it was in.
PARTS = 240


@dataclass(frozen=True)
class ProcessSignature:
    """What one process repeats.

    Attributes:
        rank: Of it.
        app: The program.
        found: Its phases; the labels of single events are left out, and the places of all but first occurrences.
        kinds: What the phases' events are of.
        predicted: Its time, from its beginning.
        events: How many it had.
        until: After how many calls of all processes together, all is seen that is measured; None: there is none.
        until_events: Its events until then.
        until_s: Time until then.
        outside_after_s: Time in no phase after that.
        parts: (PARTS,) the phase that most of each part of its time was in; -1 for none.
        clean: Whether its trace is whole.
        start_mono_ns: As of `ProcessEvents`.
        work_unit, work_missing: As of `Work`.
    """

    rank: int
    app: str
    found: ProcessPhases
    kinds: tuple[EventKind, ...]
    predicted: Predicted
    events: int
    until: int | None
    until_events: int
    until_s: float
    outside_after_s: float
    parts: IntArray
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
    """The processes of a run, by rank, and the one that stands for it."""

    method: Method
    options: SignatureOptions
    processes: tuple[ProcessSignature, ...]

    @property
    def process(self) -> ProcessSignature:
        """The representative one: that whose predicted time is nearest to its own (the paper's Section 4.4)."""
        return min(self.processes, key=lambda one: (one.error, one.rank))


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
    kinds = events.kinds
    if method != "robust":
        functions = dict.fromkeys(kind.function for kind in kinds)
        kinds = tuple(EventKind(function, None) for function in functions)
    until = np.cumsum(events.tick_s)
    guess = predicted(found, events.tick_s, options, whole=method == "robust")
    place = int(np.searchsorted(np.flatnonzero(events.together), guess.events - 1))
    stops = place < int(events.together.sum())
    end = int(np.flatnonzero(events.together)[place]) + 1 if stops else len(until)
    after = float(events.tick_s[end:][found.label[end:] < 0].sum()) + events.aet_s - float(until[-1])
    return ProcessSignature(
        rank=events.rank,
        app=events.app,
        found=replace(found, label=np.zeros(0, dtype=np.int64), phases=tuple(map(_first, found.phases))),
        kinds=kinds,
        predicted=guess,
        events=len(until),
        until=place + 1 if stops else None,
        until_events=end,
        until_s=float(until[end - 1]),
        outside_after_s=after,
        parts=_parts(found.label, until, events.aet_s),
        clean=events.clean,
        start_mono_ns=events.start_mono_ns,
        work_unit=events.work.unit,
        work_missing=events.work.missing,
    )


def _first(phase: EventPhase) -> EventPhase:
    """Return a phase without the places of all but its first occurrence: of many processes, they fill the memory."""
    return replace(phase, starts=phase.starts[:1].copy(), ends=phase.ends[:1].copy())


def _parts(label: IntArray, until: FloatArray, aet_s: float) -> IntArray:
    """Return the label that has most of the time of each part of a run, (PARTS,). until: (n,) ends of events."""
    edges = np.linspace(0.0, aet_s, PARTS + 1)
    # Time of each label up to each edge; what comes after the last event is in none.
    labels = np.unique(np.append(label, -1))
    spent = np.zeros((len(labels), PARTS))
    times = np.concatenate([[0.0], until])
    for row, one in enumerate(labels.tolist()):
        own = np.concatenate([[0.0], np.cumsum(np.where(label == one, np.diff(times), 0.0))])
        spent[row] = np.diff(np.interp(edges, times, own))
    found: IntArray = labels[spent.argmax(axis=0)].astype(np.int64)
    return found
