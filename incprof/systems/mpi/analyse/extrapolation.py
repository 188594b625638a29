"""Extrapolate the time of a run: from its beginning, and from runs of other sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.call_loops import LoopFinder
from incprof.systems.mpi.analyse.event_phases import Choice, Method
from incprof.systems.mpi.analyse.signature import RANGE, PhaseTime, Predicted, Signature
from incprof.systems.mpi.trace_types import Grammar, SignatureFile

# Number of groups of consecutive occurrences that are left out in turn, to estimate how the ratio depends on each.
GROUPS = 20


@dataclass(frozen=True)
class KnownPhase:
    """A phase of a known whole run.

    Attributes:
        loop: Number of its loop; None for the paper's phases.
        whole: Whether no loop inside it is a phase.
        weight: Number of occurrences.
        seconds: Total time of all occurrences.
        time_s: (m,) times of its first occurrences, at least.
    """

    loop: int | None
    whole: bool
    weight: int
    seconds: float
    time_s: FloatArray


def measure_known_phases(
    kinds: IntArray, tick_s: FloatArray, grammar: Grammar, known_phases: Sequence[KnownPhase]
) -> list[FloatArray]:
    """Return the time of each occurrence of known phases, (seen,) each, in the events of another run.

    Args:
        kinds: (n,) kinds of events, numbered as in the known run.
        tick_s: (n,) seconds from the end of the previous event to the end of this one.
        grammar: Grammar of the loops of the known run.
        known_phases: The phases.
    """
    whole_loop = {phase.loop: phase.whole for phase in known_phases}
    choice = Choice(LoopFinder(kinds).follow(grammar), tick_s)
    for number, loop in reversed(list(enumerate(choice.loops.loops))):
        iterations = choice.open_iterations(loop)
        if number in whole_loop and iterations.any():
            choice.take(number, iterations, whole=whole_loop[number])
    times_of = {phase.loop: phase.time_s for phase in choice.described(kinds, float(tick_s.sum())).phases}
    return [times_of.get(phase.loop, np.zeros(0)) for phase in known_phases]


@dataclass(frozen=True)
class Ratio:
    """Ratio of phase times here to those of the known run.

    Attributes:
        value: The ratio.
        error: Its standard error.
        groups: Number of groups of the jackknife.
    """

    value: float
    error: float
    groups: int

    def range(self) -> tuple[float, float]:
        """Return the interval of the ratio."""
        part = (1 + RANGE) / 2
        reach = float(stdtrit(self.groups - 1, part) if self.groups > 1 else ndtri(part)) * self.error
        return max(self.value - reach, 0.0), self.value + reach


def ratio(target: FloatArray, base: FloatArray, warm_up: int) -> Ratio | None:
    """Compare occurrences, (m,) seconds each, with the same ones of another run; None without any to compare."""
    whole, both = base, min(len(target), len(base))
    first = min(warm_up, both - 1)
    if both < 1 or not base[first:both].sum() > 0:
        return None
    target, base = target[first:both], base[first:both]
    groups = min(GROUPS, len(base))
    at = np.linspace(0, len(base), groups + 1).astype(np.int64)[:-1]
    target_sums, base_sums = np.add.reduceat(target, at), np.add.reduceat(base, at)
    value = float(target.sum() / base.sum())
    if groups < 2:
        return Ratio(value, value * _drift(whole, 1), groups)
    # Jackknife: the ratio without each group in turn.
    without = (target_sums.sum() - target_sums) / np.maximum(base_sums.sum() - base_sums, 1e-300)
    error = float(np.sqrt((groups - 1) / groups * ((without - without.mean()) ** 2).sum()))
    return Ratio(value, float(np.hypot(error, value * _drift(whole, len(base)))), groups)


def _drift(whole: FloatArray, length: int) -> float:
    """Return the coefficient of variation of the ratio of two runs over the parts of them that could be compared.

    Other load on a machine changes more slowly than occurrences do: parts of a run as long as the one compared differ
    from each other by more than the scatter within one of them. Both runs contain such a part.

    Args:
        whole: (m,) seconds of the occurrences of the whole run.
        length: Number of occurrences compared.
    """
    parts = len(whole) // length
    return float(np.sqrt(2.0)) * _variation(whole[: parts * length].reshape(parts, length).mean(axis=1))


def _variation(values: FloatArray) -> float:
    """Return the coefficient of variation of values, (m,); 0 for a single value."""
    return float(values.std(ddof=1) / values.mean()) if len(values) > 1 and values.mean() > 0 else 0.0


def extrapolate(
    phases: Sequence[KnownPhase], measured: Sequence[FloatArray], outside_s: float, elapsed_s: float, warm_up: int
) -> Predicted:
    """Predict the time of a whole run.

    Args:
        phases: Phases of the known run.
        measured: For each phase, the times of its occurrences measured here.
        outside_s: Time in no phase in the known run, after the part executed here.
        elapsed_s: Time of the part executed here.
        warm_up: Number of occurrences not compared.
    """
    ratios = [ratio(target, phase.time_s, warm_up) for target, phase in zip(measured, phases, strict=True)]
    unmeasured_s = np.array(
        [p.seconds - float(p.time_s[: len(t)].sum()) for p, t in zip(phases, measured, strict=True)]
    )
    unmeasured_s = np.maximum(unmeasured_s, 0.0)
    usable = [(number, one) for number, one in enumerate(ratios) if one is not None]
    # Phases without measured occurrences are scaled by the mean ratio of the others.
    weight = np.array([phases[number].seconds for number, _ in usable])
    value = np.array([(one.value, *one.range()) for _, one in usable]).reshape(-1, 3)
    common = weight @ value / weight.sum() if len(usable) else np.ones(3)
    scaled = np.tile(common, (len(phases), 1))
    scaled[[number for number, _ in usable]] = value
    pet = elapsed_s + float(unmeasured_s @ scaled[:, 0]) + outside_s * float(common[0])
    below = np.sqrt((((scaled[:, 0] - scaled[:, 1]) * unmeasured_s) ** 2).sum())
    above = np.sqrt((((scaled[:, 2] - scaled[:, 0]) * unmeasured_s) ** 2).sum())
    one_s = scaled * np.array([[phase.seconds / phase.weight] for phase in phases]).reshape(-1, 1)
    times = tuple(
        PhaseTime(mean, low, high, len(target))
        for (mean, low, high), target in zip(one_s.tolist(), measured, strict=True)
    )
    return Predicted(pet, pet - float(below), pet + float(above), 0, elapsed_s, times)


def extrapolate_by_equation(
    phases: Sequence[KnownPhase], times_seen: Sequence[FloatArray], elapsed_s: float, warm_up: int
) -> Predicted:
    """Predict the time of a whole run by the paper's equation 1: weight times the time of one, over all phases.

    Args:
        phases: Phases of the known run. One without measured occurrences takes as long as there.
        times_seen: For each phase, the times of its occurrences here, (m,) seconds.
        elapsed_s: Time of the part executed here.
        warm_up: Number of occurrences not measured.
    """
    times = []
    for phase, target in zip(phases, times_seen, strict=True):
        measured = target[min(warm_up, len(target) - 1) :] if len(target) else phase.time_s
        one_s, reach = float(measured.mean()), 0.0
        if len(target) and len(measured) > 1:
            error = float(measured.std(ddof=1) / np.sqrt(len(measured)))
            reach = float(stdtrit(len(measured) - 1, (1 + RANGE) / 2)) * error
        elif len(target):
            reach = float(ndtri((1 + RANGE) / 2)) * one_s * _variation(phase.time_s)
        times.append(PhaseTime(one_s, max(one_s - reach, 0.0), one_s + reach, len(target)))
    weight = np.array([phase.weight for phase in phases], dtype=np.float64)
    mean, low, high = np.array([(one.mean_s, one.low_s, one.high_s) for one in times]).reshape(-1, 3).T
    pet = float(weight @ mean)
    reaches = [float(np.sqrt(((weight * gap) ** 2).sum())) for gap in (mean - low, high - mean)]
    return Predicted(pet, pet - reaches[0], pet + reaches[1], 0, elapsed_s, tuple(times))


@dataclass(frozen=True)
class Prediction:
    """Predicted time of a whole run.

    Attributes:
        signature: Signature of the known run.
        forecast: The time, and that of one occurrence of each phase.
        measured: Number of measured occurrences of each phase.
        differences: Reasons why the program may differ from the signature's, a line each; empty if it follows it.
        aet_s: Measured time of the run, if it was run to its end.
    """

    signature: SignatureFile
    forecast: Predicted
    measured: tuple[int, ...]
    differences: tuple[str, ...]
    aet_s: float | None


# Compare runs of a program with several numbers of processes: the paper's Tables 3 to 6 (Section 5).


@dataclass(frozen=True)
class Analysis:
    """Result of one method for a run.

    Attributes:
        method: Method of finding phases.
        seconds: Duration of the analysis, including reading (the paper's TFAT).
        pet_s: Predicted time, in seconds.
        error: Error of the prediction, relative to the run's time (PETE).
        set_s: Total time of one occurrence of each phase (SET), in seconds.
        phases: Number of phases.
        coverage: Share of the run in phases.
    """

    method: Method
    seconds: float
    pet_s: float
    error: float
    set_s: float
    phases: int
    coverage: float


@dataclass(frozen=True)
class ScaledRun:
    """A run at one scale.

    Attributes:
        directory: Directory of its traces.
        app: The program.
        ranks: Number of processes with a trace.
        aet_s: Time of the representative process, in seconds.
        events: Number of events in all processes.
        trace_bytes: Size of all traces.
        analyses: Result of each of the compared methods.
    """

    directory: str
    app: str
    ranks: int
    aet_s: float
    events: int
    trace_bytes: int
    analyses: tuple[Analysis, ...]


def analysis_of(signature: Signature, seconds: float) -> Analysis:
    """Summarise the signature of a run. seconds: duration of the analysis."""
    process = signature.process
    return Analysis(
        method=signature.method,
        seconds=seconds,
        pet_s=process.predicted.pet_s,
        error=process.error,
        set_s=sum((time.mean_s for time in process.predicted.phases), 0.0),
        phases=len(process.phases_found.phases),
        coverage=process.phases_found.coverage,
    )


def by_program(runs: Iterable[ScaledRun]) -> list[list[ScaledRun]]:
    """Group runs by program, in the order of their names, and sort each group by the number of processes."""
    groups: dict[str, list[ScaledRun]] = {}
    for run in runs:
        groups.setdefault(run.app, []).append(run)
    return [sorted(groups[app], key=lambda run: run.ranks) for app in sorted(groups)]


def variation(values: Sequence[float]) -> float | None:
    """Return the coefficient of variation: the sample's standard deviation over its mean. None for fewer than two."""
    mean = float(np.mean(values)) if len(values) > 1 else 0.0
    return float(np.std(values, ddof=1)) / mean if mean > 0 else None
