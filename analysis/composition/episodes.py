"""Episodes of groups of intervals: unassigned intervals do not end one. n intervals, v episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import IntArray


@dataclass(frozen=True)
class Visits:
    """Episodes.

    Attributes:
        first: (v,) first interval.
        end: (v,) one past the last interval.
        group: (v,) group.
        size: (v,) number of intervals of the group.
    """

    first: IntArray
    end: IntArray
    group: IntArray
    size: IntArray


def visits_of(labels: IntArray) -> Visits:
    """Return the episodes of labels (n,), in order of time; -1 is unassigned."""
    known = np.flatnonzero(labels >= 0)
    group = labels[known]
    start = np.flatnonzero(np.diff(group, prepend=-1))
    stop = np.append(start, len(known))[1:]
    return Visits(known[start], known[stop - 1] + 1, group[start], stop - start)
