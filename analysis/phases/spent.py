"""What intervals and phases are mostly spent on: work, MPI, OpenMP's own, input and output, or waiting."""

from __future__ import annotations

import numpy as np

from incprof.analysis.options.phases import PHASES
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.spent import WAITING, WORK

# What is said of an interval holds for more of its CPU time than not.
MOST = 0.5


def mostly(seconds: FloatArray, wall_s: FloatArray) -> IntArray:
    """Return what most of some times was spent on, indices of SPENT, (...).

    Work unless another kind has most of the CPU time; waiting, too, where there is next to none.

    Args:
        seconds: (..., len(SPENT)) of CPU time.
        wall_s: (...) of the same.
    """
    total = np.asarray(seconds.sum(axis=-1))
    found = np.argmax(seconds, axis=-1)
    most = np.take_along_axis(seconds, np.expand_dims(found, -1), axis=-1)[..., 0]
    found = np.where(most > MOST * total, found, WORK)
    return np.where(total < PHASES.idle * np.asarray(wall_s), WAITING, found).astype(np.int64)


def off_cpu_s(profile: IntervalProfile, seconds: FloatArray) -> FloatArray:
    """Return the part of each interval, (n,) seconds, in which surely no thread was on the CPU. seconds: spent_s()."""
    off: FloatArray = np.maximum(profile.end_s - profile.start_s - seconds.sum(axis=1), 0.0)
    return off
