"""Intervals with too few samples are merged before the analysis, and a warning names what to record with."""

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
    """Return the warning about intervals with few samples: how few, what was done about it, and what to do."""
    meta, ticks, cpus = profile.metadata, ticks_of(profile), _cpus(profile)
    few = f"few samples per interval ({ticks.mean():.2g})"
    if profile.n_intervals < by * ENOUGH:
        more = f", or with -r {MOST_HZ:g}" if meta.rate_hz < MOST_HZ else ""
        return f"{few}, and too few in all ({ticks.sum():.0f}): record for longer{more}"
    needed = options.samples / (meta.interval_s * min(cpus or 1.0, 1.0))
    faster = f"-r {MOST_HZ:g}" if meta.rate_hz < needed <= MOST_HZ else None
    length = f"-i {meta.interval_s * by:g}"
    if not pool:
        return f"{few}: record with {length}" + (f" or {faster}" if faster else "")
    merged = f"{few}: merged {'in pairs' if by == 2 else f'in groups of {by}'}"
    return f"{merged}. For finer phases record with {faster}" if faster else f"{merged}, as with {length}"


def _cpus(profile: IntervalProfile) -> float | None:
    """Return the CPU seconds per second that the program got; None where the recording cannot tell."""
    wall = float(np.maximum(profile.end_s - profile.start_s, 0.0).sum())
    used = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    return used / wall if used > 0 and wall > 0 else None
