"""The states of a whole system and the transitions between them: it begins and ends idle.

A state of the system is the combination of the states of all its nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.nodes.analyse.decode import UNKNOWN
from incprof.systems.nodes.analyse.node_states import NodeStates, Stretch

# Nodes do not change at the same moment: shorter combinations are not states of the system.
SHORTEST_S = 3.0


@dataclass(frozen=True)
class SystemState:
    """A state of the system.

    Attributes:
        letters: State of each node.
        idle: Whether all nodes are idle.
        seconds: Total time in the state.
        visits: Number of episodes.
        power_w: Mean power of all nodes together; None if not measured.
    """

    letters: tuple[int, ...]
    idle: bool
    seconds: float
    visits: int
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
    begins = max(node.stretches[0].begins_s for node in nodes)
    ends = min(node.stretches[-1].ends_s for node in nodes)
    step = float(np.median([node.period_s for node in nodes]))
    at = np.arange(begins, max(ends, begins + step), step) + step / 2
    letters = np.empty((len(at), len(nodes)), dtype=np.int16)
    watts = np.zeros(len(at))
    for number, node in enumerate(nodes):
        begins_s = np.array([stretch.begins_s for stretch in node.stretches])
        place = np.clip(np.searchsorted(begins_s, at, side="right") - 1, 0, len(begins_s) - 1)
        letters[:, number] = np.array([stretch.state for stretch in node.stretches])[place]
        watts += np.array([_power(stretch) for stretch in node.stretches])[place]
    quiet = np.asarray(np.isin(letters, list(idle)).all(axis=1))
    letters[quiet] = UNKNOWN
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
            tuple(vectors[each].tolist()), bool(np.all(vectors[each] == UNKNOWN) and quiet[label == each].any()),
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
    left: dict[int, int] = {}
    for (source, _), count in counts.items():
        left[source] = left.get(source, 0) + count
    return tuple(Edge(a, b, count, count / left[a]) for (a, b), count in sorted(counts.items()))


def _power(stretch: Stretch) -> float:
    """Return the mean power of a segment, NaN if it was not measured."""
    return float("nan") if stretch.energy_j is None else stretch.energy_j / stretch.seconds


def _without_short(label: IntArray, shortest: int) -> IntArray:
    """Replace short states between two lasting ones by the first of those."""
    first = np.concatenate([[0], np.flatnonzero(np.diff(label)) + 1])
    length = np.diff(np.append(first, len(label)))
    kept = length >= min(shortest, int(length.max()))
    kept[0] = kept[0] or not kept.any()
    before = np.maximum.accumulate(np.where(kept, np.arange(len(first)), -1))
    before = np.where(before < 0, int(np.argmax(kept)), before)
    return np.repeat(label[first][before], length)
