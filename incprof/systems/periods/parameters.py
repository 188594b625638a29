"""Command-line arguments for the parameters of the period search."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from incprof.command.helping import expert
from incprof.command.options import selected_libs
from incprof.command.terminal import STDERR
from incprof.errors import UsageError
from incprof.record.settings import time

if TYPE_CHECKING:
    from incprof.readers.series import Series, SeriesRequest
    from incprof.systems.periods.pattern_result import PatternOptions


def add_parameter_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the parameters; the defaults are the paper's values."""
    group = parser.add_argument_group("parameters", "`incprof help periods-algorithm` explains them")
    share = fraction
    group.add_argument(
        "--window", type=integer_parser(2), metavar="L", help="half the sliding window, in samples (tuned)"
    )
    group.add_argument("--longest-window", type=integer_parser(2), metavar="L", help="where tuning ends (10000)")
    group.add_argument(
        "--slide", type=integer_parser(), metavar="N", help="step where nothing repeats, in samples (L/2)"
    )
    group.add_argument("--metric", choices=("l2", "l1"), help="distance of shifted windows (l2)")
    group.add_argument(
        "--theta", type=share, metavar="X", help="greatest dip that counts as a period (default: by noise and chance)"
    )
    group.add_argument(
        "--depth", type=share, metavar="X", help="relative depth from which a dip belongs to the same period (0.75)"
    )
    group.add_argument("--shortest", type=integer_parser(), metavar="N", help="shortest period, in samples (2)")
    group.add_argument("--no-align", dest="align", action="store_const", const=False, help="do not align the cuts")
    group.add_argument("--alpha", type=share, metavar="X", help="least share of a group of lengths (0.05)")
    group.add_argument("--length-tolerance", type=share, metavar="X", help="lengths of a group (0.10)")
    group.add_argument("--cluster-share", type=share, metavar="X", help="least share of a cluster (0.01)")
    group.add_argument("--gap", type=ratio, metavar="X", help="least ratio of merges that are cut apart (1.5)")
    group.add_argument("--ceiling", type=share, metavar="X", help="greatest mean step within a cluster (0.10)")
    group.add_argument("--iterations", type=integer_parser(), metavar="N", help="of averaging, at most (31)")
    group.add_argument("--patience", type=integer_parser(), metavar="N", help="slow iterations that end averaging (5)")
    group.add_argument("--decrease", type=share, metavar="X", help="of WGSS, below which an iteration is slow (0.025)")
    group.add_argument(
        "--medoid-sample",
        type=integer_parser(0, 2**31),
        metavar="N",
        help="instances to find the medoid among (64; 0: all)",
    )
    group.add_argument(
        "--shuffles", type=integer_parser(0, 2**31), metavar="N", help="random orders that measure chance (20)"
    )
    group.add_argument(
        "--seed", type=integer_parser(0, 2**31), metavar="N", help="of the random orders and of the picture (0)"
    )
    group.add_argument(
        "--exact", action="store_const", const=True, help="textbook algorithms: all distances of all windows; slow"
    )
    group.add_argument(
        "--threads",
        type=integer_parser(most=1024),
        metavar="N",
        help="number of threads; does not affect the result (default: one per core)",
    )
    expert(*group._group_actions)


def options_of(args: argparse.Namespace) -> PatternOptions:
    """Return the parameters given on the command line."""
    from dataclasses import fields

    from incprof.systems.periods.pattern_result import PatternOptions

    values = {field.name: getattr(args, field.name, None) for field in fields(PatternOptions)}
    return PatternOptions(**{name: value for name, value in values.items() if value is not None})


def integer_parser(least: int = 1, most: int = 10**12 - 1) -> Callable[[str], int]:
    """Return a parser for whole numbers from `least` to `most`."""

    def number(text: str) -> int:
        if not re.fullmatch("[0-9]{1,12}", text) or not least <= int(text) <= most:
            to = "on" if most > 2**31 else f"to {most}"
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from {least} {to}")
        return int(text)

    return number


def fraction(text: str) -> float:
    """Parse a share above 0 and up to 1; `5%` is 0.05."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a share above 0 and up to 1, or a percentage")
    return value


def ratio(text: str) -> float:
    """Parse a number of at least 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1 on")
    return value


