"""What a node did under the phases of a run: power and energy of each phase, and the states that it was in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.dna.results import NodeStates
from incprof.model import FloatArray, IntArray


@dataclass(frozen=True)
class PhasePower:
    """A phase, -1 for what is in none. seconds: that the node was seen in. energy_j: None where there is no power.

    states: (state, share of these seconds), the largest first.
    """

    phase: int
    seconds: float
    energy_j: float | None
    states: tuple[tuple[int, float], ...]

    @property
    def power_w(self) -> float | None:
        """The mean power."""
        return None if self.energy_j is None or not self.seconds else self.energy_j / self.seconds


def under(node: NodeStates, end_s: FloatArray, labels: IntArray) -> tuple[PhasePower, ...]:
    """Lay a node under the phases of a run. Energy is that of each interval, so that all of it is in one phase.

    Args:
        node: with rows.
        end_s: ends (n,) of the run's intervals, on the node's clock, after the start of the first: (n + 1,) in all.
        labels: (n,) the phase of each interval.
    """
    begins = np.concatenate([[node.times[0] - node.period_s], node.times[:-1]])
    lengths = np.minimum(node.times - begins, 3 * node.period_s)
    ticks = np.column_stack([node.times - lengths, node.times]).ravel()
    seen = np.cumsum(np.column_stack([np.zeros(len(lengths)), lengths]).ravel())
    seconds = np.diff(np.interp(end_s, ticks, seen))
    joules = None
    if node.watts is not None:
        watts = np.where(np.isfinite(node.watts), node.watts, np.nanmean(node.watts))
        sums = np.cumsum(np.column_stack([np.zeros(len(lengths)), watts * lengths]).ravel())
        joules = np.diff(np.interp(end_s, ticks, sums))
    middle = (end_s[:-1] + end_s[1:]) / 2
    state = node.labels[np.clip(np.searchsorted(node.times, middle), 0, len(node.times) - 1)]
    found = []
    for phase in np.unique(labels).tolist():
        own = labels == phase
        total = float(seconds[own].sum())
        shares = {int(s): float(seconds[own & (state == s)].sum()) / total for s in np.unique(state[own]) if total}
        ordered = tuple(sorted(((s, share) for s, share in shares.items() if share > 0), key=lambda each: -each[1]))
        found.append(PhasePower(int(phase), total, None if joules is None else float(joules[own].sum()), ordered))
    return tuple(found)
