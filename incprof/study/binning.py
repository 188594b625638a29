"""Intervals of the analysis: the recorded ones for the paper's method, else parts of the segments of the run."""

from __future__ import annotations

from dataclasses import replace

from incprof.analysis.composition.separation import pooled_by, ticks_of
from incprof.analysis.phase_result import ENOUGH
from incprof.analysis.phases.bins import in_bins
from incprof.model import IntervalProfile
from incprof.study.options import StudyOptions

# A common kernel's CPU-time clock ticks at most this often.
MOST_HZ = 250.0


def binned(profile: IntervalProfile, options: StudyOptions) -> IntervalProfile:
    """Return a recorded profile in the intervals of the analysis; warns if it has too few samples."""
    if warning := few_samples(profile, options):
        profile = replace(profile, warnings=(*profile.warnings, warning))
    if options.method == "paper":
        return profile
    return in_bins(profile, options.thresholds.phases, options.k or options.level)


def few_samples(profile: IntervalProfile, options: StudyOptions) -> str | None:
    """Return a remedy for too few samples: in the run, or in the intervals that the paper's method takes."""
    meta, ticks, least = profile.metadata, ticks_of(profile), options.thresholds.phases.samples
    if not ticks.sum() > 0:
        return None
    if ticks.sum() < least * ENOUGH:
        more = f", or with -r {MOST_HZ:g}" if meta.rate_hz < MOST_HZ else ""
        return f"few samples ({ticks.sum():.0f}): record for longer{more}"
    by = pooled_by(profile, options.thresholds.phases) if options.method == "paper" else 1
    return (
        None if by == 1 else f"few samples per interval ({ticks.mean():.2g}): record with -i {meta.interval_s * by:g}"
    )
