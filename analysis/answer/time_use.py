"""What intervals and phases mostly spend time on: work, MPI, the OpenMP runtime, input and output, or waiting."""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.phase_thresholds import PHASES
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.time_use import WAITING, WORK

# An interval is of a kind that has more than this share of its CPU time.
MOST = 0.5


def mostly(seconds: FloatArray, wall_s: FloatArray) -> IntArray:
    """Return the kind of time that has most of some times, indices of SPENT, (...).

    Work unless another kind has most of the CPU time; waiting also where there is next to no CPU time.

    Args:
        seconds: (..., len(SPENT)) of CPU time.
        wall_s: (...) wall-clock time of the same intervals.
    """
    total = np.asarray(seconds.sum(axis=-1))
    found = np.argmax(seconds, axis=-1)
    most = np.take_along_axis(seconds, np.expand_dims(found, -1), axis=-1)[..., 0]
    found = np.where(most > MOST * total, found, WORK)
    return np.where(total < PHASES.idle * np.asarray(wall_s), WAITING, found).astype(np.int64)


def off_cpu_s(profile: IntervalProfile, seconds: FloatArray) -> FloatArray:
    """Return the part of each interval, (n,) seconds, in which no thread can have been on a CPU. seconds: spent_s()."""
    off: FloatArray = np.maximum(profile.end_s - profile.start_s - seconds.sum(axis=1), 0.0)
    return off
