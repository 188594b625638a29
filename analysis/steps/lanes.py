"""The threads that run a loop, and their samples. m steps, s samples of the phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.steps.called import Called, PhaseCalls
from incprof.analysis.steps.samples import Story, driving_threads, story_of
from incprof.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Lanes:
    """The threads that run a loop.

    Attributes:
        count: number of threads.
        story: their samples.
        inside: which samples of the story are in the loop's driver.
        ticks: (m,) of the steps on these threads.
    """

    count: int
    story: Story
    inside: BoolArray
    ticks: FloatArray


def lanes_of(phase: PhaseCalls, driver: Called, sampled: IntArray, m: int) -> Lanes:
    """Return the threads that run a loop. sampled: (s,) the step of each sample."""
    threads = driving_threads(phase.profile, phase.use, sampled, phase.options.busy)
    inside = phase.inside(driver.nodes)
    # Steps from 0, -1 in the driver itself, -2 elsewhere.
    story = story_of(phase.profile, phase.use, np.where(inside, sampled, -2), threads, phase.interval)
    stepped = story.step >= 0
    ticks = np.bincount(story.step[stepped], weights=story.weight[stepped], minlength=m).astype(np.float64)
    return Lanes(max(len(threads), 1), story, story.step >= -1, ticks)
