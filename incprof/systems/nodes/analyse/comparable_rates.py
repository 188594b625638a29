"""Comparable rates of counters, the distribution of each state's rows, and the most probable states of new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incprof.analysis._native import native, pointer
from incprof.model import BoolArray, FloatArray, IntArray
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.paper import OF_PROCESSOR

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
        measured = np.flatnonzero(~holes[:, column])
        if len(measured):
            before = np.searchsorted(measured, np.arange(len(table)), side="right") - 1
            table[:, column] = table[measured[np.maximum(before, 0)], column]
    return table


def steps_of(levels: FloatArray) -> FloatArray:
    """Return the differences of rows of one state (rows - 2, counters), over the square root of two.

    They are differences to the row after the next: few of these are changes, and large ones are clipped.
    """
    steps = (levels[2:] - levels[:-2]).astype(np.float64) / np.sqrt(2)
    if not len(steps):
        return np.asarray(steps)
    usual = np.median(np.abs(steps), axis=0) / 0.6745
    return np.asarray(np.clip(steps, -FAR_STEP * usual, FAR_STEP * usual))


# Steps of this many times the usual size are changes.
FAR_STEP = 4.0


# Estimate the distribution of the rows of each state, from rows whose states are known.


# Least scatter of a state's rows, in levels: of each counter, and of all together, since a program does not do the same
# at the same pace each time. The kernel's counters depend on other load: of five days of a script next to other work,
# 0.15 to 0.3 find its activities best (adjusted Rand index .82 to .83; 0.03: .78, 0.5: .68).
EACH, OF_KERNEL, TOGETHER = 0.03, 0.2, 0.04
# Weight of the pooled scatter in that of a state, for states with few rows.
POOLED = 0.5
# Greatest number of rows of each state used to describe it.
MOST_ROWS = 3000
# Rows beyond this distance are not used to estimate scatter.
FAR = 4.0
# Mean square, in standard deviations, above which a row belongs to no known state.
UNKNOWN_FROM = 40.0
# Additional cost of leaving a state, because neighbouring rows have similar levels.
CAUTION = 4.0


def least_scatter(names: Sequence[str]) -> float:
    """Return the least scatter of each counter within a state, in levels."""
    return EACH if OF_PROCESSOR.intersection(names) else OF_KERNEL


def emissions_of(levels: Sequence[FloatArray], labels: Sequence[IntArray], least: float) -> Emissions:
    """Describe the states of rows.

    Args:
        levels: (rows, counters) of each series.
        labels: (rows,) of each series, consecutive numbers from 0.
        least: Least scatter of each counter.
    """
    label = np.concatenate(labels)
    selected = _rows_to_learn(label, np.concatenate([_inside(each) for each in labels]))
    count, label = np.bincount(label), label[selected]
    rows = np.concatenate(levels)[selected].astype(np.float64)
    means, scatters = _moments(rows, label)
    counters, states = rows.shape[1], len(means)
    pooled = np.sqrt(np.average(scatters**2, axis=0, weights=count)) + 1e-9
    # The noise level of each state is its own, but the directions of the noise are common to all.
    loud = np.median(scatters / pooled, axis=1) + 1e-9
    deviations = (rows - means[label]) / np.maximum(loud, 0.2)[label][:, None]
    whitening = whitening_of(np.clip(deviations, -FAR * pooled, FAR * pooled), least)
    means, scatters = _moments(rows @ whitening, label)
    scatters = np.maximum(np.sqrt((1 - POOLED) * scatters**2 + POOLED), 0.8)
    change = sum(int(np.count_nonzero(np.diff(each))) for each in labels)
    stay = float(np.log(count.sum() / (change + 1)) + np.log(max(states, 2)) + CAUTION)
    return Emissions(whitening, means, scatters, stay, UNKNOWN_FROM * counters)


def whitening_of(deviations: FloatArray, least: float) -> FloatArray:
    """Return coordinates (counters, counters) that are independent within a state, from the deviations of rows."""
    counters = deviations.shape[1]
    floor = least**2 * np.eye(counters) + TOGETHER**2 * np.ones((counters, counters))
    value, vector = np.linalg.eigh(deviations.T @ deviations / max(len(deviations), 1) + floor)
    return np.asarray((vector / np.sqrt(value)) @ vector.T)


def distances(emissions: Emissions) -> FloatArray:
    """Return the distances between states (states, states): mean squares, in units of their rows' scatter."""
    square = (emissions.scatters[:, None] ** 2 + emissions.scatters**2) / 2
    return np.asarray(((emissions.means[:, None] - emissions.means) ** 2 / square).mean(axis=2))


