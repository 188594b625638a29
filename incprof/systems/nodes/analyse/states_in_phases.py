"""States of a node during the phases of a run: power, energy and states in each phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.counters.energy import overlaps, power_by_phase
from incprof.model import FloatArray, IntArray
from incprof.model.series import Power
from incprof.systems.nodes.analyse.node_states import NodeStates


@dataclass(frozen=True)
class PhaseOnNode:
    """A node during one phase.

    Attributes:
        phase: Number of the phase; -1 for intervals in no phase.
        seconds: Time in the phase for which the node has rows.
        power_w: Mean power; None if it is missing.
        states: (state, share of the seconds), the largest first.
    """

    phase: int
    seconds: float
    power_w: float | None
    states: tuple[tuple[int, float], ...]

    @property
    def energy_j(self) -> float | None:
        """Energy of the seconds for which the node has rows."""
        return None if self.power_w is None else self.power_w * self.seconds


def under(node: NodeStates, end_s: FloatArray, labels: IntArray) -> tuple[PhaseOnNode, ...]:
    """Overlay a node's states and power on the phases of a run. Energy is divided as by `power_by_phase`.

    Args:
        node: States with rows.
        end_s: (n + 1,) start of the first of n intervals and the ends of all, on the node's clock.
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
