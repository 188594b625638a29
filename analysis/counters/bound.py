"""What a phase is bound by: rules in order, the first that holds. docs/counters.md has their sources."""

from __future__ import annotations

from collections.abc import Mapping

from incprof.analysis.counters.results import Bound
from incprof.analysis.phases.results import Phase

# What a miss of the last-level cache and a mispredicted branch cost, in cycles: those of Intel's tuning guides, where a
# part of this size is worth a look.
MISS_CYCLES, BRANCH_CYCLES, WORTH = 180, 20, 0.2
# More of the CPU time in the kernel is worth a look (B. Gregg, Linux performance analysis in 60 seconds).
KERNEL = 0.2
# Below, a processor stalls more than it works (B. Gregg, CPU utilization is wrong).
STALLED = 1.0
# Where less than half a processor is busy, the program waits for more of the time than it runs.
IDLE = 0.5
# A phase of which hardly any time was sampled tells nothing.
LEAST_S, LEAST_PART = 0.05, 0.05


def bound_by(phase: Phase, figures: Mapping[str, float], seconds: float) -> Bound | None:
    """Return what a phase is bound by; None where nothing was counted that tells.

    Args:
        phase: what its samples say it is spent on goes first: a processor that spins has many instructions in a cycle.
        figures: of its counters.
        seconds: that they were sampled in it.
    """
    if seconds < max(LEAST_S, LEAST_PART * phase.seconds) or not figures:
        return None
    if phase.mostly == "waiting" or (phase.off_cpu and not phase.outside):
        return Bound("waiting")
    if phase.mostly != "work":
        total = sum(value for kind, value in phase.spent.items() if kind != "off_cpu")
        return Bound(phase.mostly, phase.spent.get(phase.mostly, 0.0) / total if total > 0 else None)
    if (idle := 1.0 - figures.get("cpu", 1.0)) > IDLE:
        return Bound("waiting", idle)
    if (lost := MISS_CYCLES * figures.get("misses_per_cycle", 0.0)) >= WORTH:
        return Bound("memory", lost)
    if (lost := BRANCH_CYCLES * figures.get("branch_misses_per_cycle", 0.0)) >= WORTH:
        return Bound("branches", lost)
    if (kernel := figures.get("system_share", 0.0)) >= KERNEL:
        return Bound("kernel", kernel)
    if (ipc := figures.get("ipc")) is None or ipc <= 0:
        return None
    return Bound("stalls" if ipc < STALLED else "instructions")
