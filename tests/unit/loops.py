"""Profiles of a program that runs a loop of steps, made by going through it: every iteration and sample is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray, IntervalProfile
from truth.record import Recorder


@dataclass(frozen=True)
class Loop:
    """A loop in `evolve`, which main calls.

    steps: names and seconds, in order. every: the last step comes in each every-th iteration. scatter:
    of durations, relative. rate_hz: samples. first: calls of steps before the loop begins.
    """

    steps: Sequence[tuple[str, float]]
    iterations: int
    every: int = 1
    scatter: float = 0.03
    rate_hz: float = 100.0
    interval_s: float = 0.25
    first: Sequence[int] = ()
    inlined: Sequence[int] = ()


def visits(loop: Loop, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return the step and the end of each call."""
    last = len(loop.steps) - 1
    which = [*loop.first]
    for i in range(1, loop.iterations + 1):
        which += [step for step in range(last + 1) if step < last or i % loop.every == 0]
    step = np.array(which)
    seconds = np.array([seconds for _, seconds in loop.steps])[step]
    return step, np.cumsum(seconds * np.exp(loop.scatter * rng.standard_normal(len(step))))


def run(loop: Loop, seed: int = 0) -> IntervalProfile:
    """Go through the loop."""
    rng = np.random.default_rng(seed)
    step, end = visits(loop, rng)
    edges = np.arange(0.0, end[-1] + loop.interval_s, loop.interval_s)
    recorder = Recorder(edges)
    gap = 1 / loop.rate_hz
    times = np.arange(rng.uniform(0, gap), end[-1], gap)
    sampled = step[np.searchsorted(end, times, side="right")]
    begin = np.concatenate([[0.0], end[:-1]])
    for number, (name, _) in enumerate(loop.steps):
        recorder.ticks(("main", "evolve", name), times[sampled == number])
        if number not in loop.inlined:
            recorder.calls("evolve", name, recorder.per_interval(begin[step == number]))
    nothing = np.empty(0, dtype=np.int64)
    recorder.calls(None, "main", np.eye(1, recorder.n, dtype=np.int64)[0])
    recorder.calls("main", "evolve", np.eye(1, recorder.n, dtype=np.int64)[0])
    return recorder.profile(loop.interval_s, loop.rate_hz, nothing, nothing, rng)
