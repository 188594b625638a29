"""What decides which intervals are a phase. docs/thresholds.md lists all thresholds with what they rest on."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.thresholds import threshold

PART_OF_INTERVAL, PART_OF_RUN, NORMAL = "part of an interval", "part of the run", "standard deviations"
KAUFMAN = "Kaufman and Rousseeuw 1990, table 2.4"


@dataclass(frozen=True)
class PhaseOptions:
    """Thresholds of how phases are found, in the order of docs/phases-algorithm.md."""

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
    enough_ticks: float = threshold(50.0, "ticks", "fewer are judged by the neighbours too", low=1, high=1e6)
    far: float = threshold(4.5, NORMAL, "neighbours so different are of different behaviour", high=100)
    near: float = threshold(2.5, NORMAL, "neighbours so alike are of the same behaviour", high=100)
    borders: float = threshold(
        0.2, PART_OF_RUN, "with more, the program alternates faster than the interval", without=0.0
    )
    change: float = threshold(3.5, NORMAL, "two stretches that differ by more are not averaged", high=100)
    noise_slack: float = threshold(
        1.3, "times the scatter that counting explains", "so much of it is nobody's phase", low=1, high=100
    )
    misfit: float = threshold(2.5, NORMAL, "an interval farther out does not look like its phase", high=100)
    misfits: float = threshold(
        0.005, "part of the intervals", "what is beyond `misfit` by chance alone: 0.6 % of a normal tail"
    )
    silhouette: float = threshold(0.5, "silhouette", f"less is weak, perhaps made by clustering itself ({KAUFMAN})")
    stray: float = threshold(6.0, NORMAL, "an interval farther out is in no phase", high=1000, without=1000.0)
    stray_run: int = threshold(20, "intervals", "in a shorter run a small cluster may be a phase", high=10**9)
    stray_part: float = threshold(0.002, "part of the intervals", "less is no phase of a long run", without=0.0)
    left_over: float = threshold(0.25, "silhouette", f"a cluster with less has no structure ({KAUFMAN})", without=0.0)
    short_visit: int = threshold(2, "intervals", "what comes for no longer is a border or a step", low=1, high=1000)
    explained: float = threshold(0.8, "part of a cluster", "so much of it must lie between the phases that explain it")
    near_end: float = threshold(0.2, "part of the way", "nearer to an end of the way is that end", high=0.5)
    off_line: float = threshold(
        0.05, "part of the squared distance", "a mixture of two phases lies on the line between them"
    )
    trend: float = threshold(0.5, "correlation", "on the way from one phase to the next, time and place go together")
    mixed: float = threshold(0.2, "part of the mix", "what has less of the phase around it does not interrupt it")
    no_gap: float = threshold(
        3.6, "Ashman's D", "halves of a normal cloud are 2.7 apart, halves of an even one 3.5", high=100, without=0.0
    )
    same_time: float = threshold(
        0.6, "part of the time", "clusters with the same sites and so much in common are one phase", without=1.0
    )
    same_calls: float = threshold(
        0.9, "part of the calls", "so alike, intervals differ by where samples happened to fall", without=1.0
    )
    some_time: float = threshold(0.3, "part of the time", "in common, for `same_calls` to count")
    distinct: float = threshold(
        0.4, "silhouette", "parts of a mix that wanders have up to 0.3, phases from 0.55 on", without=-1.0, low=-1
    )
    steady: float = threshold(
        4.0, "times what counting explains", "intervals of a steady real program scatter 1 to 3 times", low=1, high=1000
    )


PHASES = PhaseOptions()
