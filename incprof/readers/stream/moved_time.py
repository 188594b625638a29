"""Move self time between functions, sample by sample: to inlined ones, and to callers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array, csr_array

from incprof.model import LIBRARY, OWN, IntArray, IntervalProfile
from incprof.readers.stream.records import Libs


def moved(profile: IntervalProfile, self_s: csr_array, sample: IntArray, to: IntArray) -> csr_array:
    """Return self times, (n, f), with the time of samples, (s,), moved from the recorded functions to others, (s,)."""
    at = profile.paths.function[profile.samples.node[sample]].astype(np.int64)
    interval = profile.interval_of_samples()[sample]
    seconds = profile.samples.weight[sample] / profile.metadata.rate_hz
    before = coo_array((seconds, (interval, at)), shape=self_s.shape).tocsr()
    # Redundant data of damaged files may be inconsistent: negative times become 0.
    left = self_s - before
    left.data[left.data < 1e-12] = 0.0
    found = csr_array(left + coo_array((seconds, (interval, to)), shape=self_s.shape).tocsr())
    found.eliminate_zeros()
    return found


def with_inlined_time(profile: IntervalProfile, libs: Libs) -> IntervalProfile:
    """Return the profile with the self time of inlined functions, which were looked up, moved from their callers.

    libs: how time in libraries is counted.
    """
    kind, node = profile.samples.kind, profile.samples.node
    counts = (kind == OWN) | ((kind == LIBRARY) & (libs in ("named", "caller")))
    there = np.flatnonzero(counts & (profile.innermost != profile.paths.function)[node])
    return replace(profile, self_s=moved(profile, profile.self_s, there, profile.innermost[node[there]]))
