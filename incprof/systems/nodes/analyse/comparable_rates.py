"""Make rates of counters comparable: their logarithms, with insignificant rates near zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.model.nodes import NodeSeries

# A counter below this share of its maximum is irrelevant for a node's activity. On the generated nodes, half held out,
# 0.5 to 5 % find the same states; 0.1 % makes states of background traffic.
MATTERS = 0.02
# Of five days on a loaded machine, a tenth of the rows has .92 to .99 of the changes in a script's own memory, and .50
# to .59 of those in the machine's; growing memory has .12 to .43, garbage-collected memory .55, noise .27.
STEPWISE = 0.75
# Number of rows for estimating the greatest rates.
SAMPLE = 4096


# Approximate background activity of a machine per second: a tenth of one processor, some hundreds of events.
OF_ITSELF = {
    "cpu": 0.1, "user": 0.1, "system": 0.1, "task-clock": 0.1, "iowait": 0.1, "interrupts": 1e3,
    "context-switches": 300.0, "page-faults": 300.0, "minor-faults": 300.0, "major-faults": 10.0,
    "cpu-migrations": 30.0,
}  # fmt: skip


@dataclass(frozen=True)
class Scale:
    """Scale of counters.

    Attributes:
        names: Names of the counters.
        floor: (counters,) rate from which each counter matters.
    """

    names: tuple[str, ...]
    floor: FloatArray

    def levels(self, values: FloatArray) -> FloatArray:
        """Convert rates (rows, counters) to levels: a step of 0.1 is a tenth more of a rate that matters. No NaN."""
        return np.arcsinh(np.asarray(values, dtype=np.float32) / self.floor.astype(np.float32))

    def rates(self, levels: FloatArray) -> FloatArray:
        """Convert levels back to rates."""
        return np.asarray(np.sinh(levels) * self.floor, dtype=np.float64)


def is_stepwise(tables: Sequence[FloatArray]) -> bool:
    """Return whether a level, (rows,) on each node, changes in steps between constant values.

    It does if a tenth of the changes from row to row makes up most of all change: programs come and go. Memory that
    grows while a program works, or that others take and return, does not reflect its activity.
    """
    floor = max(MATTERS * max(float(np.max(table)) for table in tables), 1e-300)
    steps = np.sort(np.abs(np.concatenate([np.diff(np.arcsinh(table / floor)) for table in tables])))
    largest = steps[len(steps) - -(-len(steps) // 10) :]
    return bool(largest.sum() >= STEPWISE * steps.sum() > 0)


def scale_of(names: Sequence[str], tables: Sequence[FloatArray]) -> Scale:
    """Find the rate from which each counter matters, from its greatest rates on all nodes (99.5 % quantile)."""
    most = np.zeros(len(names))
    for table in tables:
        some = table[:: max(1, len(table) // SAMPLE)]
        if len(some):
            most = np.maximum(most, np.quantile(some, 0.995, axis=0))
    return Scale(tuple(names), np.maximum(np.where(most > 0, MATTERS * most, 1.0), [of_itself(name) for name in names]))


def of_itself(name: str) -> float:
    """Return the background rate of any machine, for counters with known names; else 0."""
    if name.startswith(("net-", "disk-")) or name in ("read-bytes", "write-bytes"):
        return 1e6 if name.endswith("bytes") else 1e3
    return OF_ITSELF.get(name, 0.0)


def counters_of(series: NodeSeries, names: Sequence[str]) -> FloatArray:
    """Return the rates (rows, counters) of the named counters. A missing value repeats that of the previous row.

    A counter that the node does not have is NaN throughout.
    """
    own = {name: at for at, name in enumerate(series.names)}
    if all(name in own for name in names):
        table = series.values[:, [own[name] for name in names]]
    else:
        table = np.full((len(series.times), len(names)), np.nan)
        for to, name in enumerate(names):
            if name in own:
                table[:, to] = series.values[:, own[name]]
    return filled(table)


def filled(table: FloatArray) -> FloatArray:
    """Replace each NaN by the previous value, or by the first one if there is none before."""
    holes = np.isnan(table)
    if not holes.any():
        return table
    table = table.copy()
    for column in np.flatnonzero(holes.any(axis=0)):
        known = np.flatnonzero(~holes[:, column])
        if len(known):
            before = np.searchsorted(known, np.arange(len(table)), side="right") - 1
            table[:, column] = table[known[np.maximum(before, 0)], column]
    return table


def steps_of(levels: FloatArray) -> FloatArray:
    """Return the differences of rows of one state (rows - 2, counters), over the square root of two.

    They are differences to the row after the next: few of these are changes, and large ones are clipped.
    """
    steps = (levels[2:] - levels[:-2]).astype(np.float64) / np.sqrt(2)
    if not len(steps):
        return np.asarray(steps)
    usual = np.median(np.abs(steps), axis=0) / 0.6745
    return np.asarray(np.clip(steps, -FAR * usual, FAR * usual))


# Steps of this many times the usual size are changes.
FAR = 4.0
