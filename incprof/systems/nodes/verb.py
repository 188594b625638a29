"""Find the states of nodes, their next states and energy, from counters and power alone.

    incprof dna learn lu=lu1.csv lu=lu2.csv cg=cg1.csv -o alphabet.json
    incprof dna states node7.csv --alphabet alphabet.json --plot node7.svg
    incprof dna states node7.csv                               # the states of these nodes alone
    incprof dna letters lu-*.csv is-*.csv                      # the paper's letters of 15 s, and what they predict
    incprof sample --system -o - | incprof dna follow - --alphabet alphabet.json
    incprof dna match beginning.csv --alphabet alphabet.json
    incprof dna energy beginning.csv --alphabet alphabet.json
    incprof dna graph node*.csv --alphabet alphabet.json --plot system.svg

Files are those of incprof sample --system, CSV, Parquet, perf stat -I, LDMS or Prometheus: `incprof help nodes`.
`incprof help dna` explains input and output.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from incprof.command.helping import expert, expert_flags
from incprof.command.output import add_plot_argument, check_plot, check_target, write_plot, write_text
from incprof.command.terminal import STDERR, text_width, wants_colour
from incprof.errors import IncprofError, UsageError
from incprof.record.settings import time

if TYPE_CHECKING:
    from incprof.systems.nodes.analyse.node_states import Alphabet, NodeStates
    from incprof.systems.nodes.node_answers import Source


# Actions of `incprof dna`: each reads its input, analyses it and prints the result.


FOLLOW_IDLE_S, LETTER_S = 10.0, 15.0
# Greatest number of nodes whose rows are shown in text.
SHOWN = 16


def learn(args: argparse.Namespace) -> int:
    """Learn an alphabet and print its contents."""
    from incprof.report.render.json import write
    from incprof.systems.nodes import dna_answer
    from incprof.systems.nodes.node_answers import alphabet_of, write_alphabet

    alphabet = alphabet_of(_sources(args), STDERR)
    try:
        write_alphabet(alphabet, args.output)
    except OSError as error:
        raise IncprofError(f"{args.output}: {error.strerror or error}") from None
    if args.json:
        write(dna_answer.alphabet_json(alphabet), sys.stdout)
    else:
        dna_answer.write_alphabet(alphabet, args.output, sys.stdout, width=text_width(), colour=wants_colour())
    return 0


def states(args: argparse.Namespace) -> int:
    """Print the states of nodes."""
    from incprof.report.render.json import write
    from incprof.systems.nodes import dna_answer

    if args.method == "paper":
        return _paper(args)
    alphabet, nodes = _decoded(args, None if args.json else SHOWN)
    if args.plot is not None:
        from incprof.systems.nodes.dna_plot import write_ribbons

        write_plot(args, lambda out, form: write_ribbons(alphabet, nodes, out, form))
    if args.json:
        write(dna_answer.states_json(alphabet, nodes), sys.stdout)
    else:
        dna_answer.write_states(alphabet, nodes, sys.stdout, width=text_width(), colour=wants_colour())
    return 0


def _paper(args: argparse.Namespace) -> int:
    """Print the phases of Algorithm 1."""
    from incprof.report.render.json import write
    from incprof.systems.nodes import paper_answer
    from incprof.systems.nodes.node_answers import Source, series_of
    from incprof.systems.nodes.run_answers import idle_threshold, paper_states

    series, _ = series_of(_sources(args), STDERR)
    select = "regression" if args.regression else "correlation"
    beta = idle_threshold(Source.of(args.idle_run), STDERR) if args.idle_run else None
    nodes = [paper_states(each, ranked=bool(args.ranked), select=select, beta=beta) for each in series]
    if args.json:
        write(paper_answer.paper_json(nodes), sys.stdout)
    else:
        paper_answer.write_paper(nodes, sys.stdout)
    return 0


def letters(args: argparse.Namespace) -> int:
    """Convert runs to the paper's letters, and predict each from others."""
    from incprof.report.render.json import write
    from incprof.systems.nodes import paper_answer
    from incprof.systems.nodes.analyse.paper_letters import LetterOptions
    from incprof.systems.nodes.node_answers import Source
    from incprof.systems.nodes.run_answers import idle_threshold, letters_of

    beta = idle_threshold(Source.of(args.idle_run), STDERR) if args.idle_run else None
    select = "regression" if args.regression else "correlation"
    options = LetterOptions(args.length or LETTER_S, bool(args.ranked), select, beta)
    answer = letters_of(_sources(args), [Source.of(text) for text in args.test or ()], options, STDERR)
    if args.plot is not None:
        from incprof.systems.nodes.dna_plot import write_misses

        write_plot(args, lambda out, form: write_misses(answer, out, form))
    if args.json:
        write(paper_answer.letters_json(answer), sys.stdout)
    else:
        paper_answer.write_letters(answer, sys.stdout, width=text_width(), colour=wants_colour())
    return 0


