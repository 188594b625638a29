"""Calls that recur with the iterations of a loop. n intervals, q call paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.model.visits import Visits

# Largest relative error of a period, at 1.96 standard errors; largest share that samples may miss of a part in each
# iteration; and largest share of a call path's time that may be elsewhere.
EXACT = 0.05


@dataclass(frozen=True)
class Repeated:
    """Calls that recur with the iterations of a loop.

    Attributes:
        visits: estimate of their number.
        times: (n,) estimated calls in each interval.
    """

    visits: Visits
    times: IntArray


def calls_of(nodes: Sequence[int], ticks: FloatArray, known: Mapping[int, Repeated]) -> Repeated | None:
    """Return the calls of some call paths together; None if those with known calls have too little of the time.

    ticks: (q,) inclusive ticks of each call path.
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
