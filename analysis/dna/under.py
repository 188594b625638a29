"""What a node did under the phases of a run: power and energy of each phase, and the states that it was in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.counters.energy import overlaps, power_by_phase
from incprof.analysis.dna.results import NodeStates
from incprof.model import FloatArray, IntArray
from incprof.model.series import Power


@dataclass(frozen=True)
class PhaseOnNode:
    """A phase, -1 for what is in none. seconds: that the node was seen in. power_w: None where there is no power.

    states: (state, share of these seconds), the largest first.
    """

    phase: int
    seconds: float
    power_w: float | None
    states: tuple[tuple[int, float], ...]

    @property
    def energy_j(self) -> float | None:
        """The energy of the seconds that the node was seen in."""
        return None if self.power_w is None else self.power_w * self.seconds


def under(node: NodeStates, end_s: FloatArray, labels: IntArray) -> tuple[PhaseOnNode, ...]:
    """Lay a node under the phases of a run. Energy is shared as that of counters is (power_by_phase).

    Args:
        node: with rows.
        end_s: ends (n,) of the run's intervals, on the node's clock, after the start of the first: (n + 1,) in all.
        labels: (n,) the phase of each interval.
    """
    begins = np.concatenate([[node.times[0] - node.period_s], node.times[:-1]])
    begins = np.maximum(begins, node.times - 3 * node.period_s)
    phases, own = np.unique(labels, return_inverse=True)
    inside = overlaps(begins, node.times, end_s[:-1], end_s[1:], own, len(phases))
    power = None
    if node.watts is not None:
        power = power_by_phase(Power(node.node, node.watts, ()), node.times - begins, inside)
    found = []
    for at, phase in enumerate(phases.tolist()):
        seconds = float(inside[at].sum())
        shares = {state: float(inside[at, node.labels == state].sum()) for state in np.unique(node.labels).tolist()}
        states = sorted(((s, own_s / seconds) for s, own_s in shares.items() if own_s > 0), key=lambda each: -each[1])
        watts = None if power is None or not np.isfinite(power.watts[at]) else float(power.watts[at])
        found.append(PhaseOnNode(phase, seconds, watts, tuple(states)))
    return tuple(found)
