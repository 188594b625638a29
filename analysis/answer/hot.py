"""The functions whose calls it costs something to count, and what is left when they are not counted any more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.answer.counting import program_seconds
from incprof.analysis.phases.results import Counting
from incprof.model import Function, IntervalProfile

# What counting may still cost when the functions named here are left out, percent of the program's CPU time: half of
# what is worth a line of `phases`.
LEFT_PCT = 1.0


@dataclass(frozen=True)
class HotFunction:
    """A function that is called often. function: with its place, where that is known.

    calls: of the run. seconds, pct: what counting them took, of all the program's CPU time.
    """

    function: Function
    calls: int
    seconds: float
    pct: float


@dataclass(frozen=True)
class HotCalls:
    """Functions that counting is worth leaving out of, most calls first.

    counting: what all calls have cost. program_s: CPU time that the program took without. left_pct: what counting the
    other functions costs, of that.
    """

    counting: Counting
    program_s: float
    functions: tuple[HotFunction, ...]
    left_pct: float


def hot_calls(profile: IntervalProfile, counting: Counting, *, left_pct: float = LEFT_PCT) -> HotCalls:
    """Name the functions with most calls, as few as bring what counting the others costs down to a percentage."""
    calls = np.asarray(profile.calls.sum(axis=0), dtype=np.float64).ravel()
    program_s = program_seconds(profile)
    found: list[HotFunction] = []
    left = counting.pct
    for index in np.argsort(-calls, kind="stable").tolist():
        if left <= left_pct or not calls[index]:
            break
        seconds = float(calls[index]) * counting.call_s
        pct = 100.0 * seconds / program_s
        found.append(HotFunction(profile.functions[index], int(calls[index]), seconds, pct))
        left -= pct
    return HotCalls(counting, program_s, tuple(found), max(left, 0.0))
