"""The signature of a run: the phases of its processes, and the predicted time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.event_phases import (
    DEFAULT,
    EventPhase,
    Method,
    ProcessPhases,
    SignatureOptions,
    robust_phases,
)
from incprof.systems.mpi.analyse.mpi_events import (
    SECONDS,
    EventKind,
    ProcessEvents,
    by_function,
    common_numbers,
    kind_bytes,
    sent_to,
)
from incprof.systems.mpi.analyse.pas2p import global_phases, paper_phases
from incprof.systems.mpi.trace_types import Program

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
        phases_found: Its phases, without the labels of events, and with the places of first occurrences only.
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
    phases_found: ProcessPhases
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
        return (
            abs(self.predicted.pet_s - self.phases_found.aet_s) / self.phases_found.aet_s
            if self.phases_found.aet_s > 0
            else 0.0
        )


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
        return sum((time.mean_s for time in self.process.predicted.phases), 0.0)

    @property
    def late(self) -> EventPhase | None:
        """The phase that is seen last, if a signature run continues only for it; else None."""
        phases, times = self.process.phases_found.phases, self.process.predicted.phases
        last = max(range(len(phases)), key=lambda place: times[place].enough_s, default=None)
        if last is None or times[last].enough_s > self.ending.seconds:
            return None
        begin_s = min(time.enough_s for time in times)
        longest_s = begin_s + self.options.most_of(self.process.phases_found.aet_s) * self.process.phases_found.aet_s
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
        return min(self.processes, key=lambda one: (one.error + 1.0 - one.phases_found.coverage, one.rank))


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
    types, partners = common_numbers(list(processes))
    phases_of_processes = global_phases(
        types,
        [one.work for one in processes],
        [one.tick_s for one in processes],
        partners,
        [one.aet_s for one in processes],
        options,
    )
    signed = [
        _signed(events, phases, "global", options)
        for events, phases in zip(processes, phases_of_processes, strict=True)
    ]
    return Signature("global", options, tuple(signed))


def _signed(
    events: ProcessEvents, process_phases: ProcessPhases, method: Method, options: SignatureOptions
) -> ProcessSignature:
    """Return the signature of a process, reduced to what is shown."""
    if method != "robust":
        events = by_function(events)
    until = np.cumsum(events.tick_s)
    forecast = predicted(process_phases, events.tick_s, options, whole=method == "robust")
    # The paper's phases are identified by their places, loops by their content.
    placed = 0 if method == "robust" else forecast.events
    shown_phases = tuple(_first(phase, placed) for phase in process_phases.phases)
    shown = _parts(process_phases.label, until, events.aet_s)
    return ProcessSignature(
        rank=events.rank,
        app=events.app,
        phases_found=replace(process_phases, label=np.zeros(0, dtype=np.int64), phases=shown_phases),
        kinds=events.kinds,
        kind_bytes=tuple(kind_bytes(events, forecast.events)),
        program=events.program,
        predicted=forecast,
        events=len(until),
        ending=_ending(events, until, forecast),
        parts=shown[0],
        outside_s=shown[1],
        sends=_sends(events, process_phases.phases),
        sent=sent_to(events),
        clean=events.clean,
        start_mono_ns=events.start_mono_ns,
        work_unit=events.work.unit,
        work_missing=events.work.missing,
    )


def _ending(events: ProcessEvents, until: FloatArray, forecast: Predicted) -> Ending:
    """Return where a signature run ends at a call of all processes, if possible. until: (n,) ends of events, s."""
    together = np.flatnonzero(events.together)
    place = int(np.searchsorted(together, forecast.events - 1))
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
    part_s = process.phases_found.aet_s / PARTS
    at = min(seconds / part_s, PARTS) if part_s > 0 else PARTS
    next_part = int(np.ceil(at))
    broken = float(process.outside_s[next_part - 1]) * (next_part - at) if next_part > at else 0.0
    return float(process.outside_s[next_part:].sum()) + broken


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
    seconds = np.zeros((len(labels), PARTS))
    times = np.concatenate([[0.0], until])
    for row, one in enumerate(labels.tolist()):
        own = np.concatenate([[0.0], np.cumsum(np.where(label == one, np.diff(times), 0.0))])
        seconds[row] = np.diff(np.interp(edges, times, own))
    outside_s: FloatArray = aet_s / PARTS - seconds[labels >= 0].sum(axis=0)
    return labels[seconds.argmax(axis=0)].astype(np.int64), np.maximum(outside_s, 0.0)


# Predict the time of a run from its beginning: weight times the time of one occurrence, over all phases (equation 1).
#
# A signature run continues until every phase has been seen a few times, and often enough for a narrow interval.
# Phases that occur more often until then are measured each time. The paper omits the time in no phase; here it is
# added as measured. The interval comes from the run itself: it is the spread over equally many consecutive
# occurrences elsewhere.


# Probability of the interval.
RANGE = 0.95
# Greatest total share of late phases that are not waited for: if the time of one of them changes by half, and the rest
# does not, that is 2.5 % of the run.
SMALL = 0.05


@dataclass(frozen=True)
class PhaseTime:
    """Time of one occurrence, in seconds.

    Attributes:
        mean_s: Mean of the measured occurrences.
        low_s: Lower end of the interval.
        high_s: Its upper end.
        measured: Number of measured occurrences.
        enough_s: Time of the run after which it has occurred often enough.
    """

    mean_s: float
    low_s: float
    high_s: float
    measured: int
    enough_s: float = 0.0


@dataclass(frozen=True)
class Predicted:
    """Predicted time of a run.

    Attributes:
        pet_s: The prediction, in seconds.
        low_s: Lower end of its interval, in seconds.
        high_s: Upper end of its interval, in seconds.
        events: Number of events after which everything was measured.
        set_s: Time after which everything was measured, in seconds.
        phases: Time of one occurrence of each phase.
    """

    pet_s: float
    low_s: float
    high_s: float
    events: int
    set_s: float
    phases: tuple[PhaseTime, ...]


def predicted(
    process: ProcessPhases, tick_s: FloatArray, options: SignatureOptions, *, whole: bool = True
) -> Predicted:
    """Predict the time of a process's run from its beginning.

    Args:
        process: Its phases.
        tick_s: (n,) seconds from the end of the previous event to the end of each event.
        options: Limits of the measured part.
        whole: Whether to add the time in no phase; the paper omits it.
    """
    until, most = np.cumsum(tick_s), options.most_of(process.aet_s)
    part = min(options.least, most)
    while True:
        forecast = _from_beginning(process, until, _needed(process, until, part, options), options, whole=whole)
        reach = max(forecast.high_s - forecast.pet_s, forecast.pet_s - forecast.low_s)
        if part >= most or reach <= options.precise * forecast.pet_s:
            return forecast
        part = min(2 * part, most) if part > 0 else most


def _from_beginning(
    process: ProcessPhases, until: FloatArray, events: int, options: SignatureOptions, *, whole: bool
) -> Predicted:
    """Predict the time of a run from its first events. until: (n,) seconds at their ends."""
    times = tuple(
        replace(phase_time(phase, events, options), enough_s=float(until[_events_needed(phase, options) - 1]))
        for phase in process.phases
    )
    weight = np.array([phase.weight for phase in process.phases], dtype=np.float64)
    mean, low, high = np.array([(time.mean_s, time.low_s, time.high_s) for time in times]).reshape(-1, 3).T
    pet = float(weight @ mean) + (process.outside_s if whole else 0.0)
    # Errors of phases are independent.
    below, above = (float(np.sqrt(((weight * gap) ** 2).sum())) for gap in (mean - low, high - mean))
    return Predicted(pet, pet - below, pet + above, events, float(until[events - 1]) if events else 0.0, times)


def phase_time(phase: EventPhase, events: int, options: SignatureOptions) -> PhaseTime:
    """Measure the occurrences of a phase within the first events, without those for warm-up if there are others.

    Without any, the mean of the whole run is used, and `measured` is 0.
    """
    measured = int(np.searchsorted(phase.ends, events, side="right"))
    if measured == 0:
        mean = float(phase.time_s.mean())
        return PhaseTime(mean, mean, mean, 0)
    first = min(options.warm_up, measured - 1)
    mean, count = float(phase.time_s[first:measured].mean()), measured - first
    until = np.concatenate([[0.0], np.cumsum(phase.time_s[first:])])
    others = (until[count:] - until[:-count]) / count
    low, high = np.quantile(others, [(1 - RANGE) / 2, (1 + RANGE) / 2])
    return PhaseTime(mean, min(float(low), mean), max(float(high), mean), count)


def _needed(process: ProcessPhases, until: FloatArray, part: float, options: SignatureOptions) -> int:
    """Return the number of events after which every phase has occurred often enough, in at least a share of the run.

    The share is measured from the first phase: a long start does not indicate what repeats.
    """
    first = int(process.phases[0].starts[0]) if process.phases else 0
    begin_s = float(until[first - 1]) if first else 0.0
    last = int(np.searchsorted(until, begin_s + part * process.aet_s))
    longest = int(np.searchsorted(until, begin_s + options.most_of(process.aet_s) * process.aet_s))
    late = [phase for phase in process.phases if _events_needed(phase, options) > longest]
    if options.most is None:
        late = _small(late, SMALL * process.aet_s)
    late_ids = {phase.id for phase in late}
    last = max([last, *(_events_needed(phase, options) for phase in process.phases if phase.id not in late_ids)])
    if options.most is not None:
        last = min(last, longest)
    return min(last, len(until))


def _small(phases: Sequence[EventPhase], most_s: float) -> list[EventPhase]:
    """Return the phases with the least time, as many as have at most `most_s` seconds in total."""
    smallest, left_s = list[EventPhase](), most_s
    for phase in sorted(phases, key=lambda one: one.seconds):
        left_s -= phase.seconds
        if left_s < 0:
            break
        smallest.append(phase)
    return smallest


def _events_needed(phase: EventPhase, options: SignatureOptions) -> int:
    """Return the number of events after which a phase has occurred often enough."""
    return int(phase.ends[min(options.warm_up + options.occurrences, phase.weight) - 1])
