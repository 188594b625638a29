"""Number of intervals to pool so that each pool holds enough samples to show what it does.

Where no interval has more than one sample, an interval without one is not necessarily one of waiting.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from incprof.analysis.options.phase_thresholds import PHASES, PhaseOptions
from incprof.model import FloatArray, IntervalProfile

# Rounding of seconds that are whole numbers of ticks.
SLACK = 1e-6


def ticks_of(profile: IntervalProfile) -> FloatArray:
    """Return the samples of each interval, in ticks, (n,)."""
    return np.asarray(profile.self_s.sum(axis=1), dtype=np.float64).ravel() * profile.metadata.rate_hz


def usual_ticks(ticks: FloatArray) -> float:
    """Return the number of samples in the interval of the median sample: half of all samples are in larger intervals.

    Intervals of waiting, however many, do not count. ticks: (n,). Zero without samples.
    """
    order = np.sort(ticks)
    done = np.cumsum(order)
    return float(order[np.searchsorted(done, done[-1] / 2)]) if len(order) and done[-1] > 0 else 0.0


def pooled_by(profile: IntervalProfile, options: PhaseOptions = PHASES) -> int:
    """Return how many intervals to pool: 1, 2, 5, 10, ... the fewest that usually hold enough samples.

    All of them if even that is too few; 1 without samples.
    """
    return pooled_by_ticks(ticks_of(profile), options)


def pooled_by_ticks(ticks: FloatArray, options: PhaseOptions = PHASES) -> int:
    """Return how many intervals to pool, from the samples of each, in ticks, (n,)."""
    if not ticks.sum() > 0:
        return 1
    for number in count():
        by = (1, 2, 5)[number % 3] * int(10 ** (number // 3))
        at = np.arange(0, len(ticks), by)
        if len(at) <= 1 or usual_ticks(np.add.reduceat(ticks, at)) >= options.samples - SLACK:
            return by
    raise AssertionError("unreachable: by grows beyond any run")
