"""What the verbs that read a run have in common: their arguments, reading with progress, warnings and exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, cast

from incprof.errors import PartialDataError, UsageError
from incprof.model import IntervalProfile, Run
from incprof.printable import say, unfiltered
from incprof.readers import open_run, read_profile

Libs = Literal["caller", "separate", "drop"]
LIBS = ("caller", "separate", "drop")


def add_run_arguments(parser: argparse.ArgumentParser, *, optional: bool = False, metavar: str = "DIR") -> None:
    """Declare the arguments that say which profile is meant. optional: there may be none, and DIR is None then."""
    parser.add_argument("directory", nargs="?" if optional else None, metavar=metavar, help="run directory")
    parser.add_argument("--rank", type=int, metavar="R", help="rank to look at (default: the lowest)")
    parser.add_argument("--pid", type=int, metavar="P", help="a process that the rank forked, not the rank's own")
    parser.add_argument("--exe", metavar="FILE", help="the program, if it is not where it was recorded")
    parser.add_argument("--libs", choices=LIBS, help="time in libraries: the caller's, their own, or none (caller)")


def chosen_libs(flag: str | None) -> Libs:
    """Return how library time is counted: the flag, else INCPROF_LIBS, else "caller".

    Raises:
        UsageError: INCPROF_LIBS holds something else.
    """
    value = flag or os.environ.get("INCPROF_LIBS") or "caller"
    if value not in LIBS:
        raise UsageError(f"INCPROF_LIBS={value!r}: expected one of {', '.join(LIBS)}")
    return cast(Libs, value)


def load(args: argparse.Namespace, *, nameless: bool = False) -> tuple[Run, IntervalProfile]:
    """Read the profile that the arguments mean, with progress on a terminal.

    Inlined functions are looked up, unless the paper's method is asked for: it knows none. nameless: a program without
    symbols is one nameless function, and no error.
    """
    run = open_run(args.directory, exe=args.exe)
    libs = chosen_libs(args.libs)
    with progress("reading") as report:
        inlined = getattr(args, "method", "robust") != "paper"
        profile = read_profile(
            run, rank=args.rank, process=args.pid, libs=libs, exe=args.exe, inlined=inlined, nameless=nameless,
            progress=report,
        )  # fmt: skip
    if args.pid is None and not profile.self_s.sum():
        warn(tuple(_children(run, profile.metadata.rank)))
    return run, profile


def _children(run: Run, rank: int) -> Iterator[str]:
    """Say that a rank without samples has forked others, if so."""
    pids = [str(process.pid) for process in run.processes if process.rank == rank and not process.primary]
    if pids:
        yield f"rank {rank} itself has no samples; it forked others: --pid {' or '.join(pids[:8])}"


class Report:
    """Callable that shows (done, total) on stderr, when that is a terminal."""

    def __init__(self, what: str, shown: bool):
        self.what, self.shown, self.percent = what, shown, -1

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is."""
        percent = 100 * done // max(total, 1)
        if self.shown and percent != self.percent:
            self.percent = percent
            print(f"\r{self.what} {percent:3d} %", end="", file=unfiltered(sys.stderr), flush=True)


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Show progress while the body runs; nothing of it is left on the screen afterwards."""
    report = Report(what, sys.stderr.isatty())
    try:
        yield report
    finally:
        if report.percent >= 0:
            print("\r\033[K", end="", file=unfiltered(sys.stderr), flush=True)


def warn(lines: tuple[str, ...]) -> None:
    """Print warnings to stderr, a line each."""
    for line in lines:
        say(line)


def exit_status(profile: IntervalProfile) -> int:
    """Return 0, or the code for partial data when a part of the input was dropped."""
    return PartialDataError.exit_code if profile.damaged else 0
