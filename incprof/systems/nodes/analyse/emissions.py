"""Estimate the distribution of the rows of each state, from rows whose states are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray
from incprof.systems.nodes.analyse.decode import Emissions
from incprof.systems.nodes.analyse.paper_counters import OF_PROCESSOR

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
STRANGE = 40.0
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
    chosen = _some(label, np.concatenate([_inside(each) for each in labels]))
    count, label = np.bincount(label), label[chosen]
    rows = np.concatenate(levels)[chosen].astype(np.float64)
    means, scatters = _moments(rows, label)
    counters, states = rows.shape[1], len(means)
    pooled = np.sqrt(np.average(scatters**2, axis=0, weights=count)) + 1e-9
    # The noise level of each state is its own, but the directions of the noise are common to all.
    loud = np.median(scatters / pooled, axis=1) + 1e-9
    apart = (rows - means[label]) / np.maximum(loud, 0.2)[label][:, None]
    whitening = whitening_of(np.clip(apart, -FAR * pooled, FAR * pooled), least)
    means, scatters = _moments(rows @ whitening, label)
    scatters = np.maximum(np.sqrt((1 - POOLED) * scatters**2 + POOLED), 0.8)
    change = sum(int(np.count_nonzero(np.diff(each))) for each in labels)
    stay = float(np.log(count.sum() / (change + 1)) + np.log(max(states, 2)) + CAUTION)
    return Emissions(whitening, means, scatters, stay, STRANGE * counters)


def whitening_of(apart: FloatArray, least: float) -> FloatArray:
    """Return coordinates (counters, counters) that are independent within a state, from the deviations of rows."""
    counters = apart.shape[1]
    floor = least**2 * np.eye(counters) + TOGETHER**2 * np.ones((counters, counters))
    value, vector = np.linalg.eigh(apart.T @ apart / max(len(apart), 1) + floor)
    return np.asarray((vector / np.sqrt(value)) @ vector.T)


def distances(found: Emissions) -> FloatArray:
    """Return the distances between states (states, states): mean squares, in units of their rows' scatter."""
    square = (found.scatters[:, None] ** 2 + found.scatters**2) / 2
    return np.asarray(((found.means[:, None] - found.means) ** 2 / square).mean(axis=2))


def _moments(rows: FloatArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the medians of states and the scatter of their rows, both (states, counters)."""
    states = int(label.max()) + 1
    means, scatters = np.empty((states, rows.shape[1])), np.empty((states, rows.shape[1]))
    for state in range(states):
        own = rows[label == state]
        means[state] = np.median(own, axis=0)
        scatters[state] = np.median(np.abs(own - means[state]), axis=0) / 0.6745
    return means, scatters


def _some(label: IntArray, inside: BoolArray) -> IntArray:
    """Select rows to learn from: a limited number per state, rows next to a change only if a state has no others."""
    chosen = []
    for state in range(int(label.max()) + 1):
        own = np.flatnonzero(label == state)
        good = own[inside[own]]
        good = good if len(good) else own
        chosen.append(good[:: max(1, len(good) // MOST_ROWS)])
    return np.concatenate(chosen)


def _inside(labels: IntArray) -> BoolArray:
    """Return which rows are not next to a change: those next to one are mixtures."""
    change = np.flatnonzero(np.diff(labels)) + 1
    good = np.ones(len(labels), dtype=bool)
    good[change] = good[change - 1] = False
    return good
