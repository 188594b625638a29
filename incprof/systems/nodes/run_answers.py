"""Actions of `incprof dna`: each reads its input, analyses it and prints the result."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TextIO

import numpy as np

from incprof.command.output import write_plot, write_text
from incprof.command.terminal import STDERR, text_width, wants_colour
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model.series import NodeSeries
from incprof.readers.series.text_tables import followed, name_of
from incprof.report.render.json import write
from incprof.study import StudyOptions
from incprof.study.phase_options import Listener
from incprof.systems.nodes import dna_answer, dna_plot, paper_answer
from incprof.systems.nodes.analyse.comparable_rates import counters_of
from incprof.systems.nodes.analyse.energy_forecast import Match, estimate, match
from incprof.systems.nodes.analyse.learn import common_counters, decoded
from incprof.systems.nodes.analyse.live import Live, Now
from incprof.systems.nodes.analyse.node_states import Alphabet, Graph, NodeStates, graph, without_idle
from incprof.systems.nodes.analyse.paper import PaperStates, phases_but_idle
from incprof.systems.nodes.analyse.paper_letters import LetterOptions, PaperLetters, Recording, paper_letters
from incprof.systems.nodes.analyse.power import idle_below, misses_per_cycle
from incprof.systems.nodes.analyse.spelling import one_of_set, rows_of
from incprof.systems.nodes.node_answers import (
    Source,
    alphabet_of,
    read_alphabet,
    series_of,
    states_of,
    write_alphabet,
)
from incprof.systems.nodes.read import growing_rows

FOLLOW_IDLE_S, LETTER_S = 10.0, 15.0
# Greatest number of nodes whose rows are shown in text.
SHOWN = 16


def learn(args: argparse.Namespace) -> None:
    """Learn an alphabet and print its contents."""
    alphabet = alphabet_of(_sources(args), STDERR)
    try:
        write_alphabet(alphabet, args.output)
    except OSError as error:
        raise IncprofError(f"{args.output}: {error.strerror or error}") from None
    _print(
        args,
        lambda: dna_answer.alphabet_json(alphabet),
        lambda out: dna_answer.write_alphabet(alphabet, args.output, out, width=text_width(), colour=wants_colour()),
    )


def states(args: argparse.Namespace) -> None:
    """Print the states of nodes: ours, or the phases of the paper's Algorithm 1."""
    if args.method == "paper":
        series, _ = series_of(_sources(args), STDERR)
        beta, select = _beta(args), _select(args)
        paper = [paper_states(each, ranked=bool(args.ranked), select=select, beta=beta) for each in series]
        _print(args, lambda: paper_answer.paper_json(paper), lambda out: paper_answer.write_paper(paper, out))
        return
    alphabet, nodes = _decoded(args, None if args.json else SHOWN)
    if args.plot is not None:
        write_plot(args, lambda out, form: dna_plot.write_ribbons(alphabet, nodes, out, form))
    _print(
        args,
        lambda: dna_answer.states_json(alphabet, nodes),
        lambda out: dna_answer.write_states(alphabet, nodes, out, width=text_width(), colour=wants_colour()),
    )


def letters(args: argparse.Namespace) -> None:
    """Convert runs to the paper's letters, and predict each from others."""
    options = LetterOptions(args.length or LETTER_S, bool(args.ranked), _select(args), _beta(args))
    answer = letters_of(_sources(args), [Source.of(text) for text in args.test or ()], options, STDERR)
    if args.plot is not None:
        write_plot(args, lambda out, form: dna_plot.write_misses(answer, out, form))
    _print(
        args,
        lambda: paper_answer.letters_json(answer),
        lambda out: paper_answer.write_letters(answer, out, width=text_width(), colour=wants_colour()),
    )


def follow(args: argparse.Namespace) -> None:
    """Print the state of a node as rows arrive: every row in JSON, only changes in text."""
    alphabet = read_alphabet(args.alphabet)
    for now in states_as_they_come(args.files[0], alphabet, FOLLOW_IDLE_S if args.idle is None else args.idle):
        if args.json:
            write(dna_answer.now_json(alphabet, now), sys.stdout)
            sys.stdout.flush()
        elif now.changed:
            print(dna_answer.now_line(alphabet, now), flush=True)


def match_applications(args: argparse.Namespace) -> None:
    """Print which applications the beginning of a run resembles."""
    matches = matches_of(_sources(args)[0], read_alphabet(args.alphabet), STDERR)
    _print(args, lambda: dna_answer.matches_json(matches), lambda out: dna_answer.write_matches(matches, out))


def energy(args: argparse.Namespace) -> None:
    """Print the estimated energy of a run, from its beginning."""
    forecast = estimate(_one(_sources(args)[0], STDERR), read_alphabet(args.alphabet), args.application)
    _print(args, lambda: dna_answer.energy_json(forecast), lambda out: dna_answer.write_energy(forecast, out))


def show_graph(args: argparse.Namespace) -> None:
    """Print the states of a system and their transitions."""
    alphabet, nodes = _decoded(args, 0)
    system = graph_of(alphabet, nodes)
    if args.plot is not None:
        write_plot(args, lambda out, form: dna_plot.write_graph(alphabet, system, out, form))
    if args.dot:
        write_text(args.output or "-", lambda out: dna_plot.write_dot(alphabet, system, out))
    if args.json or not args.dot or args.output not in (None, "-"):
        _print(
            args,
            lambda: dna_answer.graph_json(alphabet, system),
            lambda out: dna_answer.write_graph(alphabet, system, out),
        )


ACTIONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "learn": learn, "states": states, "letters": letters, "follow": follow, "match": match_applications,
    "energy": energy, "graph": show_graph,
}  # fmt: skip


def _print(args: argparse.Namespace, as_json: Callable[[], dna_answer.Json], as_text: Callable[[TextIO], None]) -> None:
    """Print an answer in the requested format."""
    if args.json:
        write(as_json(), sys.stdout)
    else:
        as_text(sys.stdout)


def _sources(args: argparse.Namespace) -> list[Source]:
    return [Source.of(text) for text in args.files]


def _select(args: argparse.Namespace) -> str:
    return "regression" if args.regression else "correlation"


def _beta(args: argparse.Namespace) -> float | None:
    return idle_threshold(Source.of(args.idle_run), STDERR) if args.idle_run else None


def _decoded(args: argparse.Namespace, rows: int | None) -> tuple[Alphabet, list[NodeStates]]:
    """Return the alphabet selected, and the states of all nodes by it. rows: number of files with rows; None: all."""
    sources = _sources(args)
    alphabet = read_alphabet(args.alphabet) if args.alphabet else alphabet_of(sources, STDERR)
    return alphabet, states_of(sources, alphabet, StudyOptions(jobs=args.jobs or 0, dask=args.dask), STDERR, rows=rows)


# Runs of a node or a system: the paper's phases, similar applications, and graph of states.


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


def states_as_they_come(path: str, alphabet: Alphabet, idle_s: float) -> Iterator[Now]:
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
