"""Show what the heartbeats of a run measured: rates, durations, scatter, over time.

    incprof heartbeats ekg-app
    incprof heartbeats ekg-app --id 'solve:*' --time 60:120 --json
    incprof heartbeats ekg-app --csv rows.csv --sqlite heartbeats.sqlite
    incprof heartbeats ekg-base ekg-app --fail-on 'mean>10%'
    incprof heartbeats ekg-app --history ~/app.history --fail-on poor

All ranks and threads together, unless --rank and --thread pick some. A run that is still going on can be read.
`incprof help heartbeats` explains the output.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from incprof.command.helping import expert_flags
from incprof.command.plots import add_plot_argument, check_plot, write_plot
from incprof.command.terminal import text_width, warn
from incprof.errors import PartialDataError
from incprof.safe.printable import say
from incprof.systems.heartbeats.compare_verb import (
    add_against_arguments,
    add_history_arguments,
    check_history,
    refuse_mixture,
    run_compare,
    run_history,
)
from incprof.systems.heartbeats.export_verb import add_file_arguments, check_files, write_files
from incprof.systems.heartbeats.filters import add_filters, filters_of

if TYPE_CHECKING:
    from incprof.study.heartbeats.read import BeatSummary, Heartbeats

NAME = "heartbeats"
WIDTH = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("directory", metavar="DIR", help="run directory, or one .ekg file")
    add_against_arguments(parser)
    add_filters(parser)
    parser.add_argument("--all", action="store_true", help="show every heartbeat, however many there are")
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.heartbeats/1")
    add_file_arguments(parser)
    add_plot_argument(parser, "count and mean duration over time")
    add_history_arguments(parser)
    expert_flags(parser, "--thread", "--parquet", "--sqlite", "--force", "--keep")


def run(args: argparse.Namespace) -> int:
    """Read and summarise the heartbeats, write the files, and print the result."""
    refuse_mixture(args)
    if args.other is not None:
        return run_compare(args, text_width(WIDTH))
    stdout_taken = check_files(args)
    check_plot(args)
    if args.history is not None:
        check_history(args, stdout_taken=stdout_taken)
    from incprof.study.heartbeats.read import later_run, load, run_of, summaries

    found = load(args.directory, filters_of(args))
    warn(found.warnings)
    if later := later_run(args.directory):
        say(f"{shlex.quote(later)} is of a later launch")
    write_files(found, args)
    if not stdout_taken or args.plot is not None:
        beats = summaries(found)
        if args.plot is not None:
            from incprof.systems.heartbeats.heartbeats_plot import write_plot as draw

            write_plot(args, lambda out, form: draw(run_of(found), beats, out, form))
        if args.history is not None:
            return run_history(found, beats, args, text_width(WIDTH))
        if not stdout_taken:
            write(found, beats, args)
    return PartialDataError.exit_code if found.damaged else 0


def write(found: Heartbeats, beats: list[BeatSummary], args: argparse.Namespace) -> None:
    """Print the result in the requested format."""
    from incprof.study.heartbeats.read import run_of

    if args.json:
        from incprof.systems.heartbeats.heartbeats_json import write_json

        write_json(run_of(found), beats, found.warnings, sys.stdout)
    else:
        from incprof.systems.heartbeats.heartbeats_text import write_text

        write_text(run_of(found), beats, sys.stdout, width=text_width(WIDTH), every=args.all)
