"""What decides which functions and loops stand for a phase. docs/thresholds.md lists all thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.thresholds import threshold

OF_PHASE, OF_FUNCTION = "part of the phase", "part of the function's time"


@dataclass(frozen=True)
class SiteOptions:
    """Thresholds of how sites are chosen: from call paths, without them, in the source, and how often they beat."""

    specific: float = threshold(
        0.8, "part of all phases' shares", "a function with so much of them in one phase is that phase's"
    )
    least: float = threshold(0.03, OF_PHASE, "what takes less is no site of it", without=0.0)
    noticed: float = threshold(0.3, "part of `least`", "a function that several call may have less below each of them")
    instead_of_driver: float = threshold(0.6, "part of the driver's time", "steps with less do not stand for it")
    shortest_s: float = threshold(10e-6, "seconds", "a beat for each shorter call would be noise", without=0.0)
    half: float = threshold(0.5, OF_PHASE, "sites with less do not stand for it")
    stands_alone: float = threshold(0.9, OF_PHASE, "one that tells it badly, but has so much, stands for it alone")
    as_good: float = threshold(0.99, "part of the best", "of functions that tell it so well, the lowest says the most")
    telling: float = threshold(
        1.2, "times the mean of all phases", "a function with hardly more than that says nothing", high=100, without=0.0
    )
    told_apart: float = threshold(0.8, "part of the time", "sites that tell two phases apart must have so much of it")
    called: float = threshold(0.5, OF_PHASE, "who is entered in more intervals may stand for a phase without ticks")
    active: float = threshold(
        0.05, "part of an interval", "one stray tick must not elect a site (no call paths)", without=0.0
    )
    coverage: float = threshold(0.95, "part of the intervals", "the paper's Algorithm 1 (section V-B)")
    common: float = threshold(0.5, OF_PHASE, "a function active in less stands for it only where none has more")
    unspecific: float = threshold(
        20.0, "sites", "a function that other phases have alike is the last resort (no call paths)", high=1e6
    )
    beats: float = threshold(1.0, "sites", "ten times the beats weigh as much as 2.3 sites more", high=1e6, without=0.0)
    time: float = threshold(0.3, "sites", "of two that are alike else, the one with more time", high=1e6, without=0.0)
    caller: float = threshold(0.5, OF_FUNCTION, "a caller of less says little about it")
    loop: float = threshold(0.9, OF_FUNCTION, "a few samples stay outside of the loop that is meant")
    largest_loop: float = threshold(0.5, OF_FUNCTION, "a loop without `loop` of it still says more than the body")
    by_callees: float = threshold(0.1, OF_FUNCTION, "with less to itself, a function is judged by what it calls")
    runs_in: float = threshold(0.05, OF_FUNCTION, "a phase with less of it is not one of the function's")
    overhead_pct: float = threshold(
        1.0, "percent of the CPU time", "a site whose beats cost less may stay in production", high=100
    )
    recorded_cost: float = threshold(
        0.1, "part of what skipped beats cost", "once recorded beats cost less, skipping more of them saves nothing"
    )


SITES = SiteOptions()