def follow(args: argparse.Namespace) -> int:
    """Print the state of a node as rows arrive: every row in JSON, only changes in text."""
    from incprof.report.render.json import write
    from incprof.systems.nodes.dna_answer import now_json, now_line
    from incprof.systems.nodes.node_answers import read_alphabet
    from incprof.systems.nodes.run_answers import follow as rows

    alphabet = read_alphabet(args.alphabet)
    for now in rows(args.files[0], alphabet, FOLLOW_IDLE_S if args.idle is None else args.idle):
        if args.json:
            write(now_json(alphabet, now), sys.stdout)
            sys.stdout.flush()
        elif now.changed:
            print(now_line(alphabet, now), flush=True)
    return 0


def match(args: argparse.Namespace) -> int:
    """Print which applications the beginning of a run resembles."""
    from incprof.report.render.json import write
    from incprof.systems.nodes import dna_answer
    from incprof.systems.nodes.node_answers import read_alphabet
    from incprof.systems.nodes.run_answers import matches_of

    matches = matches_of(_sources(args)[0], read_alphabet(args.alphabet), STDERR)
    if args.json:
        write(dna_answer.matches_json(matches), sys.stdout)
    else:
        dna_answer.write_matches(matches, sys.stdout)
    return 0


def energy(args: argparse.Namespace) -> int:
    """Print the estimated energy of a run, from its beginning."""
    from incprof.report.render.json import write
    from incprof.systems.nodes import dna_answer
    from incprof.systems.nodes.node_answers import read_alphabet
    from incprof.systems.nodes.run_answers import energy_of

    estimate = energy_of(_sources(args)[0], read_alphabet(args.alphabet), args.application, STDERR)
    if args.json:
        write(dna_answer.energy_json(estimate), sys.stdout)
    else:
        dna_answer.write_energy(estimate, sys.stdout)
    return 0


def graph(args: argparse.Namespace) -> int:
    """Print the states of a system and their transitions."""
    from incprof.report.render.json import write
    from incprof.systems.nodes import dna_answer
    from incprof.systems.nodes.run_answers import graph_of

    alphabet, nodes = _decoded(args, 0)
    system = graph_of(alphabet, nodes)
    if args.plot is not None:
        from incprof.systems.nodes.dna_plot import write_graph as draw

        write_plot(args, lambda out, form: draw(alphabet, system, out, form))
    if args.dot:
        from incprof.systems.nodes.dna_plot import write_dot

        write_text(args.output or "-", lambda out: write_dot(alphabet, system, out))
    if args.json:
        write(dna_answer.graph_json(alphabet, system), sys.stdout)
    elif not args.dot or args.output not in (None, "-"):
        dna_answer.write_graph(alphabet, system, sys.stdout)
    return 0


def _sources(args: argparse.Namespace) -> list[Source]:
    from incprof.systems.nodes.node_answers import Source

    return [Source.of(text) for text in args.files]


def _decoded(args: argparse.Namespace, rows: int | None) -> tuple[Alphabet, list[NodeStates]]:
    """Return the alphabet selected, and the states of all nodes by it. rows: number of files with rows; None: all."""
    from incprof.study import StudyOptions
    from incprof.systems.nodes.node_answers import alphabet_of, read_alphabet, states_of

    sources = _sources(args)
    alphabet = read_alphabet(args.alphabet) if args.alphabet else alphabet_of(sources, STDERR)
    return alphabet, states_of(sources, alphabet, StudyOptions(jobs=args.jobs or 0, dask=args.dask), STDERR, rows=rows)


