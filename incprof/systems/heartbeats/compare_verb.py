"""Comparison of heartbeats with a second run, or with the application's history."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.command.terminal import warn
from incprof.errors import GateError, PartialDataError, UsageError
from incprof.systems.heartbeats.filters import filters_of

if TYPE_CHECKING:
    from incprof.study.heartbeats.read import BeatSummary, Heartbeats

# Options for a single run only.
SINGLE = ("csv", "parquet", "sqlite", "plot", "history", "keep")
POOR = "poor"


def add_against_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of comparisons."""
    parser.add_argument("other", metavar="DIR2", nargs="?", help="compare this run with DIR, the baseline")
    parser.add_argument(
        "--fail-on", metavar="COND", action="append", default=[],
        help="exit 3 if this holds: 'mean>10%%', 'solve:mean>5ms', 'rate<-10%%'; with --history: poor; may be repeated",
    )  # fmt: skip


def add_history_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the history."""
    parser.add_argument(
        "--history", metavar="FILE", help="add the run to this file, and compare it with the earlier runs there"
    )
    parser.add_argument("--keep", type=int, metavar="N", help="with --history: keep only the newest N such runs")


def refuse_mixture(args: argparse.Namespace) -> None:
    """Refuse arguments that exclude or require each other.

    Raises:
        UsageError: there are such arguments.
    """
    if args.other is None:
        if args.fail_on and args.history is None:
            raise UsageError("--fail-on needs something to compare with: a second run, or --history")
        if args.keep is not None and args.history is None:
            raise UsageError("--keep is about --history: give its file")
        return
    single = [f"--{name}" for name in SINGLE if getattr(args, name) is not None]
    if single:
        raise UsageError(f"{single[0]} is for one run: leave it out, or the second directory")


def check_history(args: argparse.Namespace, *, stdout_taken: bool) -> None:
    """Refuse invalid arguments for --history before anything is read.

    Raises:
        UsageError: a filter, another output on stdout, a condition other than poor, or a file that is not a history.
    """
    from incprof.systems.heartbeats.history_store import check_store

    if args.keep is not None and args.keep < 1:
        raise UsageError(f"--keep {args.keep}: expected a number from 1")
    if stdout_taken:
        raise UsageError("--history prints its verdict: give a file to what would go to stdout")
    if any(condition != POOR for condition in args.fail_on):
        raise UsageError("--fail-on with --history is 'poor'; conditions such as 'mean>10%' are for two runs")
    parts = [f"--{name}" for name in ("rank", "thread", "id", "time") if getattr(args, name) is not None]
    if parts:
        raise UsageError(f"--history keeps whole runs: leave out {parts[0]}")
    check_store(args.history)


def run_compare(args: argparse.Namespace, width: int) -> int:
    """Compare with the second run, print the result, and check the conditions.

    Raises:
        GateError: a condition fails.
    """
    from incprof.systems.heartbeats.compare_json import write_json
    from incprof.systems.heartbeats.compare_text import write_text
    from incprof.systems.heartbeats.compare_words import broken_line
    from incprof.systems.heartbeats.two_runs import compare_beats

    found = compare_beats(args.directory, args.other, filters_of(args), args.fail_on)
    warn(found.warnings)
    if args.json:
        write_json(found.runs, found.notes, found.diffs, found.failed, found.warnings, sys.stdout)
    else:
        write_text(found.runs, found.notes, found.diffs, sys.stdout, width=width, every=args.all)
    if found.failed:
        sys.stdout.flush()
        raise GateError(*(broken_line(condition, diff) for condition, diff in found.failed))
    return PartialDataError.exit_code if found.damaged else 0


def run_history(found: Heartbeats, beats: list[BeatSummary], args: argparse.Namespace, width: int) -> int:
    """Add a run to the history, assess it, and print the result.

    Raises:
        GateError: the run is poor, and --fail-on poor was given.
        IncprofError: the history cannot be used.
    """
    from incprof.systems.heartbeats.history_json import write_json
    from incprof.systems.heartbeats.history_text import write_text
    from incprof.systems.heartbeats.history_words import poor_line
    from incprof.systems.heartbeats.past_runs import keep_and_assess

    history = keep_and_assess(found, beats, args.history, args.keep)
    if args.json:
        write_json(history, found.warnings, sys.stdout)
    else:
        write_text(history, sys.stdout, width=width, every=args.all)
    if args.fail_on and history.poor:
        sys.stdout.flush()
        raise GateError(*map(poor_line, history.poor))
    return PartialDataError.exit_code if found.damaged else 0
