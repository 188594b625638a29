"""Counters that were sampled during a run, by its phases."""

from __future__ import annotations

from incprof.study.power import SampledCounters
from incprof.systems.counters.analyse import CountersByPhase, counters_by_phase


def read_by_phase(sampled: SampledCounters) -> CountersByPhase:
    """Return the counters of a file by the phases of the run during which they were sampled."""
    return counters_by_phase(
        sampled.series, sampled.study.profile, sampled.study.phases(), offset_s=sampled.offset_s,
        by_clock=sampled.by_clock, path=sampled.path,
    )  # fmt: skip
