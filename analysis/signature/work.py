"""The work before each event: what a counter of the processor counted, or seconds on the CPU where none did.

The paper compares numbers of instructions (Section 4.3), which repeat to a fraction of a percent. n events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import BoolArray, FloatArray

SECONDS = "seconds"
# Units of time, which never repeat exactly.
TIMES = (SECONDS, "task-clock")
# Of the events of a process, so many must have counts.
MOST_MISSING = 0.05
# Below there was no work: reading the clock, or the counter, and the call itself take as much.
LEAST_S = 1e-5
LEAST_COUNTED = 1e3


@dataclass(frozen=True)
class Work:
    """Amounts, (n,), and their unit: the name of a counter, or "seconds".

    missing: why it is seconds: the kernel's error, "off", "few" (too few events have counts), or "" (a trace of
    before).
    """

    amount: FloatArray
    unit: str = SECONDS
    missing: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether a counter of the processor gave it, which repeats exactly; times do not."""
        return self.unit not in TIMES

    @property
    def from_least(self) -> FloatArray:
        """Return the amounts, (n,), with 0 for what is too little to be compared."""
        least = {SECONDS: LEAST_S, "task-clock": 1e9 * LEAST_S, "instructions": LEAST_COUNTED}.get(self.unit, 0.0)
        return np.where(self.amount < least, 0.0, self.amount)


def work_of(seconds: FloatArray, counters: tuple[str, ...], counts: FloatArray, missing: str = "") -> Work:
    """Return the work before each event, in the unit of the first counter that counted enough of them.

    Where single events have no count, it is estimated from their time, by the rate of all others.

    Args:
        seconds: (n,) on the CPU.
        counters: names, (k,).
        counts: (n, k), NaN where nothing was counted.
        missing: why there are no counters.
    """
    if not counters or not len(seconds):
        return Work(seconds, missing=missing)
    amount = counts[:, 0]
    unknown: BoolArray = np.isnan(amount)
    # The first call of a thread has none: nothing was counted before.
    if unknown.sum() > max(MOST_MISSING * len(amount), 1):
        return Work(seconds, missing="few")
    time = float(seconds[~unknown].sum())
    rate = float(amount[~unknown].sum()) / time if time > 0 else 0.0
    return Work(np.where(unknown, seconds * rate, amount), counters[0])
