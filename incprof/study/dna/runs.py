"""Runs of one node or of a system: the paper's phases, what they match, what they will have taken, their graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.dna.energy import Estimate, estimate
from incprof.analysis.dna.graph import Graph, graph
from incprof.analysis.dna.idle import idle_below, misses_per_cycle
from incprof.analysis.dna.learn import common_counters, decoded
from incprof.analysis.dna.match import Match, match
from incprof.analysis.dna.paper import PaperStates, phases_but_idle
from incprof.analysis.dna.rates import counters_of
from incprof.analysis.dna.results import Alphabet, NodeStates
from incprof.analysis.dna.rows import rows_of
from incprof.analysis.dna.spelling import one_of_set
from incprof.analysis.dna.stretches import without_idle
from incprof.errors import NoDataError, UsageError
from incprof.model.nodes import NodeSeries
from incprof.study.dna.nodes import Source, series_of
from incprof.study.listener import Listener


def idle_threshold(source: Source, listener: Listener) -> float:
    """The cache misses in a cycle below which a node is idle, from a recording of an idle node.

    Raises:
        NoDataError: these are not counted in it.
    """
    series = _one(source, listener)
    share = misses_per_cycle(counters_of(series, series.counters), series.counters)
    if share is None or not np.isfinite(share).all():
        raise NoDataError(f"{source.paths[0]}: no cache-misses and cycles, by which the paper tells an idle node")
    return idle_below(share)


def paper_states(series: NodeSeries, *, ranked: bool, way: str, beta: float | None = None) -> PaperStates:
    """Apply Algorithm 1 to a node.

    beta: with fewer cache misses in a cycle it is idle; None: where all rates are small for 10 s.

    Raises:
        NoDataError: there is no power, or no counter.
    """
    names = common_counters([series])
    rows = rows_of(series, names, np.quantile(counters_of(series, names), 0.995, axis=0), beta)
    found = phases_but_idle(rows.rates, rows.watts, names, rows.idle, ranked=ranked, way=way)
    first: dict[int, int] = {}
    letters = tuple(each.letter if ranked else one_of_set(each.letter, first) for each in found)
    return PaperStates(series.node, tuple(found), letters, rows.ends_s, rows.watts, rows.lag_s, series.simulated)


def matches_of(source: Source, alphabet: Alphabet, listener: Listener) -> tuple[Match, ...]:
    """Say which known applications the last run in a file looks like.

    Raises:
        NoDataError: no run is known, or the node was idle all the time.
    """
    if not alphabet.runs:
        raise NoDataError("the alphabet knows no run: all nodes that it was learnt from were idle")
    runs = without_idle(decoded(_one(source, listener), alphabet).stretches, alphabet.idle)
    if not runs:
        raise NoDataError(f"{source.paths[0]}: the node was idle, or did nothing that is known, all the time")
    return match(runs[-1], alphabet.runs)


def energy_of(source: Source, alphabet: Alphabet, application: str | None, listener: Listener) -> Estimate:
    """Estimate the energy of a run from its beginning.

    Raises: as `estimate` does.
    """
    return estimate(_one(source, listener), alphabet, application)


def graph_of(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> Graph:
    """Put the states of nodes together.

    Raises:
        UsageError: at no time were all nodes seen.
    """
    if max(n.stretches[0].begins_s for n in nodes) >= min(n.stretches[-1].ends_s for n in nodes):
        raise UsageError("these nodes were never seen at the same time: their clocks, or the files, are of other days")
    return graph(nodes, alphabet.idle)


def _one(source: Source, listener: Listener) -> NodeSeries:
    """The one node in a file.

    Raises:
        UsageError: there are more.
    """
    series, _ = series_of([source], listener)
    if len(series) > 1:
        raise UsageError(f"{source.paths[0]} holds {len(series)} nodes: give a file of one of them")
    return series[0]
