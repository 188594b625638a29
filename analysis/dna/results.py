"""What is known of the states of nodes."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.dna.decode import UNKNOWN, Emissions
from incprof.analysis.dna.power import PowerModel
from incprof.analysis.dna.rates import Scale
from incprof.model import FloatArray, IntArray


@dataclass(frozen=True)
class State:
    """One state of a node: a letter of the alphabet.

    rates (counters,): the usual ones, per second. letter: the paper's 16 bits; None where power follows no four
    counters, or there is no power (the paper's XXX). power: of a node in it, None where nobody measured.
    """

    id: int
    name: str
    idle: bool
    rates: FloatArray
    letter: int | None
    power: PowerModel | None


@dataclass(frozen=True)
class Stretch:
    """Rows of one state in a row: of times begins_s < t <= ends_s. energy_j: None where there is no power."""

    state: int
    begins_s: float
    ends_s: float
    energy_j: float | None

    @property
    def seconds(self) -> float:
        """How long."""
        return self.ends_s - self.begins_s


@dataclass(frozen=True)
class KnownRun:
    """A run that the alphabet was learnt from. stretches: from the first that is not idle to the last."""

    application: str
    node: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True)
class Alphabet:
    """States of nodes, and the runs that they were learnt from.

    simulated: power came from a formula, in one of the inputs at least.
    """

    scale: Scale
    emissions: Emissions
    states: tuple[State, ...]
    runs: tuple[KnownRun, ...]
    simulated: bool

    @property
    def idle(self) -> frozenset[int]:
        """Ids of the states in which a node does nothing, and of what is not known."""
        return frozenset([UNKNOWN, *(state.id for state in self.states if state.idle)])


@dataclass(frozen=True)
class NodeStates:
    """The states of a node.

    times, labels (rows,): the ends of rows and the ids of states, -1 for none that is known; watts (rows,) or None.
    All three are empty where only the stretches were wanted. lag_s: the meter is late by so much. period_s: the usual
    length of a row. crowded: share of rows in which threads wait for a processor, where that hides what the node does.
    """

    node: str
    times: FloatArray
    labels: IntArray
    stretches: tuple[Stretch, ...]
    watts: FloatArray | None
    lag_s: float
    period_s: float
    simulated: bool
    notes: tuple[str, ...] = ()
    crowded: float | None = None
