"""Find what repeats in a series of samples, and a representative pattern for it.

    incprof periods ipc.csv
    incprof periods node1.csv --column ipc --plot periods.svg --csv patterns.csv
    incprof periods perf.txt --column instructions/cycles      # perf stat -I 5 -e instructions,cycles -o perf.txt
    incprof periods gmon-app --column self:solve
    incprof periods node1.npy --compare node2.npy --compare node3.npy
    incprof periods ipc.csv --sub-profiles 1m,3m,10m           # how long a recording has to be
    incprof periods ipc.csv --forecast rest                    # the rest of the repetition that it ends in
    incprof periods excerpt.csv --match patterns.json          # which known pattern it is part of, and where
    some-sampler | incprof periods --follow -

SERIES is a table of text, .npy, .parquet, the output of perf stat -I, a run directory or a directory of heartbeats.
`incprof help periods` explains input and output; `incprof loops` finds the loops in a stream of names.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

from incprof.command.helping import expert, expert_flags
from incprof.command.output import add_plot_argument, check_plot, check_target, write_plot, write_text
from incprof.command.terminal import text_width, wants_colour, warn
from incprof.errors import IncprofError, UsageError
from incprof.record.settings import seconds
from incprof.systems.periods.loops import add_detect_arguments, check_detect, detect
from incprof.systems.periods.parameters import (
    add_follow_arguments,
    add_parameter_arguments,
    add_source_arguments,
    check_follow,
    follow,
    integer_parser,
    options_of,
    read_source,
    request_of,
)

if TYPE_CHECKING:
    from incprof.readers.series import Series
    from incprof.systems.periods.pattern_result import PatternOptions, Patterns
    from incprof.systems.periods.pattern_uses import SubProfiles


NAME = "periods"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("series", metavar="SERIES", help="file or directory; - is standard input")
    add_source_arguments(parser)
    parser.add_argument(
        "--compare", action="append", default=[], metavar="SERIES", help="series of another node; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.periods/1")
    parser.add_argument("--csv", metavar="FILE", help="write the patterns: pattern, point, value (- for stdout)")
    add_plot_argument(parser, "the series and its patterns")
    expert(parser.add_argument("--force", action="store_true", help="replace files that exist"))
    add_use_arguments(parser)
    add_follow_arguments(parser)
    add_detect_arguments(parser)
    add_parameter_arguments(parser)
    expert_flags(parser, "--idle", "--match")


def run(args: argparse.Namespace) -> int:
    """Read and analyse the series, write the files, and print the result."""
    detected = args.events or args.method == "dpd" or args.tolerance
    if detected:
        check_detect(args)
    check_targets(args)
    check_uses(args)
    if args.follow:
        check_follow(args)
    try:
        if detected:
            return detect(args)
        return follow(args, request_of(args), options_of(args)) if args.follow else answer(args, options_of(args))
    except MemoryError:
        raise IncprofError(f"{args.series}: not enough memory: take a part with --range A:B") from None


def answer(args: argparse.Namespace, options: PatternOptions) -> int:
    """Analyse a whole series and write the result."""
    series = read_source(args.series, args)
    if args.match is not None:
        return match(args, series)
    warn(series.notes)
    patterns = analysed(series, options)
    if args.csv is not None:
        from incprof.systems.periods.periods_files import write_csv

        write_text(args.csv, lambda out: write_csv(patterns, out))
    if args.plot is not None:
        from incprof.systems.periods.periods_files import write_plot as draw

        write_plot(args, lambda out, form: draw(series.values, series.name, series.interval_s, patterns, out, form))
    if args.csv != "-":
        others = [(path, analysed(read_source(path, args), options)) for path in args.compare]
        write(series, patterns, others, sub_profiles_of(args, series, patterns, options), args)
    return 0


def check_targets(args: argparse.Namespace) -> None:
    """Refuse files that cannot be written, before anything is read.

    Raises:
        UsageError: a target cannot be written, or stdout would receive two outputs.
    """
    if args.csv is not None:
        check_target(args.csv, force=args.force, binary=False)
        if args.csv == "-" and (args.json or args.compare):
            raise UsageError("--csv - and the answer would both go to stdout: give --csv a file")
    check_plot(args)


def analysed(series: Series, options: PatternOptions) -> Patterns:
    """Return the patterns of a series."""
    from incprof.systems.periods.phase_ta import find_patterns

    return find_patterns(series.values, options)


def write(
    series: Series,
    patterns: Patterns,
    others: list[tuple[str, Patterns]],
    parts: list[SubProfiles],
    args: argparse.Namespace,
) -> None:
    """Print the result in the requested format."""
    from incprof.systems.periods.pattern_uses import agreements, forecast

    every = [patterns, *(result for _, result in others)]
    pairs = agreements(every) if others else []
    coming = None if args.forecast is None else forecast(series.values, patterns.patterns, args.forecast or None)
    interval_s = series.interval_s or 0.0  # set whenever there are parts
    if args.json:
        from incprof.report.render.json import json_rows
        from incprof.systems.periods.periods_files import forecast_of, node_of, pair_of, write_json
        from incprof.systems.periods.periods_text import sub_profiles_table

        nodes = [node_of(path, result) for path, result in [(args.series, patterns), *others]] if others else []
        nodes += [pair_of(pair) for pair in pairs]
        uses: dict[str, object] = {}
        if args.forecast is not None:
            uses["forecast"] = forecast_of(coming)
        if args.sub_profiles is not None:
            uses["sub_profiles"] = json_rows(sub_profiles_table(parts, interval_s))
        write_json(args.series, series.name, series.interval_s, patterns, series.notes, nodes, uses, sys.stdout)
        return
    from incprof.systems.periods.periods_text import write_agreement, write_forecast, write_sub_profiles
    from incprof.systems.periods.periods_text import write_text as write_answer

    write_answer(
        args.series, series.name, series.interval_s, patterns, sys.stdout,
        width=text_width(), colour=wants_colour(), blocks="utf" in (sys.stdout.encoding or "").lower(),
        paper=bool(args.paper),
    )  # fmt: skip
    if parts:
        write_sub_profiles(parts, interval_s, sys.stdout)
    if args.forecast is not None:
        write_forecast(coming, series.interval_s, sys.stdout)
    if others:
        paths = [args.series, *(path for path, _ in others)]
        write_agreement(paths, every, pairs, series.interval_s, sys.stdout, paper=bool(args.paper))


# Uses of patterns: comparing parts of a run, forecasting, matching an excerpt with known patterns.


OFFSETS, MOST_LENGTHS = 11, 64


def add_use_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--forecast", type=ahead, metavar="N", help="the next N samples, or the rest of the repetition")
    parser.add_argument("--match", metavar="FILE", help="find SERIES in the patterns that --json wrote to FILE")
    parser.add_argument(
        "--sub-profiles", type=durations, metavar="T,T", help="how well parts of these lengths represent the run: 1m,5m"
    )
    expert(
        parser.add_argument("--offsets", type=integer_parser(1, 10_000), metavar="N", help="parts of each length (11)"),
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
        values = [seconds(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {error}, or several, separated by commas") from None
    if not all(values) or len(values) > MOST_LENGTHS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected 1 to {MOST_LENGTHS} times above 0")
    return values


def check_uses(args: argparse.Namespace) -> None:
    """Refuse arguments that exclude each other.

    Raises:
        UsageError: two outputs were requested.
    """
    if args.match is not None:
        others = ["csv", "plot", "follow", "forecast", "sub_profiles", "compare"]
        conflicting = [
            name for name in others if (value := getattr(args, name)) is not None and value is not False and value != []
        ]
        if conflicting:
            raise UsageError(f"--{conflicting[0].replace('_', '-')} does not go with --match")
    if args.follow and args.sub_profiles is not None:
        raise UsageError("--sub-profiles does not go with --follow")
    if args.offsets is not None and args.sub_profiles is None:
        raise UsageError("--offsets goes with --sub-profiles")


def match(args: argparse.Namespace, series: Series) -> int:
    """Print which pattern of a file contains the end of a series."""
    from incprof.systems.periods.analyse import match_excerpt
    from incprof.systems.periods.periods_files import write_matches_json
    from incprof.systems.periods.periods_text import write_matches

    warn(series.notes)
    matches = match_excerpt(series.values, args.match)
    if args.json:
        write_matches_json(args.series, series.name, args.match, matches, sys.stdout)
    else:
        write_matches(args.match, matches, sys.stdout)
    return 0


def sub_profiles_of(
    args: argparse.Namespace, series: Series, patterns: Patterns, options: PatternOptions
) -> list[SubProfiles]:
    """Compare parts of a series with the whole.

    Raises:
        UsageError: the interval between samples is missing, or a part is shorter than two samples.
    """
    from incprof.systems.periods.pattern_uses import compare_sub_profiles

    if args.sub_profiles is None or not patterns.patterns:
        return []
    if series.interval_s is None:
        raise UsageError("--sub-profiles: the time between samples is unknown: give it with --interval 5ms")
    lengths = [round(length / series.interval_s) for length in args.sub_profiles]
    if min(lengths) < 2:
        raise UsageError(f"--sub-profiles: a part has at least 2 samples of {series.interval_s:g} s")
    return compare_sub_profiles(series.values, patterns, lengths, args.offsets or OFFSETS, options)
