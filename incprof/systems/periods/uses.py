"""Uses of patterns: comparing parts of a run, forecasting, matching an excerpt with known patterns."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

from incprof.command.helping import expert
from incprof.command.terminal import warn
from incprof.errors import UsageError
from incprof.record.units import seconds
from incprof.systems.periods.parameters import whole

if TYPE_CHECKING:
    from incprof.systems.periods.analyse import PatternOptions, Patterns, SubProfiles
    from incprof.systems.periods.read import Series

OFFSETS, MOST_LENGTHS = 11, 64


def add_use_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--forecast", type=ahead, metavar="N", help="the next N samples, or the rest of the repetition")
    parser.add_argument("--match", metavar="FILE", help="find SERIES in the patterns that --json wrote to FILE")
    parser.add_argument(
        "--sub-profiles", type=durations, metavar="T,T", help="how well parts of these lengths represent the run: 1m,5m"
    )
    expert(
        parser.add_argument("--offsets", type=whole(1, 10_000), metavar="N", help="parts of each length (11)"),
        parser.add_argument("--paper", action="store_const", const=True, help="the paper's notation, with WGSS"),
    )


def ahead(text: str) -> int:
    """Parse the number of samples to forecast; 0 for the rest of the instance."""
    if text == "rest":
        return 0
    if not re.fullmatch("[0-9]{1,6}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of samples up to 999999, or rest")
    return int(text)


def durations(text: str) -> list[float]:
    """Parse comma-separated times, in seconds."""
    try:
        found = [seconds(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {error}, or several, separated by commas") from None
    if not all(found) or len(found) > MOST_LENGTHS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected 1 to {MOST_LENGTHS} times above 0")
    return found


def check_uses(args: argparse.Namespace) -> None:
    """Refuse arguments that exclude each other.

    Raises:
        UsageError: two outputs were requested.
    """
    if args.match is not None:
        others = ["csv", "plot", "follow", "forecast", "sub_profiles", "compare"]
        given = [
            name for name in others if (value := getattr(args, name)) is not None and value is not False and value != []
        ]
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} does not go with --match")
    if args.follow and args.sub_profiles is not None:
        raise UsageError("--sub-profiles does not go with --follow")
    if args.offsets is not None and args.sub_profiles is None:
        raise UsageError("--offsets goes with --sub-profiles")


def match(args: argparse.Namespace, series: Series) -> int:
    """Print which pattern of a file contains the end of a series."""
    from incprof.systems.periods.analyse import match_excerpt
    from incprof.systems.periods.periods_json import write_matches_json
    from incprof.systems.periods.uses_text import write_matches

    warn(series.notes)
    found = match_excerpt(series.values, args.match)
    if args.json:
        write_matches_json(args.series, series.name, args.match, found, sys.stdout)
    else:
        write_matches(args.match, found, sys.stdout)
    return 0


def sub_profiles_of(
    args: argparse.Namespace, series: Series, found: Patterns, options: PatternOptions
) -> list[SubProfiles]:
    """Compare parts of a series with the whole.

    Raises:
        UsageError: the interval between samples is missing, or a part is shorter than two samples.
    """
    from incprof.systems.periods.analyse import compare_sub_profiles

    if args.sub_profiles is None or not found.patterns:
        return []
    if series.interval_s is None:
        raise UsageError("--sub-profiles: the time between samples is not known: give it with --interval 5ms")
    lengths = [round(length / series.interval_s) for length in args.sub_profiles]
    if min(lengths) < 2:
        raise UsageError(f"--sub-profiles: a part has at least 2 samples of {series.interval_s:g} s")
    return compare_sub_profiles(series.values, found, lengths, args.offsets or OFFSETS, options)
