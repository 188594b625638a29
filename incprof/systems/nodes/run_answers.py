"""Runs of a node or a system: the paper's phases, similar applications, estimated energy, and graph of states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model.series import NodeSeries
from incprof.readers.series.text_tables import followed, name_of
from incprof.study.options import Listener
from incprof.systems.nodes.analyse.comparable_rates import counters_of
from incprof.systems.nodes.analyse.energy_forecast import Estimate, Match, estimate, match
from incprof.systems.nodes.analyse.learn import common_counters, decoded
from incprof.systems.nodes.analyse.live import Live, Now
from incprof.systems.nodes.analyse.node_states import Alphabet, Graph, NodeStates, graph, without_idle
from incprof.systems.nodes.analyse.paper import PaperStates, phases_but_idle
from incprof.systems.nodes.analyse.paper_letters import LetterOptions, PaperLetters, Recording, paper_letters
from incprof.systems.nodes.analyse.power import idle_below, misses_per_cycle
from incprof.systems.nodes.analyse.spelling import one_of_set, rows_of
from incprof.systems.nodes.node_answers import Source, series_of
from incprof.systems.nodes.read import growing_rows


def idle_threshold(source: Source, listener: Listener) -> float:
    """Return the cache misses per cycle below which a node is idle, from a recording of an idle node.

    Raises:
        NoDataError: cache misses or cycles were not counted.
    """
    series = _one(source, listener)
    share = misses_per_cycle(counters_of(series, series.counters), series.counters)
    if share is None or not np.isfinite(share).all():
        raise NoDataError(f"{source.paths[0]}: no cache-misses and cycles, by which the paper recognises an idle node")
    return idle_below(share)


def paper_states(series: NodeSeries, *, ranked: bool, select: str, beta: float | None = None) -> PaperStates:
    """Apply Algorithm 1 to a node.

    beta: cache misses per cycle below which a row is idle; None: all rates are small for 10 s.

    Raises:
        NoDataError: power is missing, or no counter varies.
    """
    names = common_counters([series])
    rows = rows_of(series, names, np.quantile(counters_of(series, names), 0.995, axis=0), beta)
    phases = phases_but_idle(rows.rates, rows.watts, names, rows.idle, ranked=ranked, select=select)
    first: dict[int, int] = {}
    letters = tuple(each.letter if ranked else one_of_set(each.letter, first) for each in phases)
    return PaperStates(series.node, tuple(phases), letters, rows.ends_s, rows.watts, rows.lag_s, series.simulated)


def matches_of(source: Source, alphabet: Alphabet, listener: Listener) -> tuple[Match, ...]:
    """Return the known applications that the last run in a file resembles.

    Raises:
        NoDataError: the alphabet has no run, or the node was always idle.
    """
    if not alphabet.runs:
        raise NoDataError("the alphabet knows no run: all nodes that it was learnt from were idle")
    runs = without_idle(decoded(_one(source, listener), alphabet).segments, alphabet.idle)
    if not runs:
        raise NoDataError(f"{source.paths[0]}: the node was idle, or did nothing known, all the time")
    return match(runs[-1], alphabet.runs)


def energy_of(source: Source, alphabet: Alphabet, application: str | None, listener: Listener) -> Estimate:
    """Estimate the energy of a run from its beginning.

    Raises: as `estimate` does.
    """
    return estimate(_one(source, listener), alphabet, application)


def graph_of(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> Graph:
    """Combine the states of nodes.

    Raises:
        UsageError: the recordings of the nodes have no common time.
    """
    if max(n.segments[0].begins_s for n in nodes) >= min(n.segments[-1].ends_s for n in nodes):
        raise UsageError(
            "these nodes have no time in common: check their clocks, and that the files are of the same days"
        )
    return graph(nodes, alphabet.idle)


def _one(source: Source, listener: Listener) -> NodeSeries:
    """Return the only node in a file.

    Raises:
        UsageError: the file has several nodes.
    """
    series, _ = series_of([source], listener)
    if len(series) > 1:
        raise UsageError(f"{source.paths[0]} holds {len(series)} nodes: give a file of one of them")
    return series[0]


# Runs in the paper's letters: read from files, converted to letters, and predicted from each other.


# Name of the node of files that name none: they are assumed to belong to one node.
ONE_NODE = "node"


def letters_of(
    sources: Sequence[Source], tests: Sequence[Source], options: LetterOptions, listener: Listener
) -> PaperLetters:
    """Convert the runs in some files to letters, and predict those in `tests`, or without tests each from the others.

    Raises: as the readers do; NoDataError: power is missing, no counter is common to all, or all nodes are idle.
    """
    return paper_letters(_recordings(sources, listener), _recordings(tests, listener), options)


def _recordings(sources: Sequence[Source], listener: Listener) -> list[Recording]:
    """Read files one after the other. Each file is a run, even if several have the same node and time."""
    recordings = []
    for source in sources:
        series, _ = series_of([source], listener)
        for each in series:
            own = each if each.named or len(series) > 1 else replace(each, node=ONE_NODE)
            recordings.append(Recording(own, source.application, "+".join(source.paths)))
    return recordings


# A node that is still being sampled: its state after every new row.


def follow(path: str, alphabet: Alphabet, idle_s: float) -> Iterator[Now]:
    """Yield the state after each row of a growing file, or of a pipe.

    Args:
        path: Path of a text file with a line of names, as written by incprof sample; `-` is standard input.
        alphabet: Alphabet; the file must have its counters.
        idle_s: Seconds without a new line after which a file counts as ended.

    Raises:
        NoDataError: a counter is missing, or no row arrived.
    """
    live, rows = Live(alphabet), 0
    with followed(path, idle_s) as lines:
        for time_s, rates in growing_rows(lines, name_of(path), alphabet.scale.names):
            rows += 1
            yield live.feed(time_s, np.asarray(rates))
    if not rows:
        raise NoDataError(f"{name_of(path)}: no row")