def _moments(rows: FloatArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the medians of states and the scatter of their rows, both (states, counters)."""
    states = int(label.max()) + 1
    means, scatters = np.empty((states, rows.shape[1])), np.empty((states, rows.shape[1]))
    for state in range(states):
        own = rows[label == state]
        means[state] = np.median(own, axis=0)
        scatters[state] = np.median(np.abs(own - means[state]), axis=0) / 0.6745
    return means, scatters


def _rows_to_learn(label: IntArray, inside: BoolArray) -> IntArray:
    """Select rows to learn from: a limited number per state, rows next to a change only if a state has no others."""
    selected = []
    for state in range(int(label.max()) + 1):
        own = np.flatnonzero(label == state)
        good = own[inside[own]]
        good = good if len(good) else own
        selected.append(good[:: max(1, len(good) // MOST_ROWS)])
    return np.concatenate(selected)


def _inside(labels: IntArray) -> BoolArray:
    """Return which rows are not next to a change: those next to one are mixtures."""
    change = np.flatnonzero(np.diff(labels)) + 1
    good = np.ones(len(labels), dtype=bool)
    good[change] = good[change - 1] = False
    return good


# Estimate the state of a node, row by row: the most probable sequence of states that persist (Viterbi).
#
# Each row is compared with all states: the distance of its levels from theirs, relative to their scatter. Leaving a
# state costs the more the rarer changes are. Since counters are correlated, levels are first transformed into
# coordinates that are independent of each other within a state (whitening).


UNKNOWN = -1
# Number of rows compared with the states at once: it fits into the caches.
BATCH = 4096
# Greatest evidence of one row against a state, as a share of the cost of leaving a state.
ONE_ROW = 0.9


@dataclass(frozen=True)
class Emissions:
    """Distribution of the rows of each state.

    Attributes:
        whitening: (counters, counters) transforms levels into coordinates.
        means: (states, counters) coordinates.
        scatters: (states, counters) coordinates.
        stay: Cost of leaving a state.
        unknown_from: Sum of squares above which a row belongs to no state.
    """

    whitening: FloatArray
    means: FloatArray
    scatters: FloatArray
    stay: float
    unknown_from: float

    def evidence(self, levels: FloatArray, *, unknown: bool = False) -> npt.NDArray[np.float32]:
        """Return the log likelihood (rows, states) of levels (rows, counters). unknown: add a column for none."""
        weight = 1 / self.scatters**2
        linear = (weight * self.means).T.astype(np.float32)
        square = (-0.5 * weight).T.astype(np.float32)
        fixed = (-0.5 * (weight * self.means**2).sum(axis=1) - np.log(self.scatters).sum(axis=1)).astype(np.float32)
        whitening = self.whitening.astype(np.float32)
        states = len(self.means)
        out = np.empty((len(levels), states + unknown), dtype=np.float32)
        for at in range(0, len(levels), BATCH):
            part = np.asarray(levels[at : at + BATCH], dtype=np.float32) @ whitening
            out[at : at + BATCH, :states] = part @ linear + (part * part) @ square + fixed
        # The last column is a state that is none of the known ones.
        if unknown:
            normal = float(np.max(-np.log(self.scatters).sum(axis=1)))
            out[:, -1] = normal - 0.5 * self.unknown_from
        # A single odd row, a mixture of two states or other activity of the system, is not a state.
        np.maximum(out, out.max(axis=1, keepdims=True) - np.float32(ONE_ROW * self.stay), out=out)
        return out


def most_probable(evidence: npt.NDArray[np.float32], stay: float) -> IntArray:
    """Return the most probable states (rows,) if each change costs `stay`; evidence (rows, states)."""
    rows, states = evidence.shape
    table = np.ascontiguousarray(evidence, dtype=np.float32)
    out = np.zeros(rows, dtype=np.int32)
    if rows:
        done = native().incprof_states(pointer(table), rows, states, stay, pointer(out))
        if done != 0:
            raise MemoryError
    return out


# Detect when other work hides a node's activity from the kernel's counters.


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
    measured = np.isfinite(waiting)
    return float(np.mean(waiting[measured] >= 1)) if measured.any() else None
