"""What heartbeats are held against: a second run, or the application's past."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.commands.heartbeats.filters import filters_of
from incprof.commands.terminal import warn
from incprof.errors import GateError, PartialDataError, UsageError

if TYPE_CHECKING:
    from incprof.study.beats.read import BeatSummary, Heartbeats

# What is for one run only.
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
    """Refuse arguments that mean nothing beside each other.

    Raises:
        UsageError: there are such.
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
    """Refuse what makes no sense before anything is read.

    Raises:
        UsageError: a filter, another form of output, a condition other than poor, or a file that is no history.
    """
    from incprof.study.beats.store import check_store

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
    """Compare with the second run, print, and judge.

    Raises:
        GateError: a condition does not hold.
    """
    from incprof.report.json.beats_compare import write_json
    from incprof.report.text.beats_compare import write_text
    from incprof.report.words.beats_compare import broken_line
    from incprof.study.beats.compare import compare_beats

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
    """Keep a run, judge it, print.

    Raises:
        GateError: it is poor, and --fail-on poor was given.
        IncprofError: the history cannot be used.
    """
    from incprof.report.json.beats_history import write_json
    from incprof.report.text.beats_history import write_text
    from incprof.report.words.beats_history import poor_line
    from incprof.study.beats.history import keep_and_assess

    history = keep_and_assess(found, beats, args.history, args.keep)
    if args.json:
        write_json(history, found.warnings, sys.stdout)
    else:
        write_text(history, sys.stdout, width=width, every=args.all)
    if args.fail_on and history.poor:
        sys.stdout.flush()
        raise GateError(*map(poor_line, history.poor))
    return PartialDataError.exit_code if found.damaged else 0
