"""The cost of counting calls in a run, and the functions that cause it."""

from __future__ import annotations

import numpy as np

from incprof.analysis.phase_result import Counted, Counting
from incprof.model import IntervalProfile

# Functions to list: those that together have SHARE of the calls, but at most the first MOST.
SHARE, MOST = 0.8, 3


def counting(profile: IntervalProfile) -> Counting | None:
    """Return the cost of all calls; None if the cost of one was not recorded, or there are no calls."""
    call_s = profile.metadata.call_s
    calls = np.asarray(profile.calls.sum(axis=0), dtype=np.float64).ravel()
    total = float(calls.sum())
    program_s = program_seconds(profile)
    if call_s is None or total <= 0 or program_s <= 0:
        return None
    order = np.argsort(-calls, kind="stable")[:MOST]
    before = np.concatenate([[0.0], np.cumsum(calls[order])[:-1]])
    named = order[(before < SHARE * total) & (calls[order] > 0)]
    functions = tuple(Counted(profile.functions[i].name, int(calls[i]), float(calls[i]) / total) for i in named)
    return Counting(int(total), call_s, 100.0 * total * call_s / program_s, functions)


def program_seconds(profile: IntervalProfile) -> float:
    """Return the CPU time of the program itself, without the cost of recording."""
    counters = profile.counters
    return float((counters.cpu_s - counters.collector_s - counters.handler_s - counters.profiler_s).sum())
