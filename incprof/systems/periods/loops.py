"""Find the loops in a stream of names: functions, system calls, addresses, MPI operations.

    incprof loops calls.txt
    incprof loops trace.csv --column region
    strace ./app 2>&1 >/dev/null | sed 's/(.*//' | incprof loops --follow -

Each line of EVENTS is an event; only equality counts. Loops are found within loops, in one pass, by the dynamic
periodicity detector. `incprof help loops` explains the output.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.command.helping import expert
from incprof.command.terminal import text_width, warn
from incprof.errors import UsageError
from incprof.systems.periods.parameters import (
    add_follow_arguments,
    integer_parser,
    read_source,
    request_of,
    sample_range,
)

if TYPE_CHECKING:
    from incprof.systems.periods.dpd_values import PeriodChange
    from incprof.systems.periods.stream_loops import LoopChange

NAME = "loops"
# Arguments that the detector accepts for both events and numbers.
OF_BOTH = frozenset("verb run debug series column range json force follow idle events method window".split())
OF_EVENTS = OF_BOTH | {"tolerance"}
OF_NUMBERS = OF_BOTH | {"time", "interval", "rank", "exe", "most"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `incprof loops`."""
    parser.add_argument("series", metavar="EVENTS", help="text, a line for each event; - is standard input")
    parser.add_argument("--column", metavar="NAME", help="the field of a line that is the event: a name, or a number")
    parser.add_argument("--range", type=sample_range, metavar="A:B", default=(0, None), help="only events A to B")
    parser.add_argument(
        "--window", type=integer_parser(2), metavar="L", help="find loops of fewer events than this (1024)"
    )
    parser.add_argument(
        "--tolerance", action="store_const", const=True, help="a loop continues across a single odd event"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.loops/1")
    add_follow_arguments(parser)
    parser.set_defaults(events=True, method=None, time=None, interval=None, most=None)


def run(args: argparse.Namespace) -> int:
    """Read the events, and print the loops."""
    if args.follow and args.range != (0, None):
        raise UsageError("--range does not go with --follow")
    if not 0 <= args.idle < 1e9:
        raise UsageError(f"--idle {args.idle:g}: expected seconds from 0 on")
    return detect(args)


def add_detect_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `incprof periods` that select the detector."""
    group = parser.add_argument_group("periodicity detector", "`incprof help dpd` explains the method")
    group.add_argument("--events", action="store_true", help="find loops of events, as incprof loops does")
    group.add_argument("--method", choices=("patterns", "dpd"), help="dpd: only the period, and since when (patterns)")
    group.add_argument("--tolerance", action="store_const", const=True, help="as for incprof loops")
    expert(*group._group_actions)


def check_detect(args: argparse.Namespace) -> None:
    """Refuse arguments that the detector does not support.

    Raises:
        UsageError: an argument is for patterns, or for numbers where there are events.
    """
    taken = OF_EVENTS if args.events else OF_NUMBERS
    unsupported = [
        name for name, value in vars(args).items() if value is not None and value != [] and name not in taken
    ]
    if args.events and args.method == "patterns":
        unsupported.append("method patterns")
    if unsupported:
        name = "no-align" if unsupported[0] == "align" else unsupported[0].replace("_", "-")
        raise UsageError(f"--{name} does not go with {'--events' if args.events else '--method dpd'}")


def detect(args: argparse.Namespace) -> int:
    """Print each change if the text is followed, and a summary at the end."""
    from incprof.systems.periods.dpd_values import SeriesPeriods
    from incprof.systems.periods.loops_answer import (
        as_line,
        change_line,
        follow_periods,
        loops_of,
        periods_of,
        write_answer,
    )
    from incprof.systems.periods.stream_loops import EventLoops

    summary: EventLoops | SeriesPeriods
    name, width, request, idle = "events", text_width(), request_of(args), args.idle if args.follow else 0.0

    def on_change(change: LoopChange | PeriodChange) -> None:
        if args.follow:
            print(as_line(args.series, name, change) if args.json else change_line(change, width), flush=True)

    if args.events:
        summary = loops_of(
            args.series, request, args.window, tolerance=bool(args.tolerance), idle_s=idle, on_change=on_change
        )
    elif args.follow:
        name, summary = follow_periods(args.series, request, args.window, idle, on_change)
    else:
        series = read_source(args.series, args)
        warn(series.notes)
        name, summary = series.name, periods_of(series.values, args.window)
    if args.json:
        print(as_line(args.series, name, summary))
    else:
        write_answer(args.series, name, summary, sys.stdout, width=width)
    return 0
