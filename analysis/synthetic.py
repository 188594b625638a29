"""Made-up runs whose phases are known: a schedule of behaviours, sampled like a real run.

A behaviour is a share per function. The run moves through a schedule of (behaviour, seconds); each interval draws its
ticks from the mix of behaviours that it covers. Intervals that no behaviour fills to 90 % have the true label -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.model import (
    Arcs,
    Counters,
    FloatArray,
    Function,
    IntArray,
    IntervalProfile,
    Metadata,
    PathTree,
    Samples,
)

PURE = 0.9


@dataclass(frozen=True)
class SyntheticRun:
    """A profile and the behaviour of each of its intervals, shape (n,), -1 for mixtures."""

    profile: IntervalProfile
    labels: IntArray

    @property
    def k(self) -> int:
        """Return the number of true phases."""
        return len(np.unique(self.labels[self.labels >= 0]))


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
        counters=Counters(cpu, wall, zero, zero, zero, ticks, count, count, count + 1),
    )


def mixing(schedule: Sequence[tuple[int, float]], behaviours: int, interval_s: float) -> FloatArray:
    """Return the seconds of each behaviour in each interval, shape (n, behaviours)."""
    ends = np.cumsum([seconds for _, seconds in schedule])
    n = int(np.ceil(ends[-1] / interval_s - 1e-9))
    edges = np.arange(n + 1) * interval_s
    out = np.zeros((n, behaviours))
    begin = 0.0
    for (which, _), end in zip(schedule, ends, strict=True):
        overlap = np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin)
        out[:, which] += np.clip(overlap, 0.0, None)
        begin = float(end)
    return out


def true_labels(mix: FloatArray) -> IntArray:
    """Return the behaviour that fills at least 90 % of each interval, else -1. Shape (n,)."""
    part = mix / np.maximum(mix.sum(axis=1, keepdims=True), 1e-12)
    return np.where(part.max(axis=1) >= PURE, part.argmax(axis=1), -1).astype(np.int64)


def synthesize(
    behaviours: FloatArray,
    schedule: Sequence[tuple[int, float]],
    *,
    calls_hz: FloatArray | None = None,
    load: Sequence[float] | None = None,
    dispersion: float = 0.0,
    interval_s: float = 1.0,
    rate_hz: float = 100.0,
    seed: int = 0,
) -> SyntheticRun:
    """Play a schedule and sample it.

    Args:
        behaviours: (b, f) shares, rows sum to 1.
        schedule: (behaviour, seconds) in order.
        calls_hz: (b, f) calls per second while in a behaviour; none where 0.
        load: part of the time each behaviour is on the CPU, shape (b,); 1 where not given.
        dispersion: 0 for pure tick counting; d adds per-interval scatter of the shares with variance d * p(1-p)/N.
        interval_s: length of an interval, seconds.
        rate_hz: ticks per second.
        seed: same seed, same run.
    """
    rng = np.random.default_rng(seed)
    mix = mixing(schedule, len(behaviours), interval_s)
    busy = mix * (np.ones(len(behaviours)) if load is None else np.asarray(load))
    ticks = rng.binomial(round(interval_s * rate_hz), np.clip(busy.sum(axis=1) / interval_s, 0.0, 1.0))
    share = busy @ behaviours
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
    counts = np.zeros(share.shape)
    for i, (n_ticks, p) in enumerate(zip(ticks, share, strict=True)):
        if dispersion > 0 and n_ticks:
            p = _scatter(rng, p, n_ticks / dispersion)
        counts[i] = rng.multinomial(n_ticks, p / p.sum()) if n_ticks else 0
    calls = rng.poisson(mix @ calls_hz) if calls_hz is not None else np.zeros(share.shape, dtype=np.int64)
    profile = make_profile(counts / rate_hz, calls, interval_s=interval_s, rate_hz=rate_hz)
    return SyntheticRun(profile, true_labels(mix))


def _scatter(rng: np.random.Generator, p: FloatArray, concentration: float) -> FloatArray:
    """Draw shares around p from a Dirichlet distribution."""
    drawn = np.zeros_like(p)
    drawn[p > 0] = rng.dirichlet(p[p > 0] * concentration)
    return drawn


def random_behaviours(rng: np.random.Generator, count: int, functions: int, active: int = 6) -> FloatArray:
    """Make `count` behaviours over `functions` functions, each with a few dominant ones and some shared background."""
    out = np.zeros((count, functions))
    for row in out:
        chosen = rng.choice(functions, size=active, replace=False)
        row[chosen] = rng.dirichlet(np.full(active, 0.7))
        row += rng.dirichlet(np.full(functions, 0.3)) * 0.08
        row /= row.sum()
    return out
