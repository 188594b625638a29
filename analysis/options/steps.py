"""What decides what the steps of a phase are, and how they recur. docs/thresholds.md lists all thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.thresholds import threshold


@dataclass(frozen=True)
class StepOptions:
    """Thresholds of how steps are found, counted and put in order; docs/steps-algorithm.md."""

    driver: float = threshold(0.8, "part of the phase", "the driver is the deepest function that has so much of it")
    least: float = threshold(0.02, "part of the phase", "what takes less is no step of it", without=0.0)
    shortest_s: float = threshold(10e-6, "seconds", "nobody would watch shorter calls one by one", without=0.0)
    agree: float = threshold(
        0.96, "part of the intervals", "counts are exact, but threads run on while they are read, and loops end early"
    )
    of_run: float = threshold(0.02, "part of the run", "what so short a phase calls is mostly its set-up", without=0.0)
    fewest: int = threshold(
        3, "calls", "what comes once or twice is no step, and tells nothing of how it recurs", low=1, high=10**6
    )
    several: int = threshold(
        4, "calls", "a step may come so often in an iteration that another one tells", low=1, high=64
    )
    busy: float = threshold(0.1, "part of the busiest thread's samples", "a thread with less does not run the driver")
    late: float = threshold(0.6, "ticks", "a sample may come so late without the thread having waited", high=100)
    furthest: float = threshold(8.0, "iterations", "samples further apart tell nothing of the order", high=1000)
    sure: float = threshold(0.99, "probability", "an order is told only if all others together have no more than 1 %")
    weight: float = threshold(0.5, "part", "of the evidence: samples that follow one another are not independent")
    stray: float = threshold(0.05, "part of the samples", "these may be anything", low=1e-9)
    misread: float = threshold(0.01, "part of the counts", "exact, but for the moment of reading", low=1e-9)


STEPS = StepOptions()
