"""What a run's heartbeats cost the program, and what its recording made expect."""

from __future__ import annotations

import numpy as np

from incprof.analysis.agreement.results import Beats, Matched
from incprof.analysis.phases.results import Phase
from incprof.model import FloatArray, IntervalProfile


def pairs(recorded: FloatArray, pulses: FloatArray, factors: FloatArray) -> tuple[float, float]:
    """Return recorded pairs, and what costs as much as a skipped pair: those, and pulses. All shape (h,)."""
    return float(recorded.sum()), float((recorded * (factors - 1) + pulses * factors).sum())


def predicted_pct(
    profile: IntervalProfile,
    phases: tuple[Phase, ...],
    beats: Beats,
    matched: Matched,
    pair_ns: float,
    skipped_ns: float,
) -> float | None:
    """Return what beats at the recorded calls cost in percent of CPU time, the interval thread aside.

    None where the recording does not say how often there is a beat: a heartbeat in a loop, or one of no phase, or in
    what was inlined, or built without -pg.
    """
    kinds = {(site.index, site.kind) for phase in phases for site in phase.sites}
    bodies = {index for index, kind in kinds if kind == "body"} - {index for index, kind in kinds if kind == "loop"}
    columns = matched.functions
    cpu_s = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    if cpu_s <= 0 or beats.others or not all(own and set(own) <= bodies for own in columns):
        return None
    calls = np.asarray(profile.calls.sum(axis=0)).ravel()
    if not all(calls[list(own)].all() for own in columns):
        return None
    total = 0.0
    for own, factor in zip(columns, beats.factors.tolist(), strict=True):
        total += float(calls[list(own)].sum()) * (pair_ns / factor + skipped_ns * (1 - 1 / factor))
    return 100 * 1e-9 * total / cpu_s