NAME = "dna"
ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "learn": learn, "states": states, "letters": letters, "follow": follow, "match": match, "energy": energy,
    "graph": graph,
}  # fmt: skip
# Options that only some actions accept.
ACTION_OPTIONS = {
    "output": ("learn", "graph"), "plot": ("states", "letters", "graph"), "method": ("states",),
    "ranked": ("states", "letters"), "regression": ("states", "letters"), "idle_run": ("states", "letters"),
    "length": ("letters",), "test": ("letters",), "dot": ("graph",), "idle": ("follow",),
    "application": ("energy",), "jobs": ("states", "graph"), "dask": ("states", "graph"),
}  # fmt: skip
NEED_ALPHABET = ("follow", "match", "energy")
OF_PAPER = ("ranked", "regression", "idle_run")
LONGEST_LETTER_S = 86400.0
NEED_ONE = ("follow", "match", "energy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("action", choices=tuple(ACTIONS), metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("files", nargs="+", metavar="[APP=]FILE", help="rows of nodes; APP is the application in them")
    parser.add_argument(
        "--alphabet", metavar="FILE", help="what learn has written (states, graph: learnt from the files)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="learn: where the alphabet goes; graph: where --dot goes"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.dna/1; follow: one a row")
    add_plot_argument(parser, "states over power, the graph of states, or (letters) cache misses of each run")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--dot", action="store_const", const=True, help="graph: as text for Graphviz")
    parser.add_argument(
        "--application", metavar="NAME", help="energy: the application to compare with (default: the most similar)"
    )
    parser.add_argument(
        "--method", choices=("states", "paper"), help="states: by noise, or the paper's letters (states)"
    )
    parser.add_argument("--length", type=time, metavar="T", help="letters: duration of a letter (default: 15s)")
    parser.add_argument(
        "--test", action="append", metavar="[APP=]FILE",
        help="letters: a run to predict by those in FILE (each of these by the others); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--idle", type=time, metavar="T", help="follow: end after this time without a new line (default: 10s)"
    )
    expert(
        parser.add_argument(
            "--ranked", action="store_const", const=True, help="paper: letters differ by their order too"
        ),
        parser.add_argument(
            "--regression", action="store_const", const=True, help="paper: counters of 5 %% significance"
        ),
        parser.add_argument(
            "--idle-run", metavar="FILE", help="paper: recording of an idle node; rows like it get the letter XXX"
        ),
        parser.add_argument(
            "--jobs",
            type=int,
            metavar="N",
            help="number of processes; does not affect the result (default: one per core)",
        ),
        parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler whose workers read the files"),
    )
    expert_flags(parser, "--dot")


def run(args: argparse.Namespace) -> int:
    """Check the arguments and run the action."""
    _check(args)
    try:
        return ACTIONS[args.action](args)
    except MemoryError:
        raise IncprofError(f"{args.files[0]}: not enough memory: take fewer files at once") from None


def _check(args: argparse.Namespace) -> None:
    """Refuse arguments that exclude each other, before anything is read.

    Raises: UsageError.
    """
    for option, actions in ACTION_OPTIONS.items():
        if getattr(args, option) is not None and args.action not in actions:
            raise UsageError(f"--{option.replace('_', '-')} is for {' and '.join(actions)}, not for {args.action}")
    if args.action in NEED_ALPHABET and args.alphabet is None:
        raise UsageError(f"{args.action} needs --alphabet FILE: incprof dna learn RUNS... -o FILE makes one")
    if args.action in NEED_ONE and len(args.files) > 1:
        raise UsageError(f"{args.action} takes one file")
    _check_output(args)
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: expected a number from 1")
    if args.idle is not None and not 0 <= args.idle < 1e9:
        raise UsageError(f"--idle {args.idle:g}: expected seconds from 0 on")
    for option in OF_PAPER:
        if getattr(args, option) and args.action == "states" and args.method != "paper":
            raise UsageError(f"--{option.replace('_', '-')} is for --method paper")
    if args.method == "paper" and (args.plot or args.alphabet):
        raise UsageError(f"--{'plot' if args.plot else 'alphabet'} does not go with --method paper")
    if args.action == "letters" and args.alphabet is not None:
        raise UsageError("letters makes its own alphabet from FILE: leave --alphabet out")
    if args.length is not None and not 0 < args.length <= LONGEST_LETTER_S:
        raise UsageError(f"--length {args.length:g}: expected more than 0 s, and at most {LONGEST_LETTER_S:g} s")
    check_plot(args)


def _check_output(args: argparse.Namespace) -> None:
    """Refuse output files that do not fit the action.

    Raises: UsageError.
    """
    if args.action == "learn":
        if args.alphabet is not None:
            raise UsageError("learn writes an alphabet: name it with -o; --alphabet is for the other actions")
        if args.output in (None, "-"):
            raise UsageError("learn needs -o FILE: where the alphabet goes")
    if args.action == "graph" and args.output is not None and not args.dot:
        raise UsageError("-o is where --dot goes: give --dot")
    if args.output is not None:
        check_target(args.output, force=args.force, binary=False)
    if args.dot and args.json and args.output in (None, "-"):
        raise UsageError("--dot and --json would both go to stdout: give --dot a file with -o")
