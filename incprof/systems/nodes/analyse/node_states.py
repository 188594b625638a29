"""States of nodes: their segments, their shares in phases, and the graph of a system's states."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from incprof.analysis.energy import overlaps, power_by_phase
from incprof.model import FloatArray, IntArray
from incprof.model.series import Power
from incprof.systems.nodes.analyse.comparable_rates import UNKNOWN, Emissions, Scale
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
class Segment:
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
        segments: Its segments, from the first to the last that is not idle.
    """

    application: str
    node: str
    segments: tuple[Segment, ...]


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
        segments: Segments of one state.
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
    segments: tuple[Segment, ...]
    watts: FloatArray | None
    lag_s: float
    period_s: float
    simulated: bool
    notes: tuple[str, ...] = ()
    crowded: float | None = None


# Segments of one state, and the runs between the times at which a node is idle.


# A node that is idle for this long has ended its run.
PAUSE_S = 10.0


def segments_of_states(
    times: FloatArray, labels: IntArray, watts: FloatArray | None, period_s: float
) -> tuple[Segment, ...]:
    """Join neighbouring rows of one state. Gaps between rows belong to the segment before.

    Args:
        times: (rows,) ends of the rows.
        labels: (rows,).
        watts: (rows,) or None; NaN counts as the mean of the segment.
        period_s: Length of the first row.
    """
    if not len(times):
        return ()
    first = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [len(labels)]])
    begins = np.concatenate([[times[0] - period_s], times[first[1:-1] - 1]])
    ends = times[first[1:] - 1]
    joules: list[float | None] = [None] * len(begins)
    if watts is not None:
        for at, (low, high) in enumerate(pairwise(first.tolist())):
            own = watts[low:high]
            mean = float(np.nanmean(own)) if np.isfinite(own).any() else float("nan")
            joules[at] = mean * float(ends[at] - begins[at]) if np.isfinite(mean) else None
    return tuple(
        Segment(int(labels[row]), float(b), float(e), j)
        for row, b, e, j in zip(first[:-1], begins, ends, joules, strict=True)
    )


def without_idle(segments: Sequence[Segment], idle: Collection[int]) -> list[tuple[Segment, ...]]:
    """Return the runs: the parts between idle segments of at least `PAUSE_S`; everything if a node is never idle."""
    runs: list[list[Segment]] = [[]]
    for segment in segments:
        if segment.state in idle and (segment.seconds >= PAUSE_S or not runs[-1]):
            runs.append([])
        else:
            runs[-1].append(segment)
    for run in runs:
        while run and run[-1].state in idle:
            run.pop()
    return [tuple(run) for run in runs if run]


# States of a node during the phases of a run: power, energy and states in each phase.


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


def overlay(node: NodeStates, end_s: FloatArray, labels: IntArray) -> tuple[PhaseOnNode, ...]:
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
    overlaid = []
    for at, phase in enumerate(phases.tolist()):
        seconds = float(inside[at].sum())
        shares = {state: float(inside[at, node.labels == state].sum()) for state in np.unique(node.labels).tolist()}
        states = sorted(((s, own_s / seconds) for s, own_s in shares.items() if own_s > 0), key=lambda each: -each[1])
        watts = None if power is None or not np.isfinite(power.watts[at]) else float(power.watts[at])
        overlaid.append(PhaseOnNode(phase, seconds, watts, tuple(states)))
    return tuple(overlaid)


# The states of a whole system and the transitions between them: it begins and ends idle.
#
# A state of the system is the combination of the states of all its nodes.


# Nodes do not change at the same moment: shorter combinations are not states of the system.
SHORTEST_S = 3.0


@dataclass(frozen=True)
class SystemState:
    """A state of the system.

    Attributes:
        letters: State of each node.
        idle: Whether all nodes are idle.
        seconds: Total time in the state.
        episodes: Number of episodes.
        power_w: Mean power of all nodes together; None if not measured.
    """

    letters: tuple[int, ...]
    idle: bool
    seconds: float
    episodes: int
    power_w: float | None


