"""Write a page on a recorded run: one HTML file that opens from disk, without a network.

    incprof report gmon-app                                   # gmon-app.html
    incprof report gmon-app --source . --heartbeats ekg-app -o app.html

Phases over time, self time, call tree and flame graph of any part of the run or any phase, sites with their source,
why there are so many phases, all ranks, MPI calls, heartbeats, counters, and how good the recording is.
`incprof help report` explains the page.
"""

from __future__ import annotations

import argparse
import os

from incprof.cli.systems import cards_of, sections_of
from incprof.command.helping import expert_flags
from incprof.command.options import (
    add_counters_argument,
    add_phase_arguments,
    add_run_arguments,
    check_phase_arguments,
    exit_status,
    study_of,
)
from incprof.command.output import check_target, write_text
from incprof.command.terminal import warn
from incprof.errors import PartialDataError, UsageError
from incprof.safe.printable import say

NAME = "report"
LARGE = 5_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the page (default: DIR.html); - is stdout")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--source", metavar="SRC", help="the program's source: lines around each site")
    parser.add_argument(
        "--allow-changed", action="store_true", help="accept files that were changed since the recording"
    )
    parser.add_argument("--heartbeats", metavar="EKG-DIR", help="heartbeats to show under the phases")
    parser.add_argument("--trace", metavar="DIR", help="MPI calls to show, by incprof trace (default: those in DIR)")
    add_counters_argument(parser)
    parser.add_argument(
        "--node", metavar="FILE", help="counters of the machine, sampled during the run: power and states of each phase"
    )
    parser.add_argument("--one-rank", dest="all_ranks", action="store_false", help="leave out the map of all ranks")
    parser.add_argument("--full", action="store_true", help="condense nothing: every interval, every call path")
    add_phase_arguments(parser)
    expert_flags(parser, "--allow-changed", "--one-rank", "--k", "--level")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, write."""
    check_phase_arguments(args)
    if args.allow_changed and args.source is None:
        raise UsageError("--allow-changed needs --source")
    target = args.output if args.output is not None else default_target(args.directory)
    check_target(target, force=args.force, binary=False)
    study = study_of(args, nameless=True)
    from incprof.report.page.html import page
    from incprof.study.heartbeat_files import beat_lanes
    from incprof.study.run_page import page_parts

    beats, torn = (None, False) if args.heartbeats is None else beat_lanes(study, args.heartbeats)
    sections = [cards_of(study, args), *sections_of(study, args)]
    from incprof.systems.mpi.mpi_page import page_parts as mpi_parts

    mpi, untraced = mpi_parts(study, args.trace)
    from incprof.systems.gpu.page import page_parts as gpu_parts

    warn(study.phases().warnings)
    warn(untraced)
    parts = page_parts(
        study, beats=beats, sections=sections, source=args.source, allow_changed=args.allow_changed,
        all_ranks=args.all_ranks, systems=(*gpu_parts(study), *mpi), whole=args.full,
    )  # fmt: skip
    unread = parts.ranks.unread if parts.ranks is not None else ()
    text = page(parts, damaged=study.profile.damaged or torn)
    write_text(target, lambda out: out.write(text))
    if target != "-":
        size = os.path.getsize(target)
        say(f"{target}, {size / 1e6:.2g} MB")
        if size > LARGE:
            say("browsers may take long to open it: leave out --full")
    return PartialDataError.exit_code if torn or unread or untraced else exit_status(study)


def default_target(directory: str) -> str:
    """Return the name of the page: the run directory's, beside it. `.` and `..` have no name of their own."""
    path = os.path.normpath(directory)
    if os.path.basename(path) in (".", ".."):
        path = os.path.join(os.path.normpath(os.path.join(path, "..")), os.path.basename(os.path.abspath(path)))
    return path + ".html"
