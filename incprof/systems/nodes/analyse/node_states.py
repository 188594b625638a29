"""States of nodes."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.model import FloatArray, IntArray
from incprof.systems.nodes.analyse.comparable_rates import Scale
from incprof.systems.nodes.analyse.decode import UNKNOWN, Emissions
from incprof.systems.nodes.analyse.power import PowerModel


@dataclass(frozen=True)
class State:
    """One state of a node: a letter of the alphabet.

    Attributes:
        id: Number of the state.
        name: Readable name.
        idle: Whether the node is idle.
        rates: (counters,) usual rates, per second.
        letter: The paper's 16 bits; None (XXX) if power correlates with fewer than four counters, or is missing.
        power: Power model of a node in this state; None if power was not measured.
    """

    id: int
    name: str
    idle: bool
    rates: FloatArray
    letter: int | None
    power: PowerModel | None


@dataclass(frozen=True)
class Stretch:
    """A segment of consecutive rows of one state, at times begins_s < t <= ends_s.

    Attributes:
        state: Id of the state.
        begins_s: Begin, in seconds on the clock of the series.
        ends_s: End, in seconds on the clock of the series.
        energy_j: Energy in joules; None if power is missing.
    """

    state: int
    begins_s: float
    ends_s: float
    energy_j: float | None

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.ends_s - self.begins_s


@dataclass(frozen=True)
class KnownRun:
    """A run that the alphabet was learnt from.

    Attributes:
        application: Name of the application.
        node: Name of the node.
        stretches: Its segments, from the first to the last that is not idle.
    """

    application: str
    node: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True)
class Alphabet:
    """States of nodes, and the runs that they were learnt from.

    Attributes:
        scale: Scale of the counters.
        emissions: Distribution of the rows of each state.
        states: The states.
        runs: The runs.
        simulated: Whether power came from a formula in any of the inputs.
    """

    scale: Scale
    emissions: Emissions
    states: tuple[State, ...]
    runs: tuple[KnownRun, ...]
    simulated: bool

    @property
    def idle(self) -> frozenset[int]:
        """Ids of the idle states, including the unknown state."""
        return frozenset([UNKNOWN, *(state.id for state in self.states if state.idle)])


@dataclass(frozen=True)
class NodeStates:
    """The states of a node.

    Attributes:
        node: Name of the node.
        times: (rows,) ends of the rows; empty if only segments were requested.
        labels: (rows,) ids of the states, -1 if unknown; empty if only segments were requested.
        stretches: Segments of one state.
        watts: (rows,) power; None if it is missing, or if only segments were requested.
        lag_s: Delay of the meter, in seconds.
        period_s: Usual length of a row, in seconds.
        simulated: Whether power comes from a formula.
        notes: Notes on the input.
        crowded: Share of rows in which threads wait for a processor, if that hides the node's activity.
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
