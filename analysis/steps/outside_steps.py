"""Time of a loop's threads outside of its steps: waiting, input and output, other work."""

from __future__ import annotations

import numpy as np

from incprof.analysis.phase_result import Rest
from incprof.analysis.steps.called import PhaseCalls
from incprof.analysis.steps.lanes import Lanes
from incprof.model import BoolArray
from incprof.model.time_use import SPENT, WORK

# Number of functions that are returned.
MOST = 3


def rest_of(phase: PhaseCalls, lanes: Lanes, covered: BoolArray, period_s: float, timed: BoolArray) -> Rest | None:
    """Return the time outside of the steps of a loop; None without samples.

    Args:
        phase: its samples.
        lanes: the threads that run the loop.
        covered: the intervals of the phase in which it runs.
        period_s: of an iteration, seconds.
        timed: (m,) whether a step comes with the period; others are part of the rest.
    """
    story, profile = lanes.story, phase.profile
    members = phase.members[covered]
    here = np.isin(story.interval, members)
    iterations = float((profile.end_s - profile.start_s)[members].sum()) / period_s
    if not here.any() or iterations <= 0:
        return None
    kind = phase.spent[story.sample]
    outside = here & ~np.append(timed, False)[np.maximum(story.step, -1)] & (kind >= 0)
    ticks = np.bincount(kind[outside], weights=story.weight[outside], minlength=len(SPENT))
    seconds = ticks / profile.metadata.rate_hz / lanes.count / iterations
    waits = here & (kind > WORK)
    function = profile.paths.function[profile.samples.node[story.sample[waits]]]
    known = function >= 0
    time = np.bincount(function[known], weights=story.weight[waits][known], minlength=len(profile.functions))
    largest = np.lexsort((np.arange(len(time)), -time))[:MOST]
    named = tuple(profile.functions[i] for i in largest.tolist() if time[i] > 0 and profile.functions[i].imported)
    return Rest({name: float(s) for name, s in zip(SPENT, seconds.tolist(), strict=True) if s > 0}, named)
