"""Rates of counters made comparable: their logarithms, with what is too small to matter near nought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.model.nodes import NodeSeries

# A counter that is below this share of the most it ever reaches says nothing of what a node does. On the generated
# nodes, half held out, 0.5 to 5 % find the same states; 0.1 % makes states of background traffic.
MATTERS = 0.02
# Of five days on a machine at load, a script's own memory has .92 to .99 of its change in a tenth of the rows, the
# machine's .50 to .59; memory that grows has .12 to .43, one that is collected .55, noise .27.
STEPWISE = 0.75
# Rows that the greatest rates are taken from.
SAMPLE = 4096


# What a machine does of itself in a second, about: a tenth of one processor, some hundred of what it handles.
OF_ITSELF = {
    "cpu": 0.1, "user": 0.1, "system": 0.1, "task-clock": 0.1, "iowait": 0.1, "interrupts": 1e3,
    "context-switches": 300.0, "page-faults": 300.0, "minor-faults": 300.0, "major-faults": 10.0,
    "cpu-migrations": 30.0,
}  # fmt: skip


@dataclass(frozen=True)
class Scale:
    """names of the counters, and the rate (counters,) at which each begins to matter."""

    names: tuple[str, ...]
    floor: FloatArray

    def levels(self, values: FloatArray) -> FloatArray:
        """Turn rates (rows, counters) into levels: a step of 0.1 is a tenth more of a rate that matters. No NaN."""
        return np.arcsinh(np.asarray(values, dtype=np.float32) / self.floor.astype(np.float32))

    def rates(self, levels: FloatArray) -> FloatArray:
        """Turn levels into rates again."""
        return np.asarray(np.sinh(levels) * self.floor, dtype=np.float64)


def is_stepwise(tables: Sequence[FloatArray]) -> bool:
    """Return whether a level, (rows,) on each node, is the same for a while and then another one.

    It is where a tenth of the changes from row to row makes up most of all change: programs come and go. Memory that
    grows as a program works, or that others take and give back, does not tell what is done.
    """
    floor = max(MATTERS * max(float(np.max(table)) for table in tables), 1e-300)
    steps = np.sort(np.abs(np.concatenate([np.diff(np.arcsinh(table / floor)) for table in tables])))
    largest = steps[len(steps) - -(-len(steps) // 10) :]
    return bool(largest.sum() >= STEPWISE * steps.sum() > 0)


def scale_of(names: Sequence[str], tables: Sequence[FloatArray]) -> Scale:
    """Find where each counter begins to matter, from its greatest rates on all nodes (99.5 % are below)."""
    most = np.zeros(len(names))
    for table in tables:
        some = table[:: max(1, len(table) // SAMPLE)]
        if len(some):
            most = np.maximum(most, np.quantile(some, 0.995, axis=0))
    return Scale(tuple(names), np.maximum(np.where(most > 0, MATTERS * most, 1.0), [of_itself(name) for name in names]))


def of_itself(name: str) -> float:
    """The rate that any machine has of itself, of the counters whose names say what they count."""
    if name.startswith(("net-", "disk-")) or name in ("read-bytes", "write-bytes"):
        return 1e6 if name.endswith("bytes") else 1e3
    return OF_ITSELF.get(name, 0.0)


def counters_of(series: NodeSeries, names: Sequence[str]) -> FloatArray:
    """The rates (rows, counters) of the named counters. A counter that is missing in a row is as in the row before.

    A counter that the node does not have at all is NaN throughout.
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
    """Put the value before in place of each NaN, the first one where there is none before."""
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
    """What rows of one state differ by (rows - 2, counters), over the square root of two.

    From steps to the row after the next: few of these are changes, and large ones are taken for less.
    """
    steps = (levels[2:] - levels[:-2]).astype(np.float64) / np.sqrt(2)
    if not len(steps):
        return np.asarray(steps)
    usual = np.median(np.abs(steps), axis=0) / 0.6745
    return np.asarray(np.clip(steps, -FAR * usual, FAR * usual))


# Steps that are so many times as large as is usual are changes.
FAR = 4.0
