"""Calls that come with the iterations of a loop. n intervals, q chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.model.visits import Visits

# What a period may be off by, with 1.96 standard errors; what samples may miss of a part that comes in each iteration;
# and how much of a chain's time may be elsewhere.
EXACT = 0.05


@dataclass(frozen=True)
class Repeated:
    """Calls that come with the iterations of a loop; times: (n,) the likely ones in each interval."""

    visits: Visits
    times: IntArray


def calls_of(nodes: Sequence[int], ticks: FloatArray, known: Mapping[int, Repeated]) -> Repeated | None:
    """Return the calls of some chains together; None where those that are known have too little of their time.

    ticks: (q,) of each chain with what it calls.
    """
    parts = [known[node] for node in nodes if node in known]
    covered = sum(float(ticks[node]) for node in nodes if node in known)
    if not parts or covered < (1 - EXACT) * float(ticks[list(nodes)].sum()):
        return None
    return joined(parts)


def joined(parts: Sequence[Repeated]) -> Repeated:
    """Return several calls as one."""
    low, calls = (sum(getattr(each.visits, name) for each in parts) for name in ("seen", "calls"))
    high = float(sum(each.visits.high or 0.0 for each in parts))
    return Repeated(Visits(low, high, float(calls)), np.sum([each.times for each in parts], axis=0))
