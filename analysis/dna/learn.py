"""An alphabet of states, from what many nodes did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incprof.analysis.dna.changes import changes
from incprof.analysis.dna.counters import HELD, OF_PROCESSOR, TWINS
from incprof.analysis.dna.crowding import crowded
from incprof.analysis.dna.decode import UNKNOWN, Emissions, most_probable
from incprof.analysis.dna.emissions import distances, emissions_of, least_scatter, whitening_of
from incprof.analysis.dna.groups import group
from incprof.analysis.dna.idle import is_idle
from incprof.analysis.dna.letters import letter_of
from incprof.analysis.dna.names import name_of, told_apart
from incprof.analysis.dna.power import fit, lag_of, moved
from incprof.analysis.dna.rates import Scale, counters_of, is_stepwise, scale_of, steps_of
from incprof.analysis.dna.results import Alphabet, KnownRun, NodeStates, State
from incprof.analysis.dna.stretches import stretches_of, without_idle
from incprof.errors import NoDataError
from incprof.model import FloatArray, IntArray
from incprof.model.nodes import NodeSeries

MOST_COUNTERS = 16
ROUNDS = 3
# Two states whose levels differ by less than this, in the mean of squares and in what rows scatter by, are one: on the
# generated nodes for tuning, parts of one state differed by 2.0 at most, and different states by 3.6 at least.
ONE_STATE = 3.0
LEAST_OF_A_STATE = 4


def learn(series: Sequence[NodeSeries], applications: Sequence[str]) -> Alphabet:
    """Learn the states of nodes.

    Args:
        series: what the nodes did, in any order.
        applications: the name of what each of them ran.

    Raises:
        NoDataError: no counter that all of them have varies, or there are no rows.
    """
    names = common_counters(series)
    tables = [counters_of(each, names) for each in series]
    scale = scale_of(names, tables)
    levels = [scale.levels(table) for table in tables]
    emissions, labels = own_states(levels, least_scatter(names))
    return _described(series, applications, scale, emissions, tables, labels)


def own_states(levels: Sequence[FloatArray], least: float) -> tuple[Emissions, list[IntArray]]:
    """Find the states of some series, and of each row (rows,), from their levels (rows, counters) alone.

    least: what each counter scatters by at least within a state.
    """
    labels = _first_labels(levels, least)
    emissions = emissions_of(levels, labels, least)
    for _ in range(ROUNDS):
        labels = [most_probable(emissions.evidence(each), emissions.stay) for each in levels]
        labels = _joined(levels, _numbered(labels), least)
        emissions = emissions_of(levels, labels, least)
    return emissions, labels


def common_counters(series: Sequence[NodeSeries]) -> tuple[str, ...]:
    """The counters that all nodes have and that vary, at most 16: those whose levels vary most.

    Memory that is held is one where the processor counts nothing and it changes by steps: programs of which one works
    in its cache and the other in memory are not told apart by anything else that the kernel counts.

    Raises:
        NoDataError: there is none.
    """
    if not series or not any(len(each.times) for each in series):
        raise NoDataError("no rows: give files of counters, a row for each second")
    units = dict(zip(series[0].names, series[0].units, strict=True))
    others = [frozenset(each.counters) for each in series[1:]]
    everywhere = [name for name in series[0].counters if all(name in each for each in others)]
    everywhere = [name for name in everywhere if name not in TWINS or not TWINS[name] <= set(everywhere)]
    counted = OF_PROCESSOR.intersection(everywhere)
    # How much memory is used is what programs did before, not what they do.
    shared = [name for name in everywhere if units[name] != "B" or (name in HELD and not counted)]
    tables = [counters_of(each, shared) for each in series]
    known = [
        at for at, name in enumerate(shared)
        if all(np.isfinite(table[:, at]).all() for table in tables)
        and (name not in HELD or is_stepwise([table[:, at] for table in tables]))
    ]  # fmt: skip
    spread = {}
    for at in known:
        column = np.concatenate([table[:: max(1, len(table) // 2000), at] for table in tables])
        spread[shared[at]] = float(np.std(np.arcsinh(column / max(0.02 * float(np.abs(column).max()), 1e-12))))
    varying = sorted((name for name in spread if spread[name] > 0), key=lambda name: -spread[name])[:MOST_COUNTERS]
    if not varying:
        raise NoDataError("no counter that all nodes have varies: a state cannot be told from another")
    return tuple(name for name in shared if name in varying)


def decoded(series: NodeSeries, alphabet: Alphabet) -> NodeStates:
    """Say the states of a node by an alphabet that is known."""
    table = counters_of(series, alphabet.scale.names)
    missing = [name for at, name in enumerate(alphabet.scale.names) if np.isnan(table[:, at]).any()]
    if missing:
        raise NoDataError(f"{series.node}: no {missing[0]}, which the alphabet was learnt with")
    evidence = alphabet.emissions.evidence(alphabet.scale.levels(table), unknown=True)
    labels = most_probable(evidence, alphabet.emissions.stay)
    labels = np.where(labels == len(alphabet.states), UNKNOWN, labels)
    return _node_states(series, table, labels)


def _node_states(series: NodeSeries, table: FloatArray, labels: IntArray) -> NodeStates:
    """Put the states of a node together with its power, which is moved to where it belongs."""
    watts, lag = series.watts, 0
    if watts is not None:
        lag = lag_of(table, watts)
        watts = moved(watts, lag)
    stretches = stretches_of(series.times, labels, watts, series.period_s)
    return NodeStates(
        series.node, series.times, labels, stretches, watts, lag * series.period_s, series.period_s, series.simulated,
        series.notes, crowded(series),
    )  # fmt: skip


def _first_labels(levels: Sequence[FloatArray], least: float) -> list[IntArray]:
    """The states of rows (rows,) of each series, as the stretches between changes are alike."""
    whitening = whitening_of(np.concatenate([steps_of(each) for each in levels]), least)
    tables = [each @ whitening for each in levels]
    edges = [np.concatenate([[0], changes(each), [len(each)]]) for each in tables]
    rows = np.concatenate([np.diff(each) for each in edges])
    means = [
        np.add.reduceat(table, edge[:-1]) / np.diff(edge)[:, None] for table, edge in zip(tables, edges, strict=True)
    ]
    found, out, at = group(np.concatenate(means), rows), [], 0
    for each in edges:
        out.append(np.repeat(found[at : at + len(each) - 1], np.diff(each)))
        at += len(each) - 1
    return out


def _numbered(labels: Sequence[IntArray]) -> list[IntArray]:
    """The same states with numbers from 0 without holes."""
    used = np.unique(np.concatenate(labels))
    return [np.searchsorted(used, each) for each in labels]


def _joined(levels: Sequence[FloatArray], labels: Sequence[IntArray], least: float) -> list[IntArray]:
    """Join states that rows do not tell apart, the closest first, and leave out those of few rows."""
    while True:
        found = emissions_of(levels, labels, least)
        count = np.bincount(np.concatenate(labels), minlength=len(found.means))
        apart = distances(found)
        np.fill_diagonal(apart, np.inf)
        few = int(count.argmin())
        if len(count) > 1 and count[few] < LEAST_OF_A_STATE:
            gone, into = few, int(apart[few].argmin())
        elif apart.min(initial=np.inf) < ONE_STATE:
            gone, into = (int(at) for at in np.unravel_index(apart.argmin(), apart.shape))
        else:
            return list(labels)
        labels = _numbered([np.where(each == gone, into, each) for each in labels])


def _described(
    series: Sequence[NodeSeries], applications: Sequence[str], scale: Scale, emissions: Emissions,
    tables: Sequence[FloatArray], labels: Sequence[IntArray],
) -> Alphabet:  # fmt: skip
    """Give the states names, letters and power."""
    nodes = [_node_states(*each) for each in zip(series, tables, labels, strict=True)]
    rows, label = np.concatenate(tables), np.concatenate(labels)
    watts = np.concatenate([np.full(len(n.times), np.nan) if n.watts is None else n.watts for n in nodes])
    machine = fit(rows, watts)
    most = np.quantile(rows, 0.995, axis=0)
    own = [label == state for state in range(len(emissions.means))]
    rates = np.array([np.median(rows[each], axis=0) for each in own])
    called = told_apart([name_of(scale.names, each, most) for each in rates], scale.names, rates, scale.floor)
    states = [
        State(
            state, called[state], is_idle(scale.names, rates[state], most), rates[state],
            letter_of(scale.names, rows[each], watts[each]), fit(rows[each], watts[each], machine) if machine else None,
        )
        for state, each in enumerate(own)
    ]  # fmt: skip
    alphabet = Alphabet(scale, emissions, tuple(states), (), any(each.simulated for each in series))
    runs = tuple(
        KnownRun(application, node.node, run)
        for application, node in zip(applications, nodes, strict=True)
        for run in without_idle(node.stretches, alphabet.idle)
    )
    return replace(alphabet, runs=runs)
