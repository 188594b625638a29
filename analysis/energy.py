"""The energy of phases, from the power of the node that they ran on. r rows, n intervals, k phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.series import CounterSeries, Power

# Rows with next to nothing else in them show a phase's own power.
ONE_PHASE = 0.999


@dataclass(frozen=True)
class PhasePower:
    """The power of phases.

    Attributes:
        watts: (k + 1,), the last of time in no phase; NaN where nothing was measured.
        measured_s: (k + 1,) seconds with a measurement.
        rows_w: for each of them the power of the rows that lie in it alone.
        rows_s: lengths of the same rows, seconds.
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
        end: (r,) likewise.
        start_s: (n,) of the intervals.
        end_s: (n,) likewise.
        labels: (n,) their phases, below k; other values are no phase.
        k: number of phases.
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
    """Divide the energy of rows among the phases: all of it is assigned, and none of it twice.

    In a row in which the phase changes, each phase has its time at the power of its own rows, so that rows may be
    longer than phases.

    Args:
        power: of r rows.
        row_s: (r,) their lengths.
        inside: (k + 1, r) seconds of each row in each phase, the last of time in none.
    """
    measured_rows = np.isfinite(power.watts)
    watts = np.where(measured_rows, power.watts, 0.0)
    in_one_phase = [measured_rows & (own >= ONE_PHASE * row_s) for own in inside]
    usual = [float(watts[own] @ row_s[own] / row_s[own].sum()) if own.any() else np.nan for own in in_one_phase]
    seconds = np.where(measured_rows, inside, 0.0)
    # Time in a phase without a power of its own, or outside of the run, is assumed to have the row's power.
    expected = seconds * np.where(np.isfinite(usual)[:, None], np.array(usual)[:, None], watts)
    outside = np.maximum(row_s - seconds.sum(axis=0), 0.0) * watts
    total = expected.sum(axis=0) + outside
    joules = expected * np.divide(watts * row_s, total, out=np.zeros_like(total), where=total > 0)
    measured = seconds.sum(axis=1)
    mean = np.divide(joules.sum(axis=1), measured, out=np.full(len(inside), np.nan), where=measured > 0)
    return PhasePower(
        mean, measured, tuple(watts[own] for own in in_one_phase), tuple(row_s[own] for own in in_one_phase)
    )


def phase_power(
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
