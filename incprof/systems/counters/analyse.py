"""Counters by phase: what each phase is bound by. counters.md. r rows, n intervals, k phases, b bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from incprof.analysis.energy import PhasePower, overlaps, phase_power
from incprof.analysis.phase_result import Phase, PhaseResult, all_steps
from incprof.model import FloatArray, Function, IntArray, IntervalProfile
from incprof.model.series import CounterSeries
from incprof.systems.counters.figures import KNOWN, POWER, Events, drawn_figures, figures_of, plain

# A row with a smaller share of its time in one phase belongs to another one too.
WITHIN = 0.8
# Rows of no phase: in several, or in none; and those before or after the run.
MIXED, OUTSIDE = -1, -2
# A phase of which a smaller share was measured has a power, but no energy.
MEASURED = 0.5
MOST_STEPS = 4
# The first lanes that are available are drawn.
MOST_LANES = 8

By = Literal[
    "waiting",
    "processors",
    "mpi",
    "openmp",
    "io",
    "device",
    "memory",
    "branches",
    "frontend",
    "kernel",
    "stalls",
    "instructions",
]


@dataclass(frozen=True)
class Bound:
    """Bound of a phase.

    Attributes:
        by: what the phase is bound by.
        share: of its time or its cycles that the rule is based on, from 0; None: no share.
    """

    by: By
    share: float | None = None


@dataclass(frozen=True)
class StepEnergy:
    """A step of a phase.

    Attributes:
        function: the function of the step.
        calls: number of calls.
        energy_j: energy of the node per call, joules.
    """

    function: Function
    calls: int
    energy_j: float


@dataclass(frozen=True)
class PhaseCounters:
    """The counters of a phase.

    Attributes:
        id: of the phase.
        seconds: sampled in the phase.
        figures: by their keys in figures.py.
        bound: None where the counters do not show it.
        steps: with their energy, where power was measured.
    """

    id: int
    seconds: float
    figures: Mapping[str, float]
    bound: Bound | None
    steps: tuple[StepEnergy, ...] = ()


@dataclass(frozen=True)
class RunPower:
    """Source and energy of the power samples.

    Attributes:
        name: of the column.
        simulated: the formula; None if power was measured.
        energy_j: of the run, joules.
        between_j: of these, in no phase.
        measured_s: measured time of the run, seconds.
        notes: what the power includes.
    """

    name: str
    simulated: str | None
    energy_j: float
    between_j: float
    measured_s: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CountersByPhase:
    """Counters of a file, by phase.

    Attributes:
        path: of the file.
        phases: counters of each phase.
        by_clock: whether the rows are placed by the clock; else both are assumed to have begun together.
        offset_s: start of the rows, seconds after the start of the recording.
        row_s: usual length of a row, seconds.
        left_out: number of rows in which the phase changes, or between phases.
        outside: number of rows before or after the run.
        notes: the file's own notes on its columns.
        unknown: columns that no figure uses.
        power: None where none was sampled.
    """

    path: str
    phases: tuple[PhaseCounters, ...]
    by_clock: bool
    offset_s: float
    row_s: float
    left_out: int
    outside: int
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    power: RunPower | None = None


def counters_by_phase(
    series: CounterSeries, profile: IntervalProfile, result: PhaseResult, *, offset_s: float, by_clock: bool, path: str
) -> CountersByPhase:
    """Sum counters by phase, and determine what each phase is bound by.

    Args:
        series: of the same process, or of the machine that it ran on.
        profile: n intervals.
        result: its phases.
        offset_s: start of sampling, seconds after the start of the recording.
        by_clock: whether the offset is known; else both are assumed to have begun together.
        path: of the file.
    """
    start, end = series.start_s + offset_s, series.end_s + offset_s
    rows = phase_of_rows(start, end, profile, result.labels, result.k)
    events = Events(series.names, series.values, end - start)
    power = phase_power(series, profile, result, offset_s)
    delayed_s = profile.counters.delayed_s if len(profile.counters.delayed_s) else np.zeros(len(result.labels))
    phases = []
    for phase in result.present:
        own_events = events.select(rows == phase.id)
        figures = figures_of(own_events)
        delayed = float(delayed_s[result.labels == phase.id].sum()) / max(phase.seconds, 1e-9)
        bound = bound_by(phase, figures, own_events.wall_s, delayed)
        if power is not None:
            figures |= _energy_figures(phase, float(power.watts[phase.id]), float(power.measured_s[phase.id]))
        steps = _energy_of_steps(phase, figures["energy_j"]) if "energy_j" in figures else ()
        phases.append(PhaseCounters(phase.id, own_events.wall_s, figures, bound, steps))
    sensors = () if series.power is None else series.power.sensors
    return CountersByPhase(
        path=path,
        phases=tuple(phases),
        by_clock=by_clock,
        offset_s=offset_s,
        row_s=float(np.median(end - start)),
        left_out=int((rows == MIXED).sum()),
        outside=int((rows == OUTSIDE).sum()),
        notes=series.notes,
        unknown=tuple(name for name in events.names if plain(name) not in KNOWN and name not in sensors),
        power=None if power is None else _power_of_run(series, power),
    )


def _power_of_run(series: CounterSeries, power: PhasePower) -> RunPower:
    """Return the energy of the whole run, as far as it was measured."""
    assert series.power is not None
    joules = np.where(power.measured_s > 0, power.watts * power.measured_s, 0.0)
    return RunPower(
        series.power.name,
        series.power.simulated,
        float(joules.sum()),
        float(joules[-1]),
        float(power.measured_s.sum()),
        series.power.notes,
    )


def phase_of_rows(start: FloatArray, end: FloatArray, profile: IntervalProfile, labels: IntArray, k: int) -> IntArray:
    """Return the phase that each row lies in, (r,): MIXED if in none or in several, OUTSIDE of the run.

    Args:
        start: (r,) seconds since the start of the run.
        end: (r,) likewise.
        profile: n intervals.
        labels: (n,) their phases, -1 for none.
        k: number of phases.
    """
    inside = overlaps(start, end, profile.start_s, profile.end_s, labels, k)
    most = inside.argmax(axis=0)
    in_one_phase = inside.max(axis=0, initial=0.0) >= WITHIN * (end - start)
    phase = np.where(in_one_phase, most, MIXED)
    outside = (end <= profile.start_s[0]) | (start >= profile.end_s[-1])
    return np.where(outside, OUTSIDE, phase).astype(np.int64)


# Cost of a miss of the last-level cache and of a mispredicted branch, in cycles, and the share of all cycles from which
# they matter: from Intel's tuning guides.
MISS_CYCLES, BRANCH_CYCLES, WORTH = 180, 20, 0.2
# Share of the CPU time in the kernel from which it matters (B. Gregg, Linux performance analysis in 60 seconds).
KERNEL = 0.2
# Instructions per cycle below which a processor stalls more than it works (B. Gregg, CPU utilization is wrong).
STALLED = 1.0
# Shares of slots that are usual in well-tuned programs (Intel VTune Profiler cookbook, top-down method, HPC column).
USUAL_SPECULATION, USUAL_FRONTEND, USUAL_BACKEND = 0.05, 0.1, 0.4
# With less than half a processor busy, the program waits more than it runs.
IDLE = 0.5
# A phase with hardly any sampled time is inconclusive.
LEAST_S, LEAST_PART = 0.05, 0.05


def bound_by(phase: Phase, figures: Mapping[str, float], seconds: float, delayed: float = 0.0) -> Bound | None:
    """Return what a phase is bound by; None where the counters do not show it.

    Args:
        phase: the kind of time that its samples show goes first: a spinning processor has many instructions per cycle.
        figures: of its counters.
        seconds: sampled in the phase.
        delayed: part of the phase in which the first thread was ready to run, without a processor, from 0 to 1.
    """
    if seconds < max(LEAST_S, LEAST_PART * phase.seconds) or not figures:
        return None
    if phase.mostly == "waiting" or (phase.off_cpu and not phase.outside):
        return Bound("waiting")
    if phase.mostly != "work":
        total = sum(value for kind, value in phase.spent.items() if kind != "off_cpu")
        return Bound(phase.mostly, phase.spent.get(phase.mostly, 0.0) / total if total > 0 else None)
    if (idle := 1.0 - figures.get("cpu", 1.0)) > IDLE:
        return Bound("processors", delayed) if delayed > idle / 2 else Bound("waiting", idle)
    if (slots := _by_slots(figures)) is not None:
        return slots
    if (lost := MISS_CYCLES * figures.get("misses_per_cycle", 0.0)) >= WORTH:
        return Bound("memory", lost)
    if (lost := BRANCH_CYCLES * figures.get("branch_misses_per_cycle", 0.0)) >= WORTH:
        return Bound("branches", lost)
    if (kernel := figures.get("system_share", 0.0)) >= KERNEL:
        return Bound("kernel", kernel)
    if (ipc := figures.get("ipc")) is None or ipc <= 0:
        return None
    return Bound("stalls" if ipc < STALLED else "instructions")


def _by_slots(figures: Mapping[str, float]) -> Bound | None:
    """Return what most slots of the pipeline are lost to, if it is more than usual; None where slots were not counted.

    The kernel goes first, as without slots.
    """
    if "retiring" not in figures or figures.get("system_share", 0.0) >= KERNEL:
        return None
    memory = figures.get("memory_bound")
    backend: By = "stalls" if memory is not None and memory < figures.get("backend_bound", 0.0) / 2 else "memory"
    lost: list[tuple[float, float, By]] = [
        (figures.get("bad_speculation", 0.0), USUAL_SPECULATION, "branches"),
        (figures.get("frontend_bound", 0.0), USUAL_FRONTEND, "frontend"),
        (figures.get("backend_bound", 0.0), USUAL_BACKEND, backend),
    ]
    share, usual, by = max(lost)
    return Bound(by, share) if share > usual else Bound("instructions")


def _energy_figures(phase: Phase, watts: float, measured_s: float) -> dict[str, float]:
    """Return the mean power of a phase, its energy, and that of an iteration of its loop."""
    if not np.isfinite(watts):
        return {}
    figures = {"power_w": watts}
    if measured_s >= MEASURED * phase.seconds:
        figures["energy_j"] = watts * phase.seconds
    timed = [step for step in phase.steps if step.period_s]
    if timed:
        figures["iteration_j"] = watts * float(max(timed, key=lambda step: step.share).period_s or 0.0)
    return figures


def _energy_of_steps(phase: Phase, joules: float) -> tuple[StepEnergy, ...]:
    """Return the energy of a call of each step, largest first, from its share of the phase's time."""
    steps = sorted((s for s in all_steps(phase.steps) if s.calls > 0), key=lambda step: -step.share)
    return tuple(StepEnergy(s.function, s.calls, joules * s.share / s.calls) for s in steps[:MOST_STEPS])


