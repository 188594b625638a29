"""Whether other work hides what a node does from the kernel's counters."""

from __future__ import annotations

import numpy as np

from incprof.analysis.dna.counters import OF_PROCESSOR
from incprof.model.nodes import NodeSeries

# Columns of one program, beside which the run queue is the machine's.
OF_PROGRAM = {"task-clock", "rss-bytes"}
# Beside other work in half the rows, the states of a machine are those of all its work. Of six days of a script, one
# began on a calm machine (27 to 52 % of the rows) and five were at load (65 to 100 %).
MOST_CROWDED = 0.5


def crowded(series: NodeSeries) -> float | None:
    """Return the share of rows in which at least one thread waits for a processor.

    None where this hides nothing, or is not known: the processor's counters tell states apart, or the columns are of
    one program.
    """
    if OF_PROCESSOR.union(OF_PROGRAM).intersection(series.names) or not {"run-queue", "cpu"} <= set(series.names):
        return None
    waiting = series.column("run-queue") - series.column("cpu")
    known = np.isfinite(waiting)
    return float(np.mean(waiting[known] >= 1)) if known.any() else None
