"""The states of a whole system and how it goes from one to the next: idle is where it begins and ends.

A state of the system is the states of all its nodes at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.dna.decode import UNKNOWN
from incprof.analysis.dna.results import NodeStates
from incprof.model import FloatArray, IntArray

# Nodes do not change at the same moment: what a system is in for less than this is no state of it.
SHORTEST_S = 3.0


@dataclass(frozen=True)
class SystemState:
    """letters: the state of each node. seconds, visits: in all. power_w: mean of all nodes together, if measured."""

    letters: tuple[int, ...]
    idle: bool
    seconds: float
    visits: int
    power_w: float | None


@dataclass(frozen=True)
class Edge:
    """From state `source` to `target`, numbers of a graph's states: how often, and how probable after `source`."""

    source: int
    target: int
    count: int
    probability: float


@dataclass(frozen=True)
class Graph:
    """states: the one of most time first. changes: (k,) of them in the order of time, with their seconds (k,)."""

    nodes: tuple[str, ...]
    states: tuple[SystemState, ...]
    edges: tuple[Edge, ...]
    visited: IntArray
    seconds: FloatArray


def graph(nodes: Sequence[NodeStates], idle: Collection[int]) -> Graph:
    """Put nodes together over the time that all of them were seen in. idle: ids of states that are."""
    begins = max(node.stretches[0].begins_s for node in nodes)
    ends = min(node.stretches[-1].ends_s for node in nodes)
    step = float(np.median([np.median(np.diff(node.times)) if len(node.times) > 1 else 1.0 for node in nodes]))
    at = np.arange(begins, max(ends, begins + step), step) + step / 2
    letters = np.column_stack([_at(node, at) for node in nodes])
    watts = [_watts(node, at) for node in nodes]
    known = [each for each in watts if each is not None]
    power = np.sum(known, axis=0) if len(known) == len(nodes) else None
    quiet = np.asarray(np.isin(letters, list(idle)).all(axis=1))
    letters[quiet] = UNKNOWN
    vectors, label = np.unique(letters, axis=0, return_inverse=True)
    label = _without_short(label.ravel(), max(1, round(SHORTEST_S / step)))
    first = np.concatenate([[0], np.flatnonzero(np.diff(label)) + 1])
    seconds = np.diff(np.append(first, len(label))) * step
    visited = label[first]
    total = np.bincount(visited, seconds, minlength=len(vectors))
    order = [int(each) for each in np.argsort(-total, kind="stable") if total[each] > 0]
    number = {each: at for at, each in enumerate(order)}
    states = tuple(
        SystemState(
            tuple(vectors[each].tolist()), bool(np.all(vectors[each] == UNKNOWN) and quiet[label == each].any()),
            float(total[each]), int((visited == each).sum()),
            None if power is None else float(np.nanmean(power[label == each])),
        )
        for each in order
    )  # fmt: skip
    visited = np.array([number[int(each)] for each in visited])
    return Graph(tuple(node.node for node in nodes), states, _edges(visited), visited, seconds)


def _edges(visited: IntArray) -> tuple[Edge, ...]:
    """Count the changes."""
    counts: dict[tuple[int, int], int] = {}
    for a, b in zip(visited[:-1].tolist(), visited[1:].tolist(), strict=True):
        counts[a, b] = counts.get((a, b), 0) + 1
    left: dict[int, int] = {}
    for (a, _), count in counts.items():
        left[a] = left.get(a, 0) + count
    return tuple(Edge(a, b, count, count / left[a]) for (a, b), count in sorted(counts.items()))


def _at(node: NodeStates, times: FloatArray) -> IntArray:
    """The state of a node at some times (n,)."""
    begins = np.array([stretch.begins_s for stretch in node.stretches])
    state = np.array([stretch.state for stretch in node.stretches], dtype=np.int64)
    return state[np.clip(np.searchsorted(begins, times, side="right") - 1, 0, len(state) - 1)]


def _watts(node: NodeStates, times: FloatArray) -> FloatArray | None:
    """The power of a node at some times (n,), or None."""
    if node.watts is None:
        return None
    return np.asarray(node.watts[np.clip(np.searchsorted(node.times, times), 0, len(node.times) - 1)], dtype=np.float64)


def _without_short(label: IntArray, shortest: int) -> IntArray:
    """What is between two states that last is taken for the first of them."""
    first = np.concatenate([[0], np.flatnonzero(np.diff(label)) + 1])
    length = np.diff(np.append(first, len(label)))
    kept = length >= min(shortest, int(length.max()))
    kept[0] = kept[0] or not kept.any()
    before = np.maximum.accumulate(np.where(kept, np.arange(len(first)), -1))
    before = np.where(before < 0, int(np.argmax(kept)), before)
    return np.repeat(label[first][before], length)
