"""Write a recorded run in another tool's format.

    incprof export gmon-app --format gprof -o gmon.out       # then: gprof ./app gmon.out
    incprof export gmon-app --format csv > profile.csv        # a row per interval and function
    incprof export gmon-app --format parquet --table samples -o samples.parquet
    incprof export gmon-app --format folded | flamegraph.pl > flames.svg
    incprof export gmon-app --format speedscope -o app.speedscope.json
    incprof export gmon-app --format trace --heartbeats ekg-app -o app.trace.json     # Perfetto, chrome://tracing
    incprof export gmon-app --format hatchet -o app.hatchet.json

`incprof help export` describes the formats.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from typing import TYPE_CHECKING

from incprof.command.helping import expert_flags
from incprof.command.options import (
    add_phase_arguments,
    add_run_arguments,
    check_phase_arguments,
    exit_status,
    study_of,
)
from incprof.command.output import check_target, write_bytes, write_text
from incprof.command.terminal import warn
from incprof.errors import IncprofError, PartialDataError, UsageError
from incprof.safe.printable import say

if TYPE_CHECKING:
    from incprof.study import Study

NAME = "export"
FORMATS = ("gprof", "csv", "parquet", "folded", "speedscope", "trace", "hatchet")
# Common aliases of some of them.
CALLED = {"perfetto": "trace", "chrome": "trace", "flamegraph": "folded", "flamegraph.pl": "folded"}
# The program that opens a file of each format.
SHOWS = {
    "gprof": "gprof {exe} {file}", "folded": "flamegraph.pl {file} > flames.svg, or https://www.speedscope.app",
    "speedscope": "https://www.speedscope.app", "trace": "https://ui.perfetto.dev",
}  # fmt: skip
BINARY = ("gprof", "parquet")
# The tables of incprof.analysis.views.pandas_tables, which would take long to import for the help.
TABLES = ("profile", "intervals", "samples", "phases", "labels", "functions", "sites", "steps", "scores")
# Those that need phases.
OF_PHASES = ("intervals", "phases", "labels", "functions", "sites", "steps", "scores")
# The options that another one requires.
ONLY = {
    "phase": ("folded", "speedscope", "hatchet"),
    "table": ("csv", "parquet"),
    "heartbeats": ("trace",),
    "all_ranks": ("trace",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    parser.add_argument(
        "--format", choices=FORMATS, required=True, type=lambda word: CALLED.get(word, word),
        help="what to write (perfetto: trace; flamegraph: folded)",
    )  # fmt: skip
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write (default: -, stdout)")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--table", choices=TABLES, help="which table (csv, parquet; default: profile)")
    parser.add_argument("--phase", type=int, metavar="N", help="only this phase (folded, speedscope, hatchet)")
    parser.add_argument("--heartbeats", metavar="EKG-DIR", help="add their rates and durations (trace)")
    parser.add_argument("--all-ranks", action="store_true", help="each rank as a process (trace)")
    add_phase_arguments(parser)
    expert_flags(parser, "--k")


def run(args: argparse.Namespace) -> int:
    """Read one profile, or all, and write it."""
    check_phase_arguments(args)
    for name, formats in ONLY.items():
        value = getattr(args, name)
        if value is not None and value is not False and args.format not in formats:
            raise UsageError(f"--{name.replace('_', '-')} goes with {', '.join(formats)}, not with {args.format}")
    for one in ("rank", "pid"):
        if args.all_ranks and getattr(args, one) is not None:
            raise UsageError(f"--{one} and --all-ranks exclude each other")
    if args.format == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise IncprofError("--format parquet needs pyarrow: pip install 'incprof[parquet]', or take --format csv")
    check_target(args.output, force=args.force, binary=args.format in BINARY)
    of_phases = args.format in ("trace", "hatchet") or args.phase is not None or args.table in OF_PHASES
    study = study_of(args, single_rank=not of_phases)
    if of_phases:
        warn(study.phases(confidence=False).warnings)
    damaged = write(study, args)
    if args.output != "-":
        say(written(study, args))
    return PartialDataError.exit_code if damaged else exit_status(study)


def written(study: Study, args: argparse.Namespace) -> str:
    """Describe the written file, and the program that opens it."""
    what = f"table {args.table or 'profile'} as {args.format}" if args.format in ONLY["table"] else args.format
    shows = SHOWS.get(args.format, "").format(exe=study.run.app, file=args.output)
    size = os.path.getsize(args.output)
    return f"{args.output}: {what}, {size / 1e6:.2g} MB{'; to see it: ' + shows if shows else ''}"


def write(study: Study, args: argparse.Namespace) -> bool:
    """Write the requested format; return whether other input than the profile was damaged."""
    if args.format == "gprof":
        from incprof.study.views import gprof

        write_bytes(args.output, gprof(study))
    elif args.format in ("csv", "parquet"):
        as_table(study, args)
    elif args.format == "trace":
        return as_trace(study, args)
    else:
        as_stacks(study, args)
    return False


def as_table(study: Study, args: argparse.Namespace) -> None:
    """Write one table."""
    name = args.table or "profile"
    if args.format == "csv" and name == "profile":
        from incprof.report.exports import write_profile_csv

        write_text(args.output, lambda out: write_profile_csv(study.recorded, out))
        return
    from incprof.report.exports import write_frame, write_parquet
    from incprof.study.views import table

    rows = table(study, name)
    if args.format == "csv":
        write_text(args.output, lambda out: write_frame(rows, out))
    else:
        write_bytes(args.output, lambda out: write_parquet(rows, out))


def as_stacks(study: Study, args: argparse.Namespace) -> None:
    """Write the samples as stacks, in one of the formats for that."""
    from incprof.report.exports import write_folded, write_hatchet, write_speedscope
    from incprof.study.views import stacks, tree

    if args.format == "hatchet":
        calls = tree(study, args.phase)
        write_text(args.output, lambda out: write_hatchet(calls, out))
        return
    series = stacks(study, args.phase)
    if args.format == "folded":
        write_text(args.output, lambda out: write_folded(series, out))
    else:
        rate_hz = study.profile.metadata.rate_hz
        write_text(args.output, lambda out: write_speedscope(series, out, name=study.run.app, rate_hz=rate_hz))


def as_trace(study: Study, args: argparse.Namespace) -> bool:
    """Write the trace, rank after rank; return whether a part of the input other than the profile was left out."""
    from incprof.report.exports import write_trace
    from incprof.study.views import Trace
    from incprof.systems.gpu.page import gpu_tracks

    trace = Trace(study, args.heartbeats, all_ranks=args.all_ranks, others=gpu_tracks)
    write_text(
        args.output, lambda out: write_trace(trace.tracks(), study.phases(confidence=False), out, about=trace.about)
    )
    return trace.damaged
