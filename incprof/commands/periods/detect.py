"""`incprof periods --events` and `--method dpd`: the dynamic periodicity detector instead of patterns."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.commands.periods.sources import read_source, wanted_of
from incprof.commands.terminal import text_width, warn
from incprof.errors import UsageError

if TYPE_CHECKING:
    from incprof.study.detect import LoopChange, PeriodChange

# Arguments of the verb that the detector takes of events, and of numbers.
OF_BOTH = frozenset("verb run debug series column range json force follow idle events method window".split())
OF_EVENTS = OF_BOTH | {"tolerance"}
OF_NUMBERS = OF_BOTH | {"time", "interval", "rank", "exe", "most"}


def add_detect_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the detector."""
    group = parser.add_argument_group("periodicity detector", "`incprof help dpd` explains the method")
    group.add_argument("--events", action="store_true", help="lines are events, such as names: find the loops in them")
    group.add_argument("--method", choices=("patterns", "dpd"), help="dpd: only the period, and since when (patterns)")
    group.add_argument(
        "--tolerance", action="store_const", const=True, help="a loop of events continues across a single odd one"
    )


def check_detect(args: argparse.Namespace) -> None:
    """Refuse what the detector knows nothing of.

    Raises:
        UsageError: an argument is for patterns, or for numbers where there are events.
    """
    taken = OF_EVENTS if args.events else OF_NUMBERS
    given = [name for name, value in vars(args).items() if value is not None and value != [] and name not in taken]
    if args.events and args.method == "patterns":
        given.append("method patterns")
    if given:
        name = "no-align" if given[0] == "align" else given[0].replace("_", "-")
        raise UsageError(f"--{name} does not go with {'--events' if args.events else '--method dpd'}")


def detect(args: argparse.Namespace) -> int:
    """Print each change where the text is followed, and what there was in the end."""
    from incprof.report.json.detected import as_line
    from incprof.report.text.detected import change_line, write_answer
    from incprof.study.detect import EventLoops, SeriesPeriods, follow_periods, loops_of, periods_of

    found: EventLoops | SeriesPeriods
    name, width, wanted, idle = "events", text_width(), wanted_of(args), args.idle if args.follow else 0.0

    def hear(change: LoopChange | PeriodChange) -> None:
        if args.follow:
            print(as_line(args.series, name, change) if args.json else change_line(change, width), flush=True)

    if args.events:
        found = loops_of(args.series, wanted, args.window, tolerance=bool(args.tolerance), idle_s=idle, hear=hear)
    elif args.follow:
        name, found = follow_periods(args.series, wanted, args.window, idle, hear)
    else:
        series = read_source(args.series, args)
        warn(series.notes)
        name, found = series.name, periods_of(series.values, args.window)
    if args.json:
        print(as_line(args.series, name, found))
    else:
        write_answer(args.series, name, found, sys.stdout, width=width)
    return 0
