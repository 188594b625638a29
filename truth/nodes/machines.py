"""Machines: the speed of each kind of work, and its power in watts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.systems.nodes.analyse.paper import TABLE1

Rng = np.random.Generator

# Counts per second of a node of 16 cores at 2.5 GHz for each kind of work, in the order of Table 1 of the paper:
# cycles, instructions, cache references, stalled cycles, cache misses, bus cycles, branches, branch misses, bytes and
# packets sent, bytes and packets received, bytes written and read.
KINDS: dict[str, tuple[float, ...]] = {
    "compute": (4e10, 7.5e10, 4e8, 6e9, 1e7, 1.6e9, 6e9, 3e7, 3e3, 20, 3e3, 20, 4e4, 1e3),
    "vector": (3.7e10, 4.5e10, 1.5e9, 1.1e10, 8e7, 1.6e9, 2e9, 5e6, 3e3, 20, 3e3, 20, 4e4, 1e3),
    "memory": (4e10, 1.4e10, 4e9, 2.9e10, 1.5e9, 1.6e9, 1.8e9, 8e6, 3e3, 20, 3e3, 20, 4e4, 1e3),
    "branchy": (3.9e10, 2.6e10, 1.8e9, 1.9e10, 1.5e8, 1.6e9, 6.5e9, 5.2e8, 3e3, 20, 3e3, 20, 4e4, 1e3),
    "exchange": (1.8e10, 2e10, 7e8, 5e9, 1e8, 1.6e9, 4e9, 2e7, 6e8, 4.5e5, 6e8, 4.5e5, 4e4, 1e3),
    "gather": (1.1e10, 9e9, 6e8, 4e9, 1.3e8, 1.3e9, 2e9, 2e7, 2e7, 2e5, 9e8, 6.2e5, 4e4, 1e3),
    "write": (5e9, 3e9, 4e8, 2.5e9, 9e7, 8e8, 7e8, 1e7, 2e4, 60, 2e4, 60, 4.5e8, 4e3),
    "read": (6e9, 4e9, 5e8, 2.6e9, 1.2e8, 8e8, 9e8, 1e7, 2e4, 60, 2e4, 60, 6e4, 7e8),
    "serial": (2.6e9, 4.1e9, 1e8, 5e8, 6e6, 7e8, 7e8, 4e6, 3e3, 20, 3e3, 20, 4e4, 1e3),
}
IDLE = np.array((1.5e8, 7e7, 3e6, 7e7, 4e5, 1.2e8, 1.5e7, 4e5, 1.5e3, 12, 1.8e3, 14, 3e4, 2e2))
# Dynamic power in watts for a count per second, approximately.
WATTS_PER = np.array((2.2e-9, 7e-10, 6e-9, 0, 2.2e-8, 0, 0, 1.5e-8, 1e-8, 4e-6, 1e-8, 4e-6, 2e-8, 1.2e-8))
# The clock that bounds each kind of work: that of the processor, memory, network, or disk.
BOUND_BY = {
    "compute": 0, "vector": 0, "memory": 1, "branchy": 0, "exchange": 2, "gather": 2, "write": 3, "read": 3,
    "serial": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A machine.

    Attributes:
        speed: (4,) of processor, memory, network and disk, 1 on the reference.
        watts_per: (14,) watts for a count per second.
        idle_w: power of an idle node, watts.
    """

    speed: FloatArray
    watts_per: FloatArray
    idle_w: float

    def speed_of(self, kind: str) -> float:
        """Return the speed of a kind of work: mostly that of its bottleneck."""
        return float(self.speed[BOUND_BY[kind]] ** 0.85 * self.speed[0] ** 0.15)

    def rates(self, of_reference: FloatArray, kind: str) -> FloatArray:
        """Return counts per second (14,): the work has the same counts in another time; cycles follow the clock."""
        out = of_reference * self.speed_of(kind)
        out[[0, 3]] = of_reference[[0, 3]] * self.speed[0]
        out[5] = of_reference[5]
        return np.asarray(out)


def reference(rng: Rng) -> Machine:
    """Return the machine of the known runs."""
    return Machine(np.ones(4), WATTS_PER * rng.lognormal(0, 0.25, len(TABLE1)), float(rng.uniform(70, 180)))


def other(rng: Rng, first: Machine) -> Machine:
    """Return another machine: its parts have other speeds and other power."""
    watts = first.watts_per * rng.lognormal(rng.normal(0, 0.3), 0.12, len(TABLE1))
    return Machine(rng.lognormal(0, 0.2, 4), watts, first.idle_w * float(rng.lognormal(0, 0.25)))
