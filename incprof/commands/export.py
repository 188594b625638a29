"""Write a recorded run in another tool's format.

    incprof export gmon-app --format gprof -o gmon.out       # then: gprof ./app gmon.out
    incprof export gmon-app --format csv > profile.csv        # interval, end_s, function, module, self_s, calls
    incprof export gmon-app --format folded | flamegraph.pl > flames.svg
    incprof export gmon-app --format speedscope -o app.speedscope.json

docs/export.md describes the formats.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TextIO

from incprof.commands._common import add_run_arguments, chosen_libs, exit_status, load, warn
from incprof.commands._output import check_target, write_bytes, write_text
from incprof.errors import NoDataError, UsageError

if TYPE_CHECKING:
    from incprof.model import BoolArray, IntervalProfile, Run

NAME = "export"
FORMATS = ("gprof", "csv", "folded", "speedscope")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    parser.add_argument("--format", choices=FORMATS, required=True, help="what to write")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write (default: -, stdout)")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--phase", type=int, metavar="N", help="only the intervals of this phase (folded, speedscope)")


def run(args: argparse.Namespace) -> int:
    """Read one profile and write it."""
    if args.phase is not None and args.format not in ("folded", "speedscope"):
        raise UsageError(f"--phase goes with folded and speedscope, not with {args.format}")
    check_target(args.output, force=args.force, binary=args.format == "gprof")
    recorded, profile = load(args)
    warn(profile.warnings)
    if args.format == "gprof":
        write_gprof(recorded, args)
    elif args.format == "csv":
        from incprof.report.profile_csv import write_profile_csv

        write_text(args.output, lambda out: write_profile_csv(profile, out))
    else:
        write_stacks(recorded, profile, args)
    return exit_status(profile)


def write_gprof(recorded: Run, args: argparse.Namespace) -> None:
    """Write the sum of all intervals as the gmon.out that the program itself would have left."""
    from incprof.readers.writer import stream_totals, write_gmon

    rank = recorded.ranks[0] if args.rank is None else args.rank
    process = next(p for p in recorded.processes if p.rank == rank)
    totals = stream_totals(process, libs=chosen_libs(args.libs))
    write_bytes(args.output, lambda out: write_gmon(totals, out))


def write_stacks(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> None:
    """Write the samples as stacks, in one of the two formats for that."""
    from incprof.analysis.stacks import stack_series
    from incprof.report.folded import write_folded
    from incprof.report.speedscope import write_speedscope

    keep = None if args.phase is None else intervals_of(profile, args.phase)
    series = stack_series(profile, keep, libraries=chosen_libs(args.libs) != "drop")
    if not len(series.stack):
        raise NoDataError(f"{args.directory}: no samples to export")

    def write(out: TextIO) -> None:
        if args.format == "folded":
            write_folded(series, out)
        else:
            write_speedscope(series, out, name=recorded.app, rate_hz=profile.metadata.rate_hz)

    write_text(args.output, write)


def intervals_of(profile: IntervalProfile, phase: int) -> BoolArray:
    """Mark the intervals of a phase, as `incprof phases` numbers them."""
    from incprof.analysis.phases import find_phases

    result = find_phases(profile)
    if not 0 <= phase < result.k:
        raise UsageError(f"--phase {phase}: the run has phases 0 to {result.k - 1}")
    mask: BoolArray = result.labels == phase
    return mask
