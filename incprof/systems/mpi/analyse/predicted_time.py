"""Predict the time of a run from its beginning: weight times the time of one occurrence, over all phases (equation 1).

A signature run continues until every phase has been seen a few times, and often enough for a narrow interval. Phases
that occur more often until then are measured each time. The paper omits the time in no phase; here it is added as
measured. The interval comes from the run itself: it is the spread over equally many consecutive occurrences elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import FloatArray
from incprof.systems.mpi.analyse.event_phases import EventPhase, ProcessPhases, SignatureOptions

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
        seen: Number of measured occurrences.
        enough_s: Time of the run after which it has occurred often enough.
    """

    mean_s: float
    low_s: float
    high_s: float
    seen: int
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
        guess = _from_beginning(process, until, _needed(process, until, part, options), options, whole=whole)
        reach = max(guess.high_s - guess.pet_s, guess.pet_s - guess.low_s)
        if part >= most or reach <= options.precise * guess.pet_s:
            return guess
        part = min(2 * part, most) if part > 0 else most


def _from_beginning(
    process: ProcessPhases, until: FloatArray, events: int, options: SignatureOptions, *, whole: bool
) -> Predicted:
    """Predict the time of a run from its first events. until: (n,) seconds at their ends."""
    times = tuple(
        replace(phase_time(phase, events, options), enough_s=float(until[_enough(phase, options) - 1]))
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

    Without any, the mean of the whole run is used, and `seen` is 0.
    """
    seen = int(np.searchsorted(phase.ends, events, side="right"))
    if seen == 0:
        mean = float(phase.time_s.mean())
        return PhaseTime(mean, mean, mean, 0)
    first = min(options.warm_up, seen - 1)
    mean, count = float(phase.time_s[first:seen].mean()), seen - first
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
    late = [phase for phase in process.phases if _enough(phase, options) > longest]
    if options.most is None:
        late = _small(late, SMALL * process.aet_s)
    left = {phase.id for phase in late}
    last = max([last, *(_enough(phase, options) for phase in process.phases if phase.id not in left)])
    if options.most is not None:
        last = min(last, longest)
    return min(last, len(until))


def _small(phases: Sequence[EventPhase], most_s: float) -> list[EventPhase]:
    """Return the phases with the least time, as many as have at most `most_s` seconds in total."""
    found, left_s = list[EventPhase](), most_s
    for phase in sorted(phases, key=lambda one: one.seconds):
        left_s -= phase.seconds
        if left_s < 0:
            break
        found.append(phase)
    return found


def _enough(phase: EventPhase, options: SignatureOptions) -> int:
    """Return the number of events after which a phase has occurred often enough."""
    return int(phase.ends[min(options.warm_up + options.occurrences, phase.weight) - 1])
