"""Detect when other work hides a node's activity from the kernel's counters."""

from __future__ import annotations

import numpy as np

from incprof.model.nodes import NodeSeries
from incprof.systems.nodes.analyse.paper_counters import OF_PROCESSOR

# Columns of a single program, next to which the run queue is that of the whole machine.
OF_PROGRAM = {"task-clock", "rss-bytes"}
# With other work in half the rows, the states of a machine are those of all its work. Of six days of a script, one
# began on a calm machine (27 to 52 % of the rows) and five on a loaded one (65 to 100 %).
MOST_CROWDED = 0.5


def crowded(series: NodeSeries) -> float | None:
    """Return the share of rows in which at least one thread waits for a processor.

    None where this hides nothing, or is unknown: with the processor's counters, which distinguish states, or with the
    columns of a single program.
    """
    if OF_PROCESSOR.union(OF_PROGRAM).intersection(series.names) or not {"run-queue", "cpu"} <= set(series.names):
        return None
    waiting = series.column("run-queue") - series.column("cpu")
    known = np.isfinite(waiting)
    return float(np.mean(waiting[known] >= 1)) if known.any() else None
