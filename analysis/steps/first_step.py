"""Find the step that an iteration begins with: the one that comes next while the loop is not running.

Before the first call and after the last one, iterations are complete: steps called since the reference are those
between it and the end of an iteration. m steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.steps.calls_per_iteration import NONE, Recurrence
from incprof.model import IntArray


def first_of(order: Sequence[int], found: Recurrence) -> int:
    """Return the place of the first step in an order that starts with the reference; 0 also if unknown.

    A call before the loop shifts the counts at the start, one after it those at the end. The former is more frequent (a
    solver's first residual), so the end is tried first.
    """
    known = _with_lows(order, found)
    for lead in (found.lead_after, np.zeros_like(found.lead_after)):
        place = _next(order, known.ahead(lead))
        if place is not None:
            return place
    return 0


def _next(order: Sequence[int], ahead: IntArray) -> int | None:
    """Return the place of the step that comes next, None if unknown. ahead: (m,)."""
    bits = [int(ahead[step]) for step in order[1:]]
    called = [bit for bit in bits if bit >= 0]
    if not called or called != sorted(called, reverse=True):
        return None
    return bits.index(0) + 1 if 0 in called else 0


def _with_lows(order: Sequence[int], found: Recurrence) -> Recurrence:
    """Derive from the order the lower values of steps whose lead never changed.

    They have not been called if a step before them has not, and have been called if a step after them has.
    """
    ahead = found.ahead(found.lead)[:, list(order)]
    place = np.arange(len(order))
    # Places of the last step that has been called, and of the last that may have been, at each interval's end.
    least = np.where(ahead == 1, place, 0).max(axis=1)
    most = np.where(ahead == 0, place, len(order)).min(axis=1) - 1
    low = found.low.copy()
    for at, step in enumerate(order):
        # Only steps that are called once in an iteration have a meaningful lead.
        if at == 0 or low[step] != NONE or not found.every[step] == found.times[step] == 1:
            continue
        not_yet, called = found.lead[most < at, step], found.lead[least > at, step]
        if len(not_yet) or len(called):
            low[step] = int(np.median(np.concatenate([not_yet, called - 1])))
    return replace(found, low=low)
