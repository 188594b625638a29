"""Run an OpenMP program and time the loops around its parallel regions, found while it runs.

    incprof selfanalyze -o two --measure-baseline 1 -- ./app input.txt
    incprof selfanalyze --baseline one -- ./app input.txt
    incprof selfanalyze two

The report goes to stderr after the program's end; of an earlier run (its directory given instead of a command), to
stdout. The exit status is the program's. With --json the report goes to stdout, and the program's own output to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from incprof import launch
from incprof.errors import IncprofError, NoDataError, PartialDataError, UsageError
from incprof.model.loops import LoopRun
from incprof.printable import say

NAME = "selfanalyze"
MOST_THREADS = 4096
MOST_DIRECTORIES = 10000


def count(text: str) -> int:
    """A number of threads or iterations.

    Raises: ArgumentTypeError for anything but a whole number above 0.
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 0 < value < 1 << 53:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = "incprof selfanalyze [settings] -- COMMAND [ARGUMENT ...], or incprof selfanalyze [settings] DIR"
    parser.add_argument("-o", "--output", metavar="DIR", help="run directory (selfanalyze-<app>)")
    base = parser.add_mutually_exclusive_group()
    base.add_argument("--baseline", metavar="DIR", help="an earlier run, with another number of threads")
    base.add_argument(
        "--measure-baseline", type=count, metavar="N", help="run a few iterations of each loop with N threads"
    )
    parser.add_argument("--iterations", type=count, metavar="N", help="iterations that a loop has in a whole run")
    parser.add_argument(
        "--loop", metavar="NAME", help="the loop of --iterations, as the table names it (default: the one that fits)"
    )
    parser.add_argument("--live", action="store_true", help="print the progress on stderr every second")
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.selfanalyze/1")
    parser.add_argument(
        "--include", action="store_true", help="print the directory of selfanalyze.h and selfanalyze.f90"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    """Run the program, or read an earlier run, and report."""
    from incprof.commands.selfanalyze.program import run_program
    from incprof.study.loops import Analyst, read_loops

    words = args.command
    if args.include:
        print(include_directory())
        return 0
    if not words or words == ["--"]:
        raise UsageError("selfanalyze: no command given: incprof selfanalyze [settings] -- COMMAND [ARGUMENT ...]")
    baseline = read_loops(args.baseline)[0] if args.baseline else None
    analyst = Analyst(baseline, args.iterations, args.loop)
    if words[0] != "--":
        return report_earlier(args, analyst, read_loops(earlier(words)))
    variables = settings(args.measure_baseline)
    directory = new_directory(args.output, words[1])
    variables["SELFANALYZE_DIR"] = os.path.abspath(directory)
    status = run_program(words[1:], variables, directory, analyst, live=args.live, output_to_stderr=args.json)
    try:
        runs = read_loops(directory)
    except NoDataError as error:
        say(str(error))
        with contextlib.suppress(OSError):
            os.rmdir(directory)
        return status
    write(args, analyst, runs, directory, status)
    return status


def include_directory() -> Path:
    """Where selfanalyze.h and selfanalyze.f90 were installed.

    Raises: IncprofError when they are not there.
    """
    # Beside lib in a wheel, and under any prefix, also where the library's directory has the machine in its name.
    library = launch.find_loop_library(os.environ)
    for parent in library.parents[1:3]:
        if (parent / "include" / "selfanalyze.h").is_file():
            return parent / "include"
    raise IncprofError(f"selfanalyze.h is not where {library} was installed; install incprof again")


def earlier(words: list[str]) -> str:
    """The directory that was given instead of a command."""
    if len(words) > 1:
        raise UsageError(
            "selfanalyze: a command comes after --: incprof selfanalyze [settings] -- COMMAND [ARGUMENT ...]"
        )
    return words[0]


def report_earlier(args: argparse.Namespace, analyst: object, runs: list[LoopRun]) -> int:
    """Report a run from its directory."""
    write(args, analyst, runs, args.command[0], None)
    return PartialDataError.exit_code if runs[0].damaged else 0


def write(args: argparse.Namespace, analyst: object, runs: list[LoopRun], directory: str, status: int | None) -> None:
    """Print the report of the process with the most parallel regions."""
    from incprof.report.json.loops import write_json
    from incprof.report.text.loops import write_text
    from incprof.study.loops import Analyst

    assert isinstance(analyst, Analyst)
    answer = analyst.answer(runs[0], directory, status)
    if args.json:
        write_json(answer, sys.stdout)
    else:
        write_text(answer, sys.stdout if status is None else sys.stderr)
    if len(runs) > 1:
        say(f"{len(runs) - 1} more processes in {directory}")
    for note in answer.notes:
        say(note)


def new_directory(given: str | None, program: str) -> str:
    """Make the run's directory: the name that was given, or with .1, .2, ... where there is one already."""
    stem = given or f"selfanalyze-{Path(program).name}"
    for number in range(MOST_DIRECTORIES):
        path = Path(f"{stem}.{number}" if number else stem)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return str(path)
    raise UsageError(f"{stem}: too many run directories: give another name with -o")


def settings(fewer_threads: int | None) -> dict[str, str]:
    """The environment of the program, but for the directory."""
    if fewer_threads is not None and fewer_threads > MOST_THREADS:
        raise UsageError(f"--measure-baseline {fewer_threads}: at most {MOST_THREADS} threads")
    library = launch.find_loop_library(os.environ)
    variables = {
        "LD_PRELOAD": launch.preload_value(library, os.environ.get("LD_PRELOAD", "")),
        "SELFANALYZE_JOIN": "1",
    }
    if fewer_threads is not None:
        variables["SELFANALYZE_BASELINE"] = str(fewer_threads)
    return variables
