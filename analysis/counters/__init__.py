"""Counters of a run's time, by phase: what each phase is bound by. counters.md. r rows, n intervals, k phases."""

from __future__ import annotations

import numpy as np

from incprof.analysis.counters.bound import bound_by
from incprof.analysis.counters.energy import PhasePower, energy_figures, energy_of_steps, overlaps, power_by_phase
from incprof.analysis.counters.events import Events
from incprof.analysis.counters.figures import figures_of
from incprof.analysis.counters.phase_counters import CountersUnder, PhaseCounters, PowerUnder
from incprof.analysis.phase_result import PhaseResult
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.series import CounterSeries

# A row with a smaller share of its time in one phase belongs to another one too.
WITHIN = 0.8


def lay_under(
    series: CounterSeries, profile: IntervalProfile, result: PhaseResult, *, offset_s: float, by_clock: bool, path: str
) -> CountersUnder:
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
    power = power_under(series, profile, result, offset_s)
    phases = []
    for phase in result.present:
        mine = events.within(rows == phase.id)
        figures = figures_of(mine)
        bound = bound_by(phase, figures, mine.wall_s)
        if power is not None:
            figures |= energy_figures(phase, float(power.watts[phase.id]), float(power.measured_s[phase.id]))
        steps = energy_of_steps(phase, figures["energy_j"]) if "energy_j" in figures else ()
        phases.append(PhaseCounters(phase.id, mine.wall_s, figures, bound, steps))
    sensors = () if series.power is None else series.power.sensors
    return CountersUnder(
        path=path,
        phases=tuple(phases),
        by_clock=by_clock,
        offset_s=offset_s,
        row_s=float(np.median(end - start)),
        left_out=int((rows == MIXED).sum()),
        outside=int((rows == OUTSIDE).sum()),
        notes=series.notes,
        unknown=tuple(name for name in events.unknown if name not in sensors),
        power=None if power is None else _power_of_run(series, power),
    )


def power_under(
    series: CounterSeries, profile: IntervalProfile, result: PhaseResult, offset_s: float
) -> PhasePower | None:
    """Return the power of each phase, and of the time between phases; None where none was sampled.

    Args:
        series: r rows.
        profile: n intervals.
        result: k phases.
        offset_s: start of sampling, seconds after the start of the recording.
    """
    if series.power is None:
        return None
    labels = np.where(result.labels < 0, result.k, result.labels)
    start, end = series.start_s + offset_s, series.end_s + offset_s
    return power_by_phase(
        series.power, end - start, overlaps(start, end, profile.start_s, profile.end_s, labels, result.k + 1)
    )


def _power_of_run(series: CounterSeries, found: PhasePower) -> PowerUnder:
    """Return the energy of the whole run, as far as it was measured."""
    assert series.power is not None
    joules = np.where(found.measured_s > 0, found.watts * found.measured_s, 0.0)
    return PowerUnder(
        series.power.name,
        series.power.simulated,
        float(joules.sum()),
        float(joules[-1]),
        float(found.measured_s.sum()),
        series.power.notes,
    )


# Rows of no phase: in several, or in none; and those before or after the run.
MIXED, OUTSIDE = -1, -2


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
    held = inside.max(axis=0, initial=0.0) >= WITHIN * (end - start)
    found = np.where(held, most, MIXED)
    outside = (end <= profile.start_s[0]) | (start >= profile.end_s[-1])
    return np.where(outside, OUTSIDE, found).astype(np.int64)
