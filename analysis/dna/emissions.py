"""What the rows of each state look like, from rows whose states are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.dna.counters import OF_PROCESSOR
from incprof.analysis.dna.decode import Emissions
from incprof.model import BoolArray, FloatArray, IntArray

# A state's rows scatter by this at least, in levels: each counter, and all of them together, as a program does not do
# the same at the same pace each time. The kernel's counters depend on what else runs: of five days of a script beside
# other work, 0.15 to 0.3 find its activities best (adjusted Rand index .82 to .83; 0.03: .78, 0.5: .68).
EACH, OF_KERNEL, TOGETHER = 0.03, 0.2, 0.04
# A state that is seen in few rows scatters about as all do.
POOLED = 0.5
# Of each state, so many rows are enough to tell what it looks like.
MOST_ROWS = 3000
# Rows further off than this are no measure of scatter.
FAR = 4.0
# Of rows that are of no known state: coordinates are so many standard deviations off, in the mean of squares.
STRANGE = 40.0
# Leaving a state costs this much more than a change is rare: levels of neighbouring rows are alike.
CAUTION = 4.0


def least_scatter(names: Sequence[str]) -> float:
    """Return what each counter scatters by at least within a state, in levels."""
    return EACH if OF_PROCESSOR.intersection(names) else OF_KERNEL


def emissions_of(levels: Sequence[FloatArray], labels: Sequence[IntArray], least: float) -> Emissions:
    """Describe the states of rows.

    Args:
        levels: (rows, counters) of each series.
        labels: (rows,) of each, from 0 without holes.
        least: what each counter scatters by at least.
    """
    label = np.concatenate(labels)
    chosen = _some(label, np.concatenate([_inside(each) for each in labels]))
    count, label = np.bincount(label), label[chosen]
    rows = np.concatenate(levels)[chosen].astype(np.float64)
    means, scatters = _moments(rows, label)
    counters, states = rows.shape[1], len(means)
    pooled = np.sqrt(np.average(scatters**2, axis=0, weights=count)) + 1e-9
    # States are as noisy as they are, and all of them in the same directions.
    loud = np.median(scatters / pooled, axis=1) + 1e-9
    apart = (rows - means[label]) / np.maximum(loud, 0.2)[label][:, None]
    whitening = whitening_of(np.clip(apart, -FAR * pooled, FAR * pooled), least)
    means, scatters = _moments(rows @ whitening, label)
    scatters = np.maximum(np.sqrt((1 - POOLED) * scatters**2 + POOLED), 0.8)
    change = sum(int(np.count_nonzero(np.diff(each))) for each in labels)
    stay = float(np.log(count.sum() / (change + 1)) + np.log(max(states, 2)) + CAUTION)
    return Emissions(whitening, means, scatters, stay, STRANGE * counters)


def whitening_of(apart: FloatArray, least: float) -> FloatArray:
    """Coordinates (counters, counters) that are independent within a state, from what rows are off by."""
    counters = apart.shape[1]
    floor = least**2 * np.eye(counters) + TOGETHER**2 * np.ones((counters, counters))
    value, vector = np.linalg.eigh(apart.T @ apart / max(len(apart), 1) + floor)
    return np.asarray((vector / np.sqrt(value)) @ vector.T)


def distances(found: Emissions) -> FloatArray:
    """How far apart states are (states, states): the mean of squares, in what their rows scatter by."""
    square = (found.scatters[:, None] ** 2 + found.scatters**2) / 2
    return np.asarray(((found.means[:, None] - found.means) ** 2 / square).mean(axis=2))


def _moments(rows: FloatArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """Medians of states, and what their rows scatter by, both (states, counters)."""
    states = int(label.max()) + 1
    means, scatters = np.empty((states, rows.shape[1])), np.empty((states, rows.shape[1]))
    for state in range(states):
        own = rows[label == state]
        means[state] = np.median(own, axis=0)
        scatters[state] = np.median(np.abs(own - means[state]), axis=0) / 0.6745
    return means, scatters


def _some(label: IntArray, inside: BoolArray) -> IntArray:
    """Rows to learn from: not too many of each state, and those beside a change only where it has no others."""
    chosen = []
    for state in range(int(label.max()) + 1):
        own = np.flatnonzero(label == state)
        good = own[inside[own]]
        good = good if len(good) else own
        chosen.append(good[:: max(1, len(good) // MOST_ROWS)])
    return np.concatenate(chosen)


def _inside(labels: IntArray) -> BoolArray:
    """Rows that are not beside a change: these are mixtures."""
    change = np.flatnonzero(np.diff(labels)) + 1
    good = np.ones(len(labels), dtype=bool)
    good[change] = good[change - 1] = False
    return good
