"""Run an MPI program and trace its MPI calls, each with its time, partner, bytes and place in the source.

    mpirun -n 4 incprof trace -o run -- ./app input.txt
    incprof trace --show run

incprof replaces itself by the program: its exit status, output and signals are the program's own. The program needs no
-pg; with a profile of the same run, put incprof record behind it. `incprof help trace` has the rest.
"""

from __future__ import annotations

import argparse
import os
import sys

from incprof.errors import PartialDataError, UsageError
from incprof.record.launch import NOT_FOUND, become, find_program
from incprof.record.mpi_wrappers import traced_environment
from incprof.safe.printable import say
from incprof.symbols.elf.preflight import mpi_warning_for

NAME = "trace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = "incprof trace [-o DIR] -- COMMAND [ARGUMENT ...], or incprof trace --show DIR [--rank R] [--json]"
    parser.add_argument("-o", "--output", metavar="DIR", help="run directory (that of incprof record, or trace-<app>)")
    parser.add_argument("--show", metavar="DIR", help="show the calls of a traced run")
    parser.add_argument("--rank", type=int, metavar="R", help="show this rank only")
    parser.add_argument("--json", action="store_true", help="show one JSON object, schema incprof.trace/1")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    """Show a trace, or become the traced program; the latter returns only if it cannot be started."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if args.show is not None:
        if command or args.output:
            raise UsageError("trace: --show takes a run directory, and neither a command nor -o")
        return show(args)
    if args.json or args.rank is not None:
        raise UsageError("trace: --json and --rank are for --show DIR")
    if not command:
        raise UsageError("trace: no command given: incprof trace [-o DIR] -- COMMAND [ARGUMENT ...]")
    program = find_program(command[0])
    if program is None:
        return NOT_FOUND
    environment = {**os.environ, **traced_environment(args.output)}
    warning = mpi_warning_for(program)
    if warning:
        say(warning)
    return become(program, command, environment)


def show(args: argparse.Namespace) -> int:
    """Print the calls of a traced run."""
    from incprof.systems.mpi.call_sums import incompleteness_notes, summarise
    from incprof.systems.mpi.trace_answer import write_json, write_text

    summaries = summarise(args.show, args.rank)
    if args.json:
        write_json(summaries, args.show, sys.stdout)
    else:
        write_text(summaries, sys.stdout)
    for note in incompleteness_notes(summaries):
        say(note)
    damaged = any(each.end.damaged or each.end.torn for each in summaries)
    return PartialDataError.exit_code if damaged else 0
