"""Thresholds of finding the steps of a phase and their recurrence. thresholds.md lists all thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.thresholds import threshold


@dataclass(frozen=True)
class StepOptions:
    """Thresholds of finding, counting and ordering steps; docs/understand/sites-and-steps.md."""

    apart: float = threshold(
        0.2, "part of the time above", "a loop with less is set-up or output, unless there is no other", without=0.0
    )
    wrapped: float = threshold(0.95, "part of the caller's time", "who calls one function with so much only passes on")
    alone: float = threshold(0.9, "part of a function's time", "with less below one caller, calls are not all its own")
    holds: float = threshold(0.8, "part of the driver's time", "what recurs in less gives no period", without=0.0)
    error: float = threshold(0.05, "part of the period", "two standard errors are then within 10 %", without=1.0)
    aside: float = threshold(0.1, "part of the calls", "steps side by side are never further apart", without=1.0)
    least: float = threshold(0.02, "part of the phase", "what takes less is no step of it", without=0.0)
    shortest_s: float = threshold(
        3e-6, "seconds", "shorter calls are arithmetic: 10 us has 5 points less recall", without=0.0
    )
    looked_into: float = threshold(
        0.05, "part of the phase", "what a smaller step is made of, nobody asks", without=0.0
    )
    agree: float = threshold(
        0.96, "part of the intervals", "counts are exact, but threads run on while they are read, and loops end early"
    )
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
