"""Quality of a recording: its contents, losses, and the cost of recording itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import BROKEN, LIBRARY, PROFILER, ROOT, UNKNOWN, IntervalProfile
from incprof.model.names import is_entry


@dataclass(frozen=True)
class Quality:
    """Figures of one process; shares are of samples by weight, 0..1, None without samples.

    Attributes:
        samples: number taken.
        ticks: of the sampling clock that they stand for.
        lost: samples that did not fit into the buffer.
        broken: samples with unknown outer frames, as counted by the collector.
        cpu_s: CPU time without the profiler's thread.
        own_s: CPU time of the profiler.
        off_cpu_s: time that threads were off the CPU.
        expected: number of samples by CPU time and rate, None if the CPU time is not recorded.
        threads: largest number in an interval.
        paths: number of path nodes.
        reach_main: share whose path begins in main.
        complete: share whose path is not cut off.
        outside: share taken in libraries.
        unknown: share in unknown code.
        profiler: share in the profiler itself.
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
    """Compute the figures of a recording."""
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
    """Return which path nodes have main on their path, and which have an unknown beginning, both (p,)."""
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
