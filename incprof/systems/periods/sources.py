"""Command-line arguments that select a series."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from incprof.command.helping import expert
from incprof.command.options import chosen_libs
from incprof.command.terminal import STDERR
from incprof.errors import UsageError
from incprof.record.units import time
from incprof.systems.periods.parameters import sample_range, whole

if TYPE_CHECKING:
    from incprof.systems.periods.read import Series, Wanted

OF_A_RUN = "self, off_cpu, self:FUNCTION or calls:FUNCTION"


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that select a series."""
    of = f"of a run {OF_A_RUN}, of heartbeats ID:count or ID:mean"
    parser.add_argument("--column", metavar="NAME", help=f"a name, a number, or A/B for a ratio; {of}")
    parser.add_argument("--interval", type=time, metavar="T", help="between samples, if not in the file: 5ms")
    parser.add_argument("--range", type=sample_range, metavar="A:B", default=(0, None), help="only samples A to B")
    expert(
        parser.add_argument("--time", metavar="NAME", help="column with the time (found by its name), or none"),
        parser.add_argument("--most", type=whole(), metavar="N", help="refuse series of more samples (20000000)"),
        parser.add_argument("--rank", type=int, metavar="R", help="rank of a run or of heartbeats (the lowest; all)"),
        parser.add_argument("--exe", metavar="FILE", help="the program of a run, if it is not where it was recorded"),
    )


def wanted_of(args: argparse.Namespace) -> Wanted:
    """Return the column and the range that the arguments select.

    Raises:
        UsageError: the interval is not a positive time.
    """
    from incprof.systems.periods.read import MOST_SAMPLES, Wanted

    if args.interval is not None and not 0 < args.interval < 1e9:
        raise UsageError(f"--interval {args.interval:g}: expected seconds above 0")
    first, last = args.range
    return Wanted(args.column, args.time, first, last, args.most or MOST_SAMPLES)


def read_source(path: str, args: argparse.Namespace) -> Series:
    """Read the series that the arguments select."""
    from incprof.systems.periods.read import series_of

    return series_of(
        path, wanted_of(args), STDERR, rank=args.rank, exe=args.exe, libs=chosen_libs(None), interval_s=args.interval
    )
