"""Profiles from bare matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from incprof.model import (
    Arcs,
    Counters,
    FloatArray,
    Function,
    IntervalProfile,
    Metadata,
    PathTree,
    Samples,
)


def make_profile(
    self_s: FloatArray | csr_array,
    calls: FloatArray | csr_array | None = None,
    *,
    names: Sequence[str] | None = None,
    interval_s: float = 1.0,
    rate_hz: float = 100.0,
) -> IntervalProfile:
    """Wrap bare matrices (n, f) as an interval profile, without paths, samples and arcs."""
    own = csr_array(self_s, dtype=np.float64)
    called = csr_array(own.shape, dtype=np.int64) if calls is None else csr_array(calls, dtype=np.int64)
    n, f = own.shape
    names = [f"f{i}" for i in range(f)] if names is None else names
    end = (np.arange(n) + 1) * interval_s
    no_int = np.zeros(0, dtype=np.int64)
    cpu = np.asarray(own.sum(axis=1)).ravel()
    zero, count = np.zeros(n), np.zeros(n, dtype=np.int64)
    ticks = np.rint(cpu * rate_hz).astype(np.int64)
    wall = np.full(n, interval_s)
    return IntervalProfile(
        metadata=Metadata("synthetic", None, 0, 1, interval_s, rate_hz),
        start_s=end - interval_s,
        end_s=end,
        functions=tuple(Function("synthetic", name, name, 4096 + 64 * i) for i, name in enumerate(names)),
        self_s=own,
        calls=called,
        arcs=Arcs(no_int, no_int, no_int, no_int),
        paths=PathTree(np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int64), np.zeros(1, dtype=np.int64)),
        samples=Samples(np.zeros(0), no_int, no_int, no_int, no_int, no_int),
        counters=Counters(cpu, wall, zero, zero, zero, ticks, count, count, count + 1, count, count, zero, zero),
    )
