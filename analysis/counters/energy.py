"""The energy of phases, from the power of the node that they ran on. r rows, n intervals, k phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.counters.results import StepEnergy
from incprof.analysis.phases.results import Phase, all_steps
from incprof.model import FloatArray, IntArray
from incprof.model.series import Power

# A phase of which less than this part was measured has a power, but no energy.
MEASURED = 0.5
# Rows that have next to nothing else in them tell a phase's own power.
ALONE = 0.999
MOST_STEPS = 4


@dataclass(frozen=True)
class PhasePower:
    """The power of phases. watts, measured_s: (k + 1,), the last of what is in none; NaN where nothing was.

    rows_w, rows_s: for each of them the power and the length of rows that lie in it alone.
    """

    watts: FloatArray
    measured_s: FloatArray
    rows_w: tuple[FloatArray, ...]
    rows_s: tuple[FloatArray, ...]


def overlaps(
    start: FloatArray, end: FloatArray, start_s: FloatArray, end_s: FloatArray, labels: IntArray, k: int
) -> FloatArray:
    """Return the seconds that each row has of each phase, (k, r).

    Args:
        start: (r,) seconds on the clock of the intervals.
        end: (r,) of the same.
        start_s: (n,) of the intervals.
        end_s: (n,) of the same.
        labels: (n,) their phases, below k; others count for none.
        k: phases.
    """
    edges = np.stack([start_s, end_s], axis=1).ravel()
    inside = np.zeros((k, len(start)))
    for phase in range(k):
        # The time spent in the phase until each edge grows within its intervals only.
        grown = np.where(labels == phase, end_s - start_s, 0.0)
        until = np.stack([np.concatenate([[0.0], np.cumsum(grown)[:-1]]), np.cumsum(grown)], axis=1).ravel()
        inside[phase] = np.interp(end, edges, until) - np.interp(start, edges, until)
    return inside


def power_by_phase(power: Power, row_s: FloatArray, inside: FloatArray) -> PhasePower:
    """Share the energy of rows between the phases: all of it is somewhere, and none of it twice.

    Of a row in which the phase changes, each phase has its time at the power that it has in rows of its own, so
    that rows may be longer than phases.

    Args:
        power: of r rows.
        row_s: (r,) their lengths.
        inside: (k + 1, r) seconds of each row in each phase, the last of what is in none.
    """
    known = np.isfinite(power.watts)
    watts = np.where(known, power.watts, 0.0)
    alone = [known & (own >= ALONE * row_s) for own in inside]
    usual = [float(watts[own] @ row_s[own] / row_s[own].sum()) if own.any() else np.nan for own in alone]
    seconds = np.where(known, inside, 0.0)
    # What is of no phase with a power of its own, or outside of the run, is taken to have that of the row.
    expected = seconds * np.where(np.isfinite(usual)[:, None], np.array(usual)[:, None], watts)
    outside = np.maximum(row_s - seconds.sum(axis=0), 0.0) * watts
    whole = expected.sum(axis=0) + outside
    joules = expected * np.divide(watts * row_s, whole, out=np.zeros_like(whole), where=whole > 0)
    measured = seconds.sum(axis=1)
    mean = np.divide(joules.sum(axis=1), measured, out=np.full(len(inside), np.nan), where=measured > 0)
    return PhasePower(mean, measured, tuple(watts[own] for own in alone), tuple(row_s[own] for own in alone))


def energy_figures(phase: Phase, watts: float, measured_s: float) -> dict[str, float]:
    """Return the mean power of a phase, its energy, and that of an iteration of its loop."""
    if not np.isfinite(watts):
        return {}
    found = {"power_w": watts}
    if measured_s >= MEASURED * phase.seconds:
        found["energy_j"] = watts * phase.seconds
    timed = [step for step in phase.steps if step.period_s]
    if timed:
        found["iteration_j"] = watts * float(max(timed, key=lambda step: step.share).period_s or 0.0)
    return found


def energy_of_steps(phase: Phase, joules: float) -> tuple[StepEnergy, ...]:
    """Return the energy of a call of each step, the largest first, by its part of the phase's time."""
    steps = sorted((s for s in all_steps(phase.steps) if s.calls > 0), key=lambda step: -step.share)
    return tuple(StepEnergy(s.function, s.calls, joules * s.share / s.calls) for s in steps[:MOST_STEPS])
