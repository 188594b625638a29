"""What decides which intervals are a phase. docs/thresholds.md lists all thresholds with what they rest on."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.thresholds import threshold

PART_OF_INTERVAL, PART_OF_RUN = "part of an interval", "part of the run"


@dataclass(frozen=True)
class PhaseOptions:
    """Thresholds of how phases are found, in the order of docs/phases-algorithm.md."""

    samples: float = threshold(
        5.0, "samples", "of fewer, one interval in a hundred of a busy program has none: they are pooled", high=1000
    )
    least_chain: float = threshold(
        0.02, PART_OF_RUN, "a chain with less, callees included, is counted for its caller", without=0.0
    )
    much: float = threshold(
        0.25, PART_OF_INTERVAL, "unless it has this much of several intervals: phases may be short", without=1.0
    )
    several: int = threshold(2, "intervals", "one may be an accident", low=1, high=1000)
    known: float = threshold(
        0.5, "part of the ticks", "call paths of less do not stand for the run: functions do", without=0.0
    )
    kept_energy: float = threshold(0.999, "part of the variance", "columns with the rest only add noise", without=1.0)
    fill: float = threshold(
        0.25, "part of a busy thread's ticks", "fewer ticks are filled up by what was called", without=0.0
    )
    unseen: float = threshold(0.5, "ticks", "of a function that was never sampled: between none and one")
    idle: float = threshold(0.03, "part of the usual ticks", "fewer say nothing about functions", without=0.0)
    waiting: float = threshold(0.05, PART_OF_RUN, "more of it waiting is a phase that a user asks about", without=1.0)
    beyond: float = threshold(
        5.0,
        "standard errors",
        "2 000 borders of 200 functions have one by chance in 1 of 5 runs at 5, in each at 4",
        high=100,
    )
    named: float = threshold(
        0.08, PART_OF_INTERVAL, "a function's share that surely changes by less is not what a person calls a change"
    )
    surely: float = threshold(
        2.5,
        "standard errors",
        "a share has an error, and its lower bound counts: real programs get 1 to 3 phases fewer",
        high=10,
        without=0.0,
    )
    short_visit: int = threshold(2, "intervals", "what comes for no longer is a border or a step", low=1, high=1000)
    iteration: int = threshold(
        10,
        "intervals",
        "a step of an iteration that takes longer is a phase that a person would watch",
        high=10**6,
        without=0,
    )
    turns: int = threshold(8, "stretches", "fewer that follow one another need not be iterations", low=2, high=10**6)
    again: float = threshold(
        0.2,
        "part of its share",
        "what is done in one half of some iterations is done in the other half, but for some of them",
    )
    driver: float = threshold(0.9, PART_OF_INTERVAL, "a driver of steps holds all of them, but for stray ticks")
    way: float = threshold(0.5, "part of its ends", "a way from one phase to another is shorter than either", high=10)
    trend: float = threshold(0.5, "correlation", "on the way from one phase to the next, time and place go together")
    abrupt: float = threshold(
        0.7, "part of the change", "of a slow change, at most half happens from one interval to the next", without=0.0
    )
    drift: float = threshold(
        0.5, "times the change", "a stretch that moves by that itself is a part of a slow change", high=100
    )
    explained: float = threshold(0.8, "part of the visits", "so many of a group must be short and lie in another one")
    mixed: float = threshold(0.2, "part of the mix", "what has less of the phase around it does not interrupt it")
    stray_run: int = threshold(20, "intervals", "in a shorter run a moment may be a phase", high=10**9)
    doubtful: float = threshold(
        0.5, "confidence", "what is not found again in half of the runs drawn from this one is no phase", without=0.0
    )
    least: float = threshold(
        0.025, PART_OF_RUN, "a stretch with less is named, and no phase: as people count in real programs", without=0.0
    )
    distinct: float = threshold(
        0.5, "silhouette", "less is a weak structure (Kaufman and Rousseeuw 1990, table 2.4)", without=-1.0, low=-1
    )
    steady: float = threshold(
        4.0, "times what counting explains", "intervals of a steady real program scatter 1 to 3 times", low=1, high=1000
    )


PHASES = PhaseOptions()
