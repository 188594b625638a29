"""What a phase is bound by: rules in order, the first that holds. docs/reference/counters.md has their sources."""

from __future__ import annotations

from collections.abc import Mapping

from incprof.analysis.counters.phase_counters import Bound
from incprof.analysis.phase_result import Phase

# Cost of a miss of the last-level cache and of a mispredicted branch, in cycles, and the share of all cycles from which
# they matter: from Intel's tuning guides.
MISS_CYCLES, BRANCH_CYCLES, WORTH = 180, 20, 0.2
# Share of the CPU time in the kernel from which it matters (B. Gregg, Linux performance analysis in 60 seconds).
KERNEL = 0.2
# Instructions per cycle below which a processor stalls more than it works (B. Gregg, CPU utilization is wrong).
STALLED = 1.0
# With less than half a processor busy, the program waits more than it runs.
IDLE = 0.5
# A phase with hardly any sampled time is inconclusive.
LEAST_S, LEAST_PART = 0.05, 0.05


def bound_by(phase: Phase, figures: Mapping[str, float], seconds: float) -> Bound | None:
    """Return what a phase is bound by; None where the counters do not show it.

    Args:
        phase: the kind of time that its samples show goes first: a spinning processor has many instructions per cycle.
        figures: of its counters.
        seconds: sampled in the phase.
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
