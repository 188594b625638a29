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
import importlib.util
import re
import shlex
import sys
from typing import TYPE_CHECKING

from incprof.command.helping import expert_flags
from incprof.command.output import (
    add_plot_argument,
    check_gate,
    check_plot,
    check_target,
    write_bytes,
    write_plot,
    write_text,
)
from incprof.command.terminal import text_width, warn
from incprof.errors import IncprofError, PartialDataError, UsageError
from incprof.record import settings
from incprof.safe.printable import say

if TYPE_CHECKING:
    from appekg.heartbeats import Heartbeats
    from incprof.analysis.heartbeats.summaries import BeatSummary
    from incprof.study.heartbeat_files import Filters


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
    from incprof.study.heartbeat_files import later_run, load, run_of, summaries

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
    from incprof.study.heartbeat_files import run_of

    if args.json:
        from incprof.systems.heartbeats.heartbeats_answer import write_json

        write_json(run_of(found), beats, found.warnings, sys.stdout)
    else:
        from incprof.systems.heartbeats.heartbeats_answer import write_text

        write_text(run_of(found), beats, sys.stdout, width=text_width(WIDTH), every=args.all)


# Comparison of heartbeats with a second run, or with the application's history.


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
            raise UsageError("--keep needs --history FILE")
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
    from incprof.systems.heartbeats.compare import compare_beats
    from incprof.systems.heartbeats.compare_answer import broken_line, write_json, write_text

    found = compare_beats(args.directory, args.other, filters_of(args), args.fail_on)
    warn(found.warnings)
    if args.json:
        write_json(found.runs, found.notes, found.diffs, found.failed, found.warnings, sys.stdout)
    else:
        write_text(found.runs, found.notes, found.diffs, sys.stdout, width=width, every=args.all)
    check_gate([broken_line(condition, diff) for condition, diff in found.failed])
    return PartialDataError.exit_code if found.damaged else 0


def run_history(found: Heartbeats, beats: list[BeatSummary], args: argparse.Namespace, width: int) -> int:
    """Add a run to the history, assess it, and print the result.

    Raises:
        GateError: the run is poor, and --fail-on poor was given.
        IncprofError: the history cannot be used.
    """
    from incprof.systems.heartbeats.history import keep_and_assess
    from incprof.systems.heartbeats.history_answer import poor_line, write_json, write_text

    history = keep_and_assess(found, beats, args.history, args.keep)
    if args.json:
        write_json(history, found.warnings, sys.stdout)
    else:
        write_text(history, sys.stdout, width=width, every=args.all)
    check_gate([poor_line(assessment) for assessment in history.poor if args.fail_on])
    return PartialDataError.exit_code if found.damaged else 0


# Files written by `incprof heartbeats`: tables for other tools.


FORMS = ("csv", "parquet", "sqlite")


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for output files."""
    parser.add_argument("--csv", metavar="FILE", help="write the rows as CSV; - is stdout")
    parser.add_argument("--parquet", metavar="FILE", help="write the rows as Parquet (needs pyarrow)")
    parser.add_argument("--sqlite", metavar="FILE", help="write rows, intervals, beats and processes as SQLite tables")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def check_files(args: argparse.Namespace) -> bool:
    """Refuse files that cannot be written, before anything is read; return whether one of them is stdout.

    Raises:
        UsageError: a target is invalid, or stdout would receive two outputs.
        IncprofError: pyarrow is not installed.
    """
    targets = {form: getattr(args, form) for form in FORMS if getattr(args, form) is not None}
    for form, target in targets.items():
        check_target(target, force=args.force, binary=form != "csv")
    if len(files := [target for target in targets.values() if target != "-"]) > len(set(files)):
        raise UsageError("two of --csv, --parquet and --sqlite name the same file")
    on_stdout = [f"--{form} -" for form, target in targets.items() if target == "-"]
    on_stdout += ["--json"] if args.json and on_stdout else []
    if len(on_stdout) > 1:
        raise UsageError(f"{' and '.join(on_stdout)} would both go to stdout: give a file to one of them")
    if args.parquet is not None and importlib.util.find_spec("pyarrow") is None:
        raise IncprofError("--parquet needs pyarrow: pip install pyarrow, or take --csv or --sqlite")
    return bool(on_stdout)


def write_files(found: Heartbeats, args: argparse.Namespace) -> None:
    """Write the requested files."""
    from incprof.report.exports import write_parquet, write_rows
    from incprof.systems.heartbeats.heartbeats_answer import write_sqlite

    if args.csv is not None:
        write_text(args.csv, lambda out: write_rows(found.to_pandas(), out))
    if args.parquet is not None:
        write_bytes(args.parquet, lambda out: write_parquet(found.to_pandas(), out))
    if args.sqlite is not None:
        write_bytes(args.sqlite, lambda out: write_sqlite(found.tables(), out))


# Command-line arguments that select heartbeats.


LARGEST_RANGE = 1_000_000


def filters_of(args: argparse.Namespace) -> Filters:
    """Return the filters given on the command line."""
    from incprof.study.heartbeat_files import Filters

    return Filters(args.rank, args.thread, args.id, args.time)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that select heartbeats."""
    parser.add_argument("--rank", type=numbers, metavar="LIST", help="only these ranks: 0 or 0,4-7")
    parser.add_argument("--thread", type=numbers, metavar="LIST", help="only these threads, by number")
    parser.add_argument("--id", type=words, metavar="LIST", help="only these ids or names: 1,3-5 or 'solve:*'")
    parser.add_argument("--time", type=seconds, metavar="A:B", help="only from A to B: 10:20 (seconds), :500ms, 1m:")


def numbers(text: str) -> frozenset[int]:
    """Parse a list of numbers such as 1,3-5."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,18})(?:-([0-9]{1,18}))?\s*", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high < low + LARGEST_RANGE:
            raise argparse.ArgumentTypeError(f"{text!r}: expected numbers such as 0 or 1,3-5")
        found.update(range(low, high + 1))
    return frozenset(found)


def words(text: str) -> tuple[frozenset[int] | str, ...]:
    """Parse a list of ids and names into sets of numbers, and patterns for names."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise argparse.ArgumentTypeError("expected ids or names such as 1,3-5 or 'solve:*'")
    return tuple(numbers(part) if re.fullmatch(r"[0-9]+(-[0-9]+)?", part) else part for part in parts)


def seconds(text: str) -> tuple[float | None, float | None]:
    """Parse A:B into its ends in seconds, None for an omitted one."""
    match = re.fullmatch(r"([^:]*):([^:]*)", text)
    try:
        low, high = (settings.seconds(end) if end else None for end in match.groups()) if match else (None, None)
    except ValueError:
        low = high = None
    if (low is None and high is None) or (low is not None and high is not None and not low < high):
        raise argparse.ArgumentTypeError(f"{text!r}: expected times A:B with A before B, as in 10:20, :500ms or 1m:")
    return low, high
