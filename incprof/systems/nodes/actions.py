"""Actions of `incprof dna`: each reads its input, analyses it and prints the result."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.command.output import write_plot, write_text
from incprof.command.terminal import STDERR, text_width, wants_colour
from incprof.errors import IncprofError

if TYPE_CHECKING:
    from incprof.systems.nodes.answers import Alphabet, NodeStates, Source

FOLLOW_IDLE_S, LETTER_S = 10.0, 15.0
# Greatest number of nodes whose rows are shown in text.
SHOWN = 16


def learn(args: argparse.Namespace) -> int:
    """Learn an alphabet and print its contents."""
    from incprof.systems.nodes.answers import alphabet_of, write_alphabet

    found = alphabet_of(_sources(args), STDERR)
    try:
        write_alphabet(found, args.output)
    except OSError as error:
        raise IncprofError(f"{args.output}: {error.strerror or error}") from None
    if args.json:
        from incprof.systems.nodes.dna_json import write_alphabet as as_json

        as_json(found, sys.stdout)
    else:
        from incprof.systems.nodes.dna_text import write_alphabet as as_text

        as_text(found, args.output, sys.stdout, width=text_width(), colour=wants_colour())
    return 0


def states(args: argparse.Namespace) -> int:
    """Print the states of nodes."""
    if args.method == "paper":
        return _paper(args)
    alphabet, nodes = _found(args, None if args.json else SHOWN)
    if args.plot is not None:
        from incprof.systems.nodes.dna_plot import write_ribbons

        write_plot(args, lambda out, form: write_ribbons(alphabet, nodes, out, form))
    if args.json:
        from incprof.systems.nodes.dna_json import write_states as as_json

        as_json(alphabet, nodes, sys.stdout)
    else:
        from incprof.systems.nodes.dna_text import write_states as as_text

        as_text(alphabet, nodes, sys.stdout, width=text_width(), colour=wants_colour())
    return 0


def _paper(args: argparse.Namespace) -> int:
    """Print the phases of Algorithm 1."""
    from incprof.systems.nodes.answers import Source, idle_threshold, paper_states, series_of

    series, _ = series_of(_sources(args), STDERR)
    way = "regression" if args.regression else "correlation"
    beta = idle_threshold(Source.of(args.idle_run), STDERR) if args.idle_run else None
    found = [paper_states(each, ranked=bool(args.ranked), way=way, beta=beta) for each in series]
    if args.json:
        from incprof.systems.nodes.dna_json import write_paper as write
    else:
        from incprof.systems.nodes.dna_text import write_paper as write
    write(found, sys.stdout)
    return 0


def letters(args: argparse.Namespace) -> int:
    """Convert runs to the paper's letters, and predict each from others."""
    from incprof.systems.nodes.answers import LetterOptions, Source, idle_threshold, letters_of

    beta = idle_threshold(Source.of(args.idle_run), STDERR) if args.idle_run else None
    way = "regression" if args.regression else "correlation"
    options = LetterOptions(args.length or LETTER_S, bool(args.ranked), way, beta)
    found = letters_of(_sources(args), [Source.of(text) for text in args.test or ()], options, STDERR)
    if args.plot is not None:
        from incprof.systems.nodes.dna_plot import write_misses

        write_plot(args, lambda out, form: write_misses(found, out, form))
    if args.json:
        from incprof.systems.nodes.dna_json import write_letters as as_json

        as_json(found, sys.stdout)
    else:
        from incprof.systems.nodes.dna_text import write_letters as as_text

        as_text(found, sys.stdout, width=text_width(), colour=wants_colour())
    return 0


def follow(args: argparse.Namespace) -> int:
    """Print the state of a node as rows arrive: every row in JSON, only changes in text."""
    from incprof.report.json.writing import write
    from incprof.systems.nodes.answers import follow as rows
    from incprof.systems.nodes.answers import read_alphabet
    from incprof.systems.nodes.dna_json import now_object
    from incprof.systems.nodes.dna_text import now_line

    alphabet = read_alphabet(args.alphabet)
    for now in rows(args.files[0], alphabet, FOLLOW_IDLE_S if args.idle is None else args.idle):
        if args.json:
            write(now_object(alphabet, now), sys.stdout)
            sys.stdout.flush()
        elif now.changed:
            print(now_line(alphabet, now), flush=True)
    return 0


def match(args: argparse.Namespace) -> int:
    """Print which applications the beginning of a run resembles."""
    from incprof.systems.nodes.answers import matches_of, read_alphabet

    found = matches_of(_sources(args)[0], read_alphabet(args.alphabet), STDERR)
    if args.json:
        from incprof.systems.nodes.dna_json import write_matches as write
    else:
        from incprof.systems.nodes.dna_text import write_matches as write
    write(found, sys.stdout)
    return 0


def energy(args: argparse.Namespace) -> int:
    """Print the estimated energy of a run, from its beginning."""
    from incprof.systems.nodes.answers import energy_of, read_alphabet

    found = energy_of(_sources(args)[0], read_alphabet(args.alphabet), args.application, STDERR)
    if args.json:
        from incprof.systems.nodes.dna_json import write_energy as write
    else:
        from incprof.systems.nodes.dna_text import write_energy as write
    write(found, sys.stdout)
    return 0


def graph(args: argparse.Namespace) -> int:
    """Print the states of a system and their transitions."""
    from incprof.systems.nodes.answers import graph_of

    alphabet, nodes = _found(args, 0)
    found = graph_of(alphabet, nodes)
    if args.plot is not None:
        from incprof.systems.nodes.dna_plot import write_graph as draw

        write_plot(args, lambda out, form: draw(alphabet, found, out, form))
    if args.dot:
        from incprof.systems.nodes.dna_plot import write_dot

        write_text(args.output or "-", lambda out: write_dot(alphabet, found, out))
    if args.json:
        from incprof.systems.nodes.dna_json import write_graph as as_json

        as_json(alphabet, found, sys.stdout)
    elif not args.dot or args.output not in (None, "-"):
        from incprof.systems.nodes.dna_text import write_graph as as_text

        as_text(alphabet, found, sys.stdout)
    return 0


def _sources(args: argparse.Namespace) -> list[Source]:
    from incprof.systems.nodes.answers import Source

    return [Source.of(text) for text in args.files]


def _found(args: argparse.Namespace, rows: int | None) -> tuple[Alphabet, list[NodeStates]]:
    """Return the alphabet selected, and the states of all nodes by it. rows: number of files with rows; None: all."""
    from incprof.study import StudyOptions
    from incprof.systems.nodes.answers import alphabet_of, read_alphabet, states_of

    sources = _sources(args)
    alphabet = read_alphabet(args.alphabet) if args.alphabet else alphabet_of(sources, STDERR)
    return alphabet, states_of(sources, alphabet, StudyOptions(jobs=args.jobs or 0, dask=args.dask), STDERR, rows=rows)