def lanes_of(series: CounterSeries, offset_s: float, start_s: FloatArray, end_s: FloatArray) -> dict[str, FloatArray]:
    """Return figures over time that are not zero throughout, (b,), by their keys; NaN where nothing was counted.

    Args:
        series: r rows.
        offset_s: start of sampling, seconds after the start of the recording.
        start_s: (b,) of the bins.
        end_s: (b,) of the bins.
    """
    middle = (series.start_s + series.end_s) / 2 + offset_s
    place = np.searchsorted(end_s, middle, side="right")
    inside = (place < len(end_s)) & (middle >= start_s[0])
    order = np.flatnonzero(inside)
    bounds = np.searchsorted(place[order], np.arange(len(end_s) + 1))
    row_s = series.end_s - series.start_s
    names, values = _with_power(series)
    all_events = Events(names, values, row_s)
    figures = [figure for figure in drawn_figures() if figure.of(all_events) is not None]
    by_key = {figure.key: np.full(len(end_s), np.nan) for figure in figures}
    for one, (low, high) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        rows = order[low:high]
        if len(rows):
            events = Events(names, values[rows], row_s[rows])
            for figure in figures:
                value = figure.of(events)
                by_key[figure.key][one] = np.nan if value is None else value
    wide = _carried if len(order) < len(end_s) else np.asarray
    some = [(key, wide(each)) for key, each in by_key.items() if np.nansum(each) > 0]
    return dict(some[:MOST_LANES])


def _with_power(series: CounterSeries) -> tuple[tuple[str, ...], FloatArray]:
    """Return the names and values (r, m) of a series, with its power."""
    if series.power is None:
        return series.names, series.values
    return (*series.names, POWER), np.column_stack([series.values, series.power.watts])


def _carried(values: FloatArray) -> FloatArray:
    """Fill each bin between others with the value before it: rows are longer than bins."""
    measured = np.isfinite(values)
    if not measured.any():
        return values
    first, last = int(np.argmax(measured)), len(values) - 1 - int(np.argmax(measured[::-1]))
    before = np.maximum.accumulate(np.where(measured, np.arange(len(values)), 0))
    out = values.copy()
    out[first : last + 1] = values[before[first : last + 1]]
    return out
