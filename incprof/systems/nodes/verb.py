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

from incprof.command.helping import expert, expert_flags
from incprof.command.output import add_plot_argument, check_plot, check_target
from incprof.errors import IncprofError, UsageError
from incprof.record.settings import time

NAME = "dna"
ACTIONS = ("learn", "states", "letters", "follow", "match", "energy", "graph")
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
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
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
    from incprof.systems.nodes.run_answers import ACTIONS

    try:
        ACTIONS[args.action](args)
    except MemoryError:
        raise IncprofError(f"{args.files[0]}: not enough memory: take fewer files at once") from None
    return 0


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
