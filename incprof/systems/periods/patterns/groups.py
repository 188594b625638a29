"""Groups of similar lengths: only instances of similar length can belong to one periodicity."""

from __future__ import annotations

import numpy as np

from incprof.model import IntArray
from incprof.systems.periods.patterns.pattern_result import PatternOptions


def length_groups(lengths: IntArray, weights: IntArray, samples: int, options: PatternOptions) -> list[IntArray]:
    """Return the indices of each group that covers at least alpha of the series, the heaviest group first.

    A group is all lengths within the tolerance of one of them. The length whose group covers most is selected first,
    and its members are removed. So evenly spread lengths, as found by chance, form many small groups, which alpha
    drops, and not one long chain.

    Args:
        lengths: (w,) periods.
        weights: (w,) samples that each period covers.
        samples: Length of the series.
        options: Uses alpha and length_tolerance.
    """
    values, of = np.unique(lengths, return_inverse=True)
    weight = np.bincount(of, weights=weights, minlength=len(values)).astype(np.float64)
    free = np.ones(len(values), dtype=bool)
    reach = 1.0 + options.length_tolerance
    first = np.searchsorted(values, np.ceil(values / reach - 1e-9))
    last = np.searchsorted(values, np.floor(values * reach + 1e-9), side="right")
    groups: list[IntArray] = []
    while free.any():
        total = np.concatenate([[0.0], np.cumsum(np.where(free, weight, 0.0))])
        covers = np.where(free, total[last] - total[first], -1.0)
        best = int(covers.argmax())
        if covers[best] < options.alpha * samples or covers[best] <= 0:
            break
        members = np.zeros(len(values), dtype=bool)
        members[first[best] : last[best]] = True
        members &= free
        groups.append(np.flatnonzero(members[of]))
        free &= ~members
    return groups
