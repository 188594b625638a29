"""How far a recording can be trusted: what it holds, what was lost, what recording itself cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import BROKEN, LIBRARY, PROFILER, ROOT, UNKNOWN, IntervalProfile
from incprof.names import is_entry


@dataclass(frozen=True)
class Quality:
    """Figures of one process; shares are of samples by weight, 0..1, None without samples.

    samples: taken. ticks: of the sampling clock that they stand for. lost: samples that found no room. broken: whose
    outer frames are not known, by the collector's count.
    cpu_s: CPU time without the profiler's thread. own_s: the profiler's. expected: samples that the CPU time and the
    rate come to, None where the CPU time is not recorded. threads: the most in an interval.
    reach_main: samples whose path begins in main. complete: whose path is not cut off. outside: taken in libraries.
    unknown: in no known code. profiler: in the profiler itself.
    """

    samples: int
    ticks: int
    lost: int
    broken: int
    cpu_s: float
    own_s: float
    off_cpu_s: float
    expected: float | None
    threads: int
    paths: int
    reach_main: float | None
    complete: float | None
    outside: float | None
    unknown: float | None
    profiler: float | None


def quality(profile: IntervalProfile) -> Quality:
    """Look over a recording."""
    counters, samples = profile.counters, profile.samples
    cpu_s = float((counters.cpu_s - counters.collector_s).sum())
    taken = int(counters.samples.sum()) or int(np.rint(profile.self_s.sum() * profile.metadata.rate_hz))
    weight = samples.weight.astype(np.float64)
    own = samples.kind != PROFILER
    total = float(weight[own].sum())

    def part(mask: np.ndarray, of: float = total) -> float | None:
        return float(weight[mask].sum()) / of if of > 0 else None

    begins, cut = _beginnings(profile)
    return Quality(
        samples=taken,
        ticks=int(weight.sum()) or taken,
        lost=int(counters.lost.sum()),
        broken=int(counters.broken.sum()),
        cpu_s=cpu_s,
        own_s=float(counters.own_s.sum()),
        off_cpu_s=float(profile.off_cpu_s.sum()),
        expected=cpu_s * profile.metadata.rate_hz if cpu_s > 0 else None,
        threads=int(counters.threads.max(initial=0)),
        paths=len(profile.paths.parent) - 1,
        reach_main=part(own & begins[samples.node]),
        complete=part(own & ~cut[samples.node]),
        outside=part(own & (samples.kind == LIBRARY)),
        unknown=part(own & (samples.kind == UNKNOWN)),
        profiler=part(~own, float(weight.sum())),
    )


def _beginnings(profile: IntervalProfile) -> tuple[np.ndarray, np.ndarray]:
    """Mark the path nodes that main is on the way to, and those whose way from the start is not known, both (p,)."""
    chains = profile.tree
    main = np.array([is_entry(f.name) for f in profile.functions] + [False], dtype=np.bool_)
    # Markers are negative: they and the root are no function.
    is_main = main[np.where(chains.function < 0, len(main) - 1, chains.function)]
    is_cut = chains.function == BROKEN
    reached, cut = is_main.tolist(), is_cut.tolist()
    for chain, parent in enumerate(chains.parent.tolist()[1:], start=1):
        reached[chain] = reached[chain] or reached[parent]
        cut[chain] = cut[chain] or cut[parent]
    assert chains.function[0] == ROOT
    return np.array(reached, dtype=np.bool_)[chains.of_node], np.array(cut, dtype=np.bool_)[chains.of_node]
