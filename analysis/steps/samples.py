"""The samples of a phase by step, on the threads that run the driver, in order of time.

m steps, s samples of the phase.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.step_thresholds import STEPS
from incprof.analysis.steps.order import Pairs
from incprof.model import FloatArray, IntArray, IntervalProfile

# Number of iterations on each side from which the length of one is computed.
AROUND = 16


@dataclass(frozen=True)
class Story:
    """Samples in order of thread and time.

    Attributes:
        step: (s,) from 0, or -1 for none.
        time_s: (s,) seconds.
        weight: (s,) ticks.
        stretch: (s,) number that changes with the thread and the episode of the phase.
        interval: (s,) of each sample.
        sample: (s,) index in the profile.
    """

    step: IntArray
    time_s: FloatArray
    weight: IntArray
    stretch: IntArray
    interval: IntArray
    sample: IntArray


def driving_threads(profile: IntervalProfile, use: IntArray, step: IntArray, busiest: float = STEPS.busy) -> IntArray:
    """Return the threads that run the driver's loop: the first one if it does, else all that do.

    Workers of a parallel region have its caller's path, down from main: they help with a step. Threads with loops of
    their own do not include the program's first thread.

    Args:
        profile: the run.
        use: samples of the phase.
        step: (s,) of each sample.
        busiest: least share of the busiest thread's samples.
    """
    inside = step >= 0
    thread, weight = profile.samples.thread[use][inside], profile.samples.weight[use][inside]
    number, place = np.unique(thread, return_inverse=True)
    if not len(number):
        return number
    ticks = np.bincount(place, weights=weight)
    busy = number[ticks >= busiest * ticks.max()]
    return np.asarray(busy[:1] if busy[0] == 0 else busy, dtype=np.int64)


def story_of(profile: IntervalProfile, use: IntArray, step: IntArray, threads: IntArray, interval: IntArray) -> Story:
    """Return the samples of some threads. use, step: see driving_threads; `use` is ascending. interval: (s,)."""
    samples = profile.samples
    mine = np.flatnonzero(np.isin(samples.thread[use], threads))
    if len(threads) > 1:
        mine = mine[np.argsort(samples.thread[use[mine]], kind="stable")]
    use, step, interval = use[mine], step[mine], interval[mine]
    new = (np.diff(samples.thread[use], prepend=-1) != 0) | (np.diff(interval, prepend=0) > 1)
    return Story(step, samples.time_s[use], samples.weight[use], np.cumsum(new), interval, use)


def pairs_of(story: Story, calls: IntArray, rate_hz: float, lanes: int, late: float = STEPS.late) -> Pairs:
    """Return pairs of neighbouring samples, and their distance in iterations.

    Distances are in CPU time: a thread that waits for its processor does not advance in its iteration.

    Args:
        story: samples.
        calls: (n,) iterations that began in each interval, of all lanes.
        rate_hz: ticks per second of CPU time.
        lanes: number of threads that run the loop.
        late: ticks by which a sample may be late without the thread having waited.
    """
    busy = np.bincount(story.interval, weights=story.weight, minlength=len(calls)) / rate_hz
    # Intervals of other phases have no data here.
    length, error = _iteration_s(busy / lanes, np.where(busy > 0, calls, 0) / lanes)
    together = (np.diff(story.stretch) == 0) & (story.step[:-1] >= 0) & (story.step[1:] >= 0)
    at = np.flatnonzero(together)
    wall, used = np.diff(story.time_s)[at], story.weight[at + 1] / rate_hz
    # Ticks are late by up to one of the kernel's. Wall time is more exact, if the thread was running.
    ran = np.abs(wall - used) <= late / rate_hz
    near = story.interval[at]
    lag, unsure = np.where(ran, wall, used) / length[near], np.where(ran, 0.0, late / 2 / rate_hz) / length[near]
    known = np.isfinite(lag) & (length[near] > 0)
    error = lag * error[near] + unsure
    return Pairs(story.step[at][known], story.step[at + 1][known], lag[known], error[known])


def visits_of(story: Story, step: int) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Return the neighbours of each visit of a step: the step before, seconds to it, the step after, and seconds.

    A step is -1 where the visit has no neighbouring sample.
    """
    inside = story.step == step
    first = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    last = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]]))
    back, ahead = np.maximum(first - 1, 0), np.minimum(last + 1, len(inside) - 1)
    has_back = (back < first) & (story.stretch[back] == story.stretch[first])
    has_ahead = (ahead > last) & (story.stretch[ahead] == story.stretch[last])
    before = np.where(has_back, story.step[back], -1)
    after = np.where(has_ahead, story.step[ahead], -1)
    gap_before, gap_after = story.time_s[first] - story.time_s[back], story.time_s[ahead] - story.time_s[last]
    return before, gap_before, after, gap_after


def _iteration_s(busy_s: FloatArray, calls: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the length of an iteration near each interval, (n,), and its relative error; infinite where unknown."""
    n = len(calls)
    total, time = np.concatenate([[0.0], np.cumsum(calls)]), np.concatenate([[0.0], np.cumsum(busy_s)])
    low = np.maximum(np.searchsorted(total, total[:-1] - AROUND, side="right") - 1, 0)
    high = np.minimum(np.searchsorted(total, total[1:] + AROUND, side="left"), n)
    count = total[high] - total[low]
    length = np.where(count > 0, (time[high] - time[low]) / np.maximum(count, 1), np.inf)
    here = busy_s / np.maximum(calls, 1e-9)
    # Counts are whole numbers; and where the loop pauses for a while, its neighbours are not representative.
    ratio = here / np.where(length > 0, length, np.inf)
    drift = np.where(calls > 0, np.abs(ratio - 1) - 1 / np.maximum(calls, 1), 1.0)
    return length, 1 / np.maximum(count, 1) + np.clip(drift, 0.0, 1.0)
