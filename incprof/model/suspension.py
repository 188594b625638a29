"""Suspensions of a program between two intervals: it was stopped, or the machine was asleep."""

from __future__ import annotations

import numpy as np

from incprof.model.arrays import BoolArray, FloatArray
from incprof.model.profile import IntervalProfile


def is_after_suspension(profile: IntervalProfile) -> BoolArray:
    """Return whether the program was suspended just before each interval, (n,)."""
    suspended_s = profile.counters.suspended_s
    gap_s = profile.start_s - np.append(profile.start_s[:1], profile.end_s[:-1])
    return (gap_s > 0) & (suspended_s > 0) if len(suspended_s) else np.zeros(len(gap_s), dtype=np.bool_)


def suspensions(profile: IntervalProfile) -> FloatArray:
    """Return the beginning and the end of each suspension, (s, 2), seconds since the start of the run."""
    after = np.flatnonzero(is_after_suspension(profile))
    return np.column_stack([profile.end_s[after - 1], profile.start_s[after]])
