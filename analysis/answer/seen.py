"""Calls of functions as samples tell of them, where nobody has counted any. n intervals, f functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incprof.analysis.uncounted.known import calls_are_bounded
from incprof.model import BoolArray, IntArray, IntervalProfile
from incprof.model.ticks import entries_and_samples
from incprof.model.visits import Visits, visits


class CallsSeen:
    """What samples say of the calls of all functions of a profile that has call paths."""

    def __init__(self, profile: IntervalProfile):
        self._bounded = _bounded(profile)
        everybody = np.ones(len(profile.functions), dtype=np.bool_)
        self._entered, self._inside = entries_and_samples(profile, profile.tree, everybody)
        self._samples = np.bincount(profile.interval_of_samples(), minlength=profile.n_intervals)

    def of(self, members: IntArray) -> Callable[[int], Visits]:
        """Return who says it of a function in some intervals."""
        entered = np.asarray(self._entered[members].sum(axis=0)).ravel()
        inside = np.asarray(self._inside[members].sum(axis=0)).ravel()
        around = int(self._samples[members].sum())
        return lambda function: visits(
            round(entered[function]), round(inside[function]), around, bounded=bool(self._bounded[function])
        )


def _bounded(profile: IntervalProfile) -> BoolArray:
    """Whether the code says so of each function wherever samples met it, (f,)."""
    tree = profile.tree
    own = np.bincount(tree.of_node[profile.samples.node], minlength=len(tree.parent)).astype(np.float64)
    met = (tree.inclusive(own) > 0) & (tree.function >= 0)
    out = np.ones(len(profile.functions), dtype=np.bool_)
    out[tree.function[met & ~calls_are_bounded(profile, tree)]] = False
    return out