@dataclass(frozen=True)
class Edge:
    """A transition between two states of a graph, by number.

    Attributes:
        source: State before.
        target: State after.
        count: Number of transitions.
        probability: Share of the transitions from `source`.
    """

    source: int
    target: int
    count: int
    probability: float


@dataclass(frozen=True)
class Graph:
    """States of a system and their transitions.

    Attributes:
        nodes: Names of the nodes.
        states: The states, by total time, descending.
        edges: The transitions.
        visited: (k,) numbers of states in order of time.
        seconds: (k,) time in each of them.
        simulated: Whether the power of a node comes from a formula.
    """

    nodes: tuple[str, ...]
    states: tuple[SystemState, ...]
    edges: tuple[Edge, ...]
    visited: IntArray
    seconds: FloatArray
    simulated: bool


def graph(nodes: Sequence[NodeStates], idle: Collection[int]) -> Graph:
    """Combine nodes over the time covered by all of them. idle: ids of the idle states."""
    begins = max(node.segments[0].begins_s for node in nodes)
    ends = min(node.segments[-1].ends_s for node in nodes)
    step = float(np.median([node.period_s for node in nodes]))
    at = np.arange(begins, max(ends, begins + step), step) + step / 2
    letters = np.empty((len(at), len(nodes)), dtype=np.int16)
    watts = np.zeros(len(at))
    for number, node in enumerate(nodes):
        begins_s = np.array([segment.begins_s for segment in node.segments])
        place = np.clip(np.searchsorted(begins_s, at, side="right") - 1, 0, len(begins_s) - 1)
        letters[:, number] = np.array([segment.state for segment in node.segments])[place]
        watts += np.array([_power(segment) for segment in node.segments])[place]
    all_idle = np.asarray(np.isin(letters, list(idle)).all(axis=1))
    letters[all_idle] = UNKNOWN
    vectors, label = np.unique(letters, axis=0, return_inverse=True)
    label = _without_short(label.ravel(), max(1, round(SHORTEST_S / step)))
    first = np.concatenate([[0], np.flatnonzero(np.diff(label)) + 1])
    seconds = np.diff(np.append(first, len(label))) * step
    visited = label[first]
    total = np.bincount(visited, seconds, minlength=len(vectors))
    order = [int(each) for each in np.argsort(-total, kind="stable") if total[each] > 0]
    rank = {each: place for place, each in enumerate(order)}
    states = tuple(
        SystemState(
            tuple(vectors[each].tolist()), bool(np.all(vectors[each] == UNKNOWN) and all_idle[label == each].any()),
            float(total[each]), int((visited == each).sum()),
            None if np.isnan(watts).any() else float(watts[label == each].mean()),
        )
        for each in order
    )  # fmt: skip
    visited = np.array([rank[int(each)] for each in visited])
    simulated = any(node.simulated for node in nodes)
    return Graph(tuple(node.node for node in nodes), states, _edges(visited), visited, seconds, simulated)


def _edges(visited: IntArray) -> tuple[Edge, ...]:
    """Count the transitions."""
    counts: dict[tuple[int, int], int] = {}
    for a, b in zip(visited[:-1].tolist(), visited[1:].tolist(), strict=True):
        counts[a, b] = counts.get((a, b), 0) + 1
    times_left: dict[int, int] = {}
    for (source, _), count in counts.items():
        times_left[source] = times_left.get(source, 0) + count
    return tuple(Edge(a, b, count, count / times_left[a]) for (a, b), count in sorted(counts.items()))


def _power(segment: Segment) -> float:
    """Return the mean power of a segment, NaN if it was not measured."""
    return float("nan") if segment.energy_j is None else segment.energy_j / segment.seconds


def _without_short(label: IntArray, shortest: int) -> IntArray:
    """Replace short states between two lasting ones by the first of those."""
    first = np.concatenate([[0], np.flatnonzero(np.diff(label)) + 1])
    length = np.diff(np.append(first, len(label)))
    kept = length >= min(shortest, int(length.max()))
    kept[0] = kept[0] or not kept.any()
    before = np.maximum.accumulate(np.where(kept, np.arange(len(first)), -1))
    before = np.where(before < 0, int(np.argmax(kept)), before)
    return np.repeat(label[first][before], length)
