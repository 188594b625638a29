"""Intervals of too few samples are taken together before anything is said of them, and the user hears what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.options.phases import PhaseOptions
from incprof.analysis.phases.interval import MOST_HZ
from incprof.analysis.phases.pooling import pooled_by, ticks_of
from incprof.analysis.phases.verdict import ENOUGH
from incprof.model import IntervalProfile, pooled


def with_samples(profile: IntervalProfile, options: PhaseOptions, *, pool: bool = True) -> IntervalProfile:
    """Return the profile with intervals that hold samples enough, and a warning if they are not those recorded.

    pool: False leaves them as they are: the warning alone.
    """
    by = pooled_by(profile, options)
    if by == 1 or profile.n_intervals < 2:
        return profile
    said = too_few(profile, by, options, pool=pool)
    profile = replace(profile, warnings=(*profile.warnings, said))
    return pooled(profile, by) if pool else profile


def too_few(profile: IntervalProfile, by: int, options: PhaseOptions, *, pool: bool = True) -> str:
    """Say what is too few in the recorded intervals of a profile, why, and what to do about it."""
    meta, ticks, cpus = profile.metadata, ticks_of(profile), _cpus(profile)
    got = "" if cpus is None else f", the program got {cpus:.2g} CPUs"
    what = (
        f"an interval of {meta.interval_s:g} s holds {ticks.mean():.2g} samples ({meta.rate_hz:g} a CPU second{got}), "
        "too few to tell what it does"
    )
    if profile.n_intervals < by * ENOUGH:
        more = f", or with -r {MOST_HZ:g}" if meta.rate_hz < MOST_HZ else ""
        return f"{what}, and {ticks.sum():.0f} are too few in all: record for longer{more}"
    length = meta.interval_s * by
    advice = f"record with -i {length:g}"
    needed = options.samples / (meta.interval_s * min(cpus or 1.0, 1.0))
    if meta.rate_hz < needed <= MOST_HZ:
        advice += f" or -r {MOST_HZ:g}"
    return f"{what}: {by} are taken as one of {length:g} s; {advice}" if pool else f"{what}: {advice}"


def _cpus(profile: IntervalProfile) -> float | None:
    """Return the CPU seconds per second that the program got; None where the recording cannot tell."""
    wall = float(np.maximum(profile.end_s - profile.start_s, 0.0).sum())
    used = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    return used / wall if used > 0 and wall > 0 else None
