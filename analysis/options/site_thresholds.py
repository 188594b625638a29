"""Thresholds of choosing functions and loops for a phase. docs/reference/thresholds.md lists all thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.options.thresholds import threshold

OF_PHASE, OF_FUNCTION = "part of the phase", "part of the function's time"


@dataclass(frozen=True)
class SiteOptions:
    """Thresholds of choosing sites: with call paths, without them, in the source, and by the rate of their beats."""

    in_run: float = threshold(
        100.0,
        "calls",
        "so many of what is longer than an interval fit into the run: 40 and 200 alike in real programs",
        low=1.0,
        high=1e6,
    )
    longest_s: float = threshold(60.0, "seconds", "who watches a run that takes days looks once a minute", high=1e6)
    shortest_s: float = threshold(
        100e-6, "seconds", "a beat is 0.03 % of it; real programs: 20 us has 1 point less precision", without=0.0
    )
    tiny_s: float = threshold(
        1e-6, "seconds", "a beat is 3 % of it: so short only where nothing else tells a phase", without=0.0
    )
    half: float = threshold(0.5, "part of the time", "with less, others have most of it: 0.4 to 0.6 alike")
    least: float = threshold(
        0.04, OF_PHASE, "what takes less for sure is no site of it: 0.03 has 2 points less precision", without=0.0
    )
    of_run: float = threshold(
        0.01,
        "part of the run",
        "smaller ones beside a phase's largest: a third of them right in real programs",
        without=0.0,
    )
    enough: float = threshold(0.97, OF_PHASE, "what sites may leave: 0.92 loses steps, 1 point of the generated runs")
    noticed: float = threshold(0.3, "part of `least`", "a function that several call may have less below each of them")
    much: float = threshold(
        0.1, "part of an interval", "a step of a phase that is short: 0.2 loses them in the generated runs"
    )
    several: int = threshold(
        3, "intervals", "with so many of them a chain is looked at, however small: 2 alike", high=1e6
    )
    tells: float = threshold(
        0.25, OF_PHASE, "what differs by less tells no phases apart: 0.15 alike, 0.35 loses 2 points"
    )
    specific: float = threshold(0.8, "part of all phases' shares", "so much of them is that phase's: 0.9 alike")
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
