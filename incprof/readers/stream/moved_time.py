"""Self time that is moved from functions to others, sample by sample."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array

from incprof.model import IntArray, IntervalProfile


def moved(profile: IntervalProfile, self_s: csr_array, sample: IntArray, to: IntArray) -> csr_array:
    """Self times, (n, f), with the time of samples, (s,), at other functions, (s,), instead of at those on record."""
    at = profile.paths.function[profile.samples.node[sample]].astype(np.int64)
    interval = profile.interval_of_samples()[sample]
    seconds = profile.samples.weight[sample] / profile.metadata.rate_hz
    before = coo_array((seconds, (interval, at)), shape=self_s.shape).tocsr()
    # What damaged files tell twice may not agree: nobody has less than nothing.
    left = self_s - before
    left.data[left.data < 1e-12] = 0.0
    found = csr_array(left + coo_array((seconds, (interval, to)), shape=self_s.shape).tocsr())
    found.eliminate_zeros()
    return found
