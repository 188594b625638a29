"""Variation from run to run of the same program, which one run of each side cannot show.

Measured on two cores beside 0 to 3 and more busy programs, in 18 runs of loops that only compute and 8 of a program
that chases pointers through 32 MB. In runs that got 0.2 to 0.6 of a CPU, the CPU time of the loops scattered by 0.9 to
1.4 %, that of the other program by 5 %, and that of its pointer-chasing function by 7 %: caches and clock rates are
shared as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.diff.measure import Measured

# Standard deviation of a run that had its CPUs to itself: the constant that diff has always assumed.
ALONE = 0.01
# Added in full for a run that never got a CPU.
SHARED = 0.05


def assumed_noise(runs: Sequence[Measured]) -> float:
    """Return the relative standard deviation from run to run: the fewer of its CPUs a run got, the larger."""
    return ALONE + SHARED * (1.0 - min(cpus_got(run) for run in runs))


def cpus_got(run: Measured) -> float:
    """Return the share of time its threads were on a CPU, outside of phases of waiting, 0..1; 1 if unknown."""
    waits = [phase.id for phase in run.result.phases if phase.off_cpu]
    use = ~np.isin(run.result.labels, waits)
    counters = run.profile.counters
    whole = float(counters.thread_s[use].sum()) if len(counters.thread_s) else 0.0
    return float(np.clip(1.0 - run.profile.off_cpu_s[use].sum() / whole, 0.0, 1.0)) if whole > 0 else 1.0
