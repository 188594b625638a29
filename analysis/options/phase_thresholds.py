"""Thresholds that decide which intervals form a phase. thresholds.md lists all thresholds with their evidence."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.thresholds import threshold

PART_OF_INTERVAL, PART_OF_RUN = "part of an interval", "part of the run"


@dataclass(frozen=True)
class PhaseOptions:
    """Thresholds of finding phases, in the order of docs/understand/phase-detection.md."""

    known: float = threshold(
        0.5, "part of the ticks", "call paths of less do not stand for the run: functions do", without=0.0
    )
    penalty: float = threshold(
        3.0,
        "times log(samples)",
        "what a change point has to gain in log likelihood: for its place, and for the shares before and after it",
        high=1000,
    )
    abrupt: float = threshold(
        0.7, "part of the change", "of a slow change, at most half happens at one place", without=0.0
    )
    named: float = threshold(
        0.08, "share", "a function's share that certainly changes by less is not what a person calls a change"
    )
    surely: float = threshold(
        2.5,
        "standard errors",
        "a share has an error, and its lower bound counts: real programs get 1 to 3 phases fewer",
        high=10,
        without=0.0,
    )
    large: float = threshold(
        0.1, PART_OF_RUN, "a stage is shown as its parts where two or more of them have this much, and 70 % of it"
    )
    least: float = threshold(
        0.025, PART_OF_RUN, "a part with less is named, and no phase: as people count in real programs", without=0.0
    )
    episode: float = threshold(0.01, PART_OF_RUN, "unless it is as long as this at once, like a set-up", without=0.0)
    resolution: float = threshold(
        0.0, "seconds", "the smallest part: 0 is 8 samples, and what least and episode say", high=1e9
    )
    waiting: float = threshold(0.05, PART_OF_RUN, "more of it waiting is a phase that a user asks about", without=1.0)
    steady: float = threshold(
        4.0, "times what counting explains", "intervals of a steady real program scatter 1 to 3 times", low=1, high=1000
    )
    samples: float = threshold(
        5.0, "samples", "an interval of fewer says little: those of the analysis usually hold twice as many", high=1000
    )
    least_chain: float = threshold(
        0.02, PART_OF_RUN, "a chain with less, callees included, is counted for its caller", without=0.0
    )
    much: float = threshold(
        0.25, PART_OF_INTERVAL, "unless it has this much of several intervals: phases may be short", without=1.0
    )
    several: int = threshold(2, "intervals", "one may be an accident", low=1, high=1000)
    kept_energy: float = threshold(0.999, "part of the variance", "columns with the rest only add noise", without=1.0)
    fill: float = threshold(
        0.25, "part of a busy thread's ticks", "fewer ticks are filled up by what was called", without=0.0
    )
    unseen: float = threshold(0.5, "ticks", "of a function that was never sampled: between none and one")
    idle: float = threshold(0.03, "part of the usual ticks", "fewer say nothing about functions", without=0.0)
    beyond: float = threshold(
        5.0,
        "standard errors",
        "2 000 borders of 200 functions have one by chance in 1 of 5 runs at 5, in each at 4",
        high=100,
    )
    short_visit: int = threshold(2, "intervals", "what comes for no longer is a border or a step", low=1, high=1000)


PHASES = PhaseOptions()
