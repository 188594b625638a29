"""`incprof periods --follow FILE`: patterns of a series that is still being written, a line for each change."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.errors import UsageError
from incprof.record.units import time

if TYPE_CHECKING:
    from incprof.systems.periods.analyse import PatternOptions
    from incprof.systems.periods.read import Wanted


def add_follow_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `--follow`."""
    parser.add_argument("--follow", action="store_true", help="read on as the text grows; a line for each change")
    parser.add_argument("--idle", type=time, default=10.0, metavar="T", help="a file ends so long after a line (10s)")


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


def follow(args: argparse.Namespace, wanted: Wanted, options: PatternOptions) -> int:
    """Print each change as soon as it is detected."""
    from incprof.systems.periods.analyse import follow_patterns
    from incprof.systems.periods.periods_json import forecast_of, state_json
    from incprof.systems.periods.periods_text import state_line
    from incprof.systems.periods.uses_text import write_forecast

    for known in follow_patterns(args.series, wanted, options, args.idle, args.forecast):
        if args.json:
            uses: dict[str, object] = {} if args.forecast is None else {"forecast": forecast_of(known.forecast)}
            print(state_json(args.series, known.name, args.interval, known.found, uses), flush=True)
            continue
        print(state_line(known.found, args.interval, paper=bool(args.paper)), flush=True)
        if args.forecast is not None:
            write_forecast(known.forecast, args.interval, sys.stdout)
            sys.stdout.flush()
    return 0
