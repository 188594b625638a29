"""Profiles that no answer can be given for: no intervals, no time, and numbers that are none."""

from __future__ import annotations

import numpy as np

from incprof.errors import NoDataError
from incprof.model import IntervalProfile


def refuse(profile: IntervalProfile) -> None:
    """Refuse a profile that nothing can be said about.

    Raises:
        NoDataError: it has no interval, a time or a count is not a finite number from 0, or there are no samples.
    """
    if profile.n_intervals == 0:
        raise NoDataError("the run has no complete interval: record for longer, or with a shorter interval")
    for what, matrix in (("self time", profile.self_s), ("number of calls", profile.calls)):
        bad = np.flatnonzero(~np.isfinite(matrix.data) | (matrix.data < 0))
        if len(bad):
            row, value = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1, matrix.data[bad[0]]
            raise NoDataError(f"interval {row} has a {what} of {value}: the profile is damaged, record it again")
    if not np.isfinite(profile.end_s).all() or not np.isfinite(profile.start_s).all():
        raise NoDataError("an interval has a start or an end that is not a number: the profile is damaged")
    with np.errstate(over="ignore"):
        total = float(profile.self_s.sum())
    if not total > 0:
        raise NoDataError(
            f"no samples in {profile.n_intervals} intervals: the program used no measurable CPU time in its own code"
        )
    if not np.isfinite(total):
        raise NoDataError("the self times add up to no number: the profile is damaged, record it again")
