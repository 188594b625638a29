"""Write a recorded run in another tool's format.

    incprof export gmon-app --format gprof -o gmon.out       # then: gprof ./app gmon.out
    incprof export gmon-app --format csv > profile.csv        # a row per interval and function
    incprof export gmon-app --format parquet --table samples -o samples.parquet
    incprof export gmon-app --format folded | flamegraph.pl > flames.svg
    incprof export gmon-app --format speedscope -o app.speedscope.json
    incprof export gmon-app --format trace --heartbeats ekg-app -o app.trace.json     # Perfetto, chrome://tracing
    incprof export gmon-app --format hatchet -o app.hatchet.json

docs/export.md describes the formats.
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import TYPE_CHECKING, TextIO

from incprof.commands._common import add_run_arguments, chosen_libs, exit_status, load, warn
from incprof.commands._output import check_target, write_bytes, write_text
from incprof.commands._phases import add_phase_arguments, analyse, check_phase_arguments
from incprof.errors import IncprofError, NoDataError, PartialDataError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from incprof.analysis.phases.results import PhaseResult
    from incprof.model import BoolArray, IntervalProfile, Run

NAME = "export"
FORMATS = ("gprof", "csv", "parquet", "folded", "speedscope", "trace", "hatchet")
BINARY = ("gprof", "parquet")
# The tables of incprof.analysis.views.tables, which would take long to import for the help.
TABLES = ("profile", "intervals", "samples", "phases", "labels", "functions", "sites", "steps", "scores")
# What else an option goes with.
ONLY = {
    "phase": ("folded", "speedscope", "hatchet"),
    "table": ("csv", "parquet"),
    "heartbeats": ("trace",),
    "all_ranks": ("trace",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    parser.add_argument("--format", choices=FORMATS, required=True, help="what to write")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write (default: -, stdout)")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--table", choices=TABLES, help="which table (csv, parquet; default: profile)")
    parser.add_argument("--phase", type=int, metavar="N", help="only this phase (folded, speedscope, hatchet)")
    parser.add_argument("--heartbeats", metavar="EKG-DIR", help="their rates and durations as well (trace)")
    parser.add_argument("--all-ranks", action="store_true", help="each rank as a process (trace)")
    add_phase_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Read one profile, or all, and write it."""
    check_phase_arguments(args)
    for name, formats in ONLY.items():
        given = getattr(args, name)
        if given is not None and given is not False and args.format not in formats:
            raise UsageError(f"--{name.replace('_', '-')} goes with {', '.join(formats)}, not with {args.format}")
    for one in ("rank", "pid"):
        if args.all_ranks and getattr(args, one) is not None:
            raise UsageError(f"--{one} and --all-ranks exclude each other")
    if args.format == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise IncprofError("--format parquet needs pyarrow: pip install 'incprof[parquet]', or take --format csv")
    check_target(args.output, force=args.force, binary=args.format in BINARY)
    recorded, profile = load(args)
    warn(profile.warnings)
    damaged = write(recorded, profile, args)
    return PartialDataError.exit_code if damaged else exit_status(profile)


def write(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> bool:
    """Write the format that was asked for; say whether something beside the profile was damaged."""
    if args.format == "gprof":
        write_gprof(recorded, args)
    elif args.format in ("csv", "parquet"):
        write_table(recorded, profile, args)
    elif args.format == "hatchet":
        write_tree(recorded, profile, args)
    elif args.format == "trace":
        from incprof.commands._export_trace import export_trace

        return export_trace(recorded, profile, phases_of(recorded, profile, args), args)
    else:
        write_stacks(recorded, profile, args)
    return False


def write_gprof(recorded: Run, args: argparse.Namespace) -> None:
    """Write the sum of all intervals as the gmon.out that the program itself would have left."""
    from incprof.readers.run import choose_process
    from incprof.readers.stream.as_gmon import stream_totals, write_gmon

    totals = stream_totals(choose_process(recorded, args.rank, args.pid), libs=chosen_libs(args.libs))
    write_bytes(args.output, lambda out: write_gmon(totals, out))


def write_table(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> None:
    """Write one table."""
    if args.format == "csv" and args.table in (None, "profile"):
        from incprof.report.files.profile_csv import write_profile_csv

        write_text(args.output, lambda out: write_profile_csv(profile, out))
        return
    from incprof.report.files.tables import write_csv, write_parquet

    rows = table(recorded, profile, args)
    if args.format == "csv":
        write_text(args.output, lambda out: write_csv(rows, out))
    else:
        write_bytes(args.output, lambda out: write_parquet(rows, out))


def table(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> pd.DataFrame:
    """Return the table that was asked for."""
    from incprof.analysis.views.tables import intervals_table, samples_table

    if args.table in (None, "profile"):
        return profile.to_pandas()
    if args.table == "samples":
        return samples_table(profile, libraries=chosen_libs(args.libs) != "drop")
    result = phases_of(recorded, profile, args)
    if args.table == "phases":
        from incprof.analysis.phases.confidence import with_confidence

        result = with_confidence(profile, result, random_state=args.seed)
    return intervals_table(profile, result) if args.table == "intervals" else result.to_pandas(args.table)


def write_tree(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> None:
    """Write the tree of call stacks, with the time of each phase."""
    from incprof.analysis.views.stack_tree import stack_tree
    from incprof.report.files.hatchet import write_hatchet

    result = phases_of(recorded, profile, args)
    keep = None if args.phase is None else intervals_of(result, args.phase)
    tree = stack_tree(profile, result.labels, result.k, keep, libraries=chosen_libs(args.libs) != "drop")
    if not tree.frames:
        raise NoDataError(f"{args.directory}: no samples to export")
    write_text(args.output, lambda out: write_hatchet(tree, out))


def write_stacks(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> None:
    """Write the samples as stacks, in one of the two formats for that."""
    from incprof.analysis.views.stacks import stack_series
    from incprof.report.files.folded import write_folded
    from incprof.report.files.speedscope import write_speedscope

    keep = None if args.phase is None else intervals_of(phases_of(recorded, profile, args), args.phase)
    series = stack_series(profile, keep, libraries=chosen_libs(args.libs) != "drop")
    if not len(series.stack):
        raise NoDataError(f"{args.directory}: no samples to export")

    def write(out: TextIO) -> None:
        if args.format == "folded":
            write_folded(series, out)
        else:
            write_speedscope(series, out, name=recorded.app, rate_hz=profile.metadata.rate_hz)

    write_text(args.output, write)


def phases_of(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> PhaseResult:
    """Find the phases, as `incprof phases` numbers them."""
    _, result = analyse(recorded, profile, args)
    warn(result.warnings)
    return result


def intervals_of(result: PhaseResult, phase: int) -> BoolArray:
    """Mark the intervals of a phase, (n,).

    Raises:
        UsageError: there is no such phase.
    """
    if not 0 <= phase < result.k:
        raise UsageError(f"--phase {phase}: the run has phases 0 to {result.k - 1}")
    mask: BoolArray = result.labels == phase
    return mask
