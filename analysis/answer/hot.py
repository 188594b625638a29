"""Functions whose calls are expensive to count, and the cost that remains once they are not counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.answer.counting import program_seconds
from incprof.analysis.phase_result import Counting
from incprof.model import Function, IntervalProfile

# Target for the remaining cost of counting, percent of the program's CPU time: half of what `phases` reports.
LEFT_PCT = 1.0


@dataclass(frozen=True)
class HotFunction:
    """A function that is called often.

    Attributes:
        function: with file and line, where known.
        calls: in the run.
        seconds: cost of counting them.
        pct: the same, of all the program's CPU time.
    """

    function: Function
    calls: int
    seconds: float
    pct: float


@dataclass(frozen=True)
class HotCalls:
    """Functions that are worth excluding from counting, most calls first.

    Attributes:
        counting: cost of all calls.
        program_s: CPU time of the program without that cost.
        functions: the functions.
        left_pct: cost of counting all other functions, percent of program_s.
    """

    counting: Counting
    program_s: float
    functions: tuple[HotFunction, ...]
    left_pct: float


def hot_calls(profile: IntervalProfile, counting: Counting, *, left_pct: float = LEFT_PCT) -> HotCalls:
    """Return the fewest functions with most calls whose exclusion lowers the cost of counting to a percentage."""
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
