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
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from incprof.errors import IncprofError, NoDataError, PartialDataError, UsageError
from incprof.record import launch
from incprof.safe.printable import say
from incprof.systems.openmp.analyse import LoopRun

if TYPE_CHECKING:
    from incprof.systems.openmp.sections import Analyst, Progress

NAME = "selfanalyze"
MOST_THREADS = 4096
MOST_DIRECTORIES = 10000
EVERY_S = 1.0
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def count(text: str) -> int:
    """Parse a number of threads or iterations.

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
    """Run the program, or read an earlier run, and report on it."""
    from incprof.systems.openmp.read import read_loops
    from incprof.systems.openmp.sections import Analyst

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
    """Return the directory of selfanalyze.h and selfanalyze.f90.

    Raises: IncprofError if they are missing.
    """
    # Next to lib in a wheel, and under any prefix, even if the library's directory contains the machine's name.
    library = launch.find_loop_library(os.environ)
    for parent in library.parents[1:3]:
        if (parent / "include" / "selfanalyze.h").is_file():
            return parent / "include"
    raise IncprofError(f"selfanalyze.h is not where {library} was installed; install incprof again")


def earlier(words: list[str]) -> str:
    """Return the directory given instead of a command."""
    if len(words) > 1:
        raise UsageError(
            "selfanalyze: a command comes after --: incprof selfanalyze [settings] -- COMMAND [ARGUMENT ...]"
        )
    return words[0]


def report_earlier(args: argparse.Namespace, analyst: Analyst, runs: list[LoopRun]) -> int:
    """Report a run from its directory."""
    write(args, analyst, runs, args.command[0], None)
    return PartialDataError.exit_code if runs[0].damaged else 0


def write(args: argparse.Namespace, analyst: Analyst, runs: list[LoopRun], directory: str, status: int | None) -> None:
    """Print the report of the process with the most parallel regions."""
    from incprof.systems.openmp.sections import write_json, write_text

    answer = analyst.answer(runs[0], directory, status)
    if args.json:
        write_json(answer, sys.stdout)
    else:
        write_text(answer, sys.stdout if status is None else sys.stderr)
    if len(runs) > 1:
        say(f"{len(runs) - 1} more processes in {directory}")
    for note in answer.notes:
        say(note)


def new_directory(name_given: str | None, program: str) -> str:
    """Create the run's directory: the given name, with .1, .2, ... appended if it exists."""
    stem = name_given or f"selfanalyze-{Path(program).name}"
    for number in range(MOST_DIRECTORIES):
        path = Path(f"{stem}.{number}" if number else stem)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return str(path)
    raise UsageError(f"{stem}: too many run directories: give another name with -o")


def settings(fewer_threads: int | None) -> dict[str, str]:
    """Return the environment of the program, except for the directory."""
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


def run_program(
    command: list[str],
    variables: dict[str, str],
    directory: str,
    analyst: Analyst,
    *,
    live: bool,
    output_to_stderr: bool,
) -> int:
    """Run a command to its end; return its exit status as in a shell. `live`: print a line a second on stderr."""
    program = launch.find_program(command[0])
    if program is None:
        return launch.NOT_FOUND
    sys.stdout.flush()
    stdout = sys.stderr if output_to_stderr else None
    try:
        process = subprocess.Popen(command, executable=program, env={**os.environ, **variables}, stdout=stdout)
    except OSError as error:
        say(f"{command[0]}: cannot be run: {error.strerror}")
        return launch.NOT_FOUND if isinstance(error, FileNotFoundError) else launch.NOT_EXECUTABLE
    progress = None
    if live:
        from incprof.systems.openmp.sections import Progress

        progress = Progress(directory, analyst)
    with passed_on_to(process):
        wait(process, progress)
    status = process.returncode
    return status if status >= 0 else 128 - status


@contextmanager
def passed_on_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass on signals for the program; those of the terminal reach it anyway."""
    before = {number: signal.signal(number, lambda got, _: process.send_signal(got)) for number in PASSED_ON}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    before[signal.SIGQUIT] = signal.signal(signal.SIGQUIT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait(process: subprocess.Popen[bytes], progress: Progress | None) -> None:
    """Wait until the program has ended."""
    while progress is not None:
        try:
            process.wait(EVERY_S)
        except subprocess.TimeoutExpired:
            show(progress)
        else:
            return
    process.wait()


def show(progress: Progress) -> None:
    """Print the program's progress once it has loops."""
    from incprof.systems.openmp.sections import progress_words

    answer = progress.poll()
    if answer is not None and answer.loops:
        say(f"{answer.run.end_s:.1f} s: {progress_words(answer.loops[0])}")