def sample_range(text: str) -> tuple[int, int | None]:
    """Parse A:B into a range of samples; the end is None for the end of the series."""
    match = re.fullmatch("([0-9]{0,15}):([0-9]{0,15})", text)
    first = int(match[1] or 0) if match else 1
    last = int(match[2]) if match and match[2] else None
    if match is None or (last is not None and last <= first):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected samples A:B with A before B, as in 1000:5000, :5000 or 1000:"
        )
    return first, last


# Command-line arguments that select a series.


OF_A_RUN = "self, off_cpu, self:FUNCTION or calls:FUNCTION"


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that select a series."""
    of = f"of a run {OF_A_RUN}, of heartbeats ID:count or ID:mean"
    parser.add_argument("--column", metavar="NAME", help=f"a name, a number, or A/B for a ratio; {of}")
    parser.add_argument("--interval", type=time, metavar="T", help="between samples, if not in the file: 5ms")
    parser.add_argument("--range", type=sample_range, metavar="A:B", default=(0, None), help="only samples A to B")
    expert(
        parser.add_argument("--time", metavar="NAME", help="column with the time (found by its name), or none"),
        parser.add_argument(
            "--most", type=integer_parser(), metavar="N", help="refuse longer series (20000000 samples)"
        ),
        parser.add_argument("--rank", type=int, metavar="R", help="rank of a run or of heartbeats (the lowest; all)"),
        parser.add_argument("--exe", metavar="FILE", help="the program of a run, if it is not where it was recorded"),
    )


def request_of(args: argparse.Namespace) -> SeriesRequest:
    """Return the column and the range that the arguments select.

    Raises:
        UsageError: the interval is not a positive time.
    """
    from incprof.readers.series import MOST_SAMPLES, SeriesRequest

    if args.interval is not None and not 0 < args.interval < 1e9:
        raise UsageError(f"--interval {args.interval:g}: expected seconds above 0")
    first, last = args.range
    return SeriesRequest(args.column, args.time, first, last, args.most or MOST_SAMPLES)


def read_source(path: str, args: argparse.Namespace) -> Series:
    """Read the series that the arguments select."""
    from incprof.systems.periods.read import series_of

    return series_of(
        path, request_of(args), STDERR, rank=args.rank, exe=args.exe, libs=selected_libs(None), interval_s=args.interval
    )


# `incprof periods --follow FILE`: patterns of a series that is still being written, a line for each change.


def add_follow_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `--follow`."""
    parser.add_argument("--follow", action="store_true", help="read on as the text grows; a line for each change")
    parser.add_argument(
        "--idle", type=time, default=10.0, metavar="T", help="end after this time without a new line (default: 10s)"
    )


def check_follow(args: argparse.Namespace) -> None:
    """Refuse arguments that do not go with `--follow`.

    Raises:
        UsageError: another output was requested too.
    """
    clash = [f"--{name}" for name in ("csv", "plot", "compare", "rank", "exe") if getattr(args, name) is not None]
    clash = [name for name in clash if name != "--compare" or args.compare]
    if clash or args.range != (0, None):
        raise UsageError(f"{(clash or ['--range'])[0]} does not go with --follow")
    if not 0 <= args.idle < 1e9:
        raise UsageError(f"--idle {args.idle:g}: expected seconds from 0 on")


def follow(args: argparse.Namespace, request: SeriesRequest, options: PatternOptions) -> int:
    """Print each change as soon as it is detected."""
    from incprof.systems.periods.analyse import follow_patterns
    from incprof.systems.periods.periods_files import forecast_of, state_json
    from incprof.systems.periods.periods_text import state_line, write_forecast

    for state in follow_patterns(args.series, request, options, args.idle, args.forecast):
        if args.json:
            uses: dict[str, object] = {} if args.forecast is None else {"forecast": forecast_of(state.forecast)}
            print(state_json(args.series, state.name, args.interval, state.found, uses), flush=True)
            continue
        print(state_line(state.found, args.interval, paper=bool(args.paper)), flush=True)
        if args.forecast is not None:
            write_forecast(state.forecast, args.interval, sys.stdout)
            sys.stdout.flush()
    return 0
