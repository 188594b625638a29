"""Find the repeating MPI communication of a traced program, and predict its run time.

    incprof signature trace-app
    incprof signature trace-4 trace-16 trace-64 --method paper --against global

The phases are those of a representative rank. Of several runs it compares what the analysis takes and how
good the prediction is. `incprof help signature` explains the output.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from incprof.command.helping import expert
from incprof.command.output import add_plot_argument, check_plot, check_target, write_plot, write_text
from incprof.command.terminal import Stderr, text_width, warn
from incprof.errors import PartialDataError, UsageError

if TYPE_CHECKING:
    from incprof.systems.mpi.analyse.event_phases import SignatureOptions
    from incprof.systems.mpi.analyse.signature import Signature

NAME = "signature"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("directory", metavar="DIR", help="run directory with traces")
    parser.add_argument(
        "more", nargs="*", default=[], metavar="DIR", help="runs of the program on other numbers of processes"
    )
    parser.add_argument(
        "--method",
        choices=("robust", "paper", "global"),
        default="robust",
        help="how phases are found (default: robust)",
    )
    parser.add_argument(
        "--against", choices=("robust", "paper", "global"), help="with several runs: compare by this method too"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the signature with all that a prediction needs")
    parser.add_argument("--phase-table", metavar="FILE", help="write the paper's Phase_Table")
    add_plot_argument(parser, "phases over ranks, communication between ranks, and time in MPI by call")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.signature/1")
    expert(
        parser.add_argument(
            "--similar",
            type=float,
            metavar="R",
            help="least ratio at which work is similar (default: 0.85 of instructions)",
        ),
        parser.add_argument("--relevant", type=float, default=0.01, metavar="R", help="least part of a phase (0.01)"),
        parser.add_argument("--warm-up", type=int, metavar="N", help="occurrences that pass unmeasured (1)"),
        parser.add_argument("--occurrences", type=int, metavar="N", help="occurrences that are measured (3 or more)"),
        parser.add_argument("--precise", type=float, metavar="R", help="measure until the range is that narrow (0.01)"),
        parser.add_argument("--most", type=float, metavar="R", help="part of the run that is measured at most"),
        parser.add_argument("--sends", action="store_true", help="count places of the Phase_Table in sends"),
        parser.add_argument("--jobs", type=int, metavar="N", help="processes that read traces (one on each processor)"),
        parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler whose workers read the traces"),
    )


def run(args: argparse.Namespace) -> int:
    """Read and analyse the traces, and print the result."""
    options = _options(args)
    if args.more:
        return compare(args, options)
    if args.against is not None:
        raise UsageError("--against compares several runs: give more than one directory")
    for target in (args.output, args.phase_table):
        if target is not None:
            check_target(target, force=args.force, binary=False)
    check_plot(args)
    from incprof.systems.mpi.run_signature import find_signature

    signature, unread = find_signature(
        args.directory, args.method, options, jobs=args.jobs or 0, dask=args.dask, listener=Stderr()
    )
    warn(unread)
    broken = [one.rank for one in signature.processes if not one.clean]
    if broken:
        ranks = f"rank {broken[0]}" if len(broken) == 1 else f"{len(broken)} ranks, the first {broken[0]},"
        warn([f"the trace of {ranks} is incomplete: the program was killed, goes on, or the file is damaged"])
    write(signature, args)
    return PartialDataError.exit_code if unread or broken else 0


def compare(args: argparse.Namespace, options: SignatureOptions) -> int:
    """Compare runs at several scales."""
    for name in ("output", "phase_table", "plot"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for a single run: give one directory")
    from incprof.systems.mpi.prediction_answer import write_scales as write_tables
    from incprof.systems.mpi.prediction_answer import write_scales_json
    from incprof.systems.mpi.run_signature import scales

    methods = [args.method, *([args.against] if args.against not in (None, args.method) else [])]
    directories = [args.directory, *args.more]
    programs, problems = scales(directories, methods, options, jobs=args.jobs or 0, dask=args.dask, listener=Stderr())
    warn(problems)
    (write_scales_json if args.json else write_tables)(programs, sys.stdout)
    return PartialDataError.exit_code if problems else 0


def write(signature: Signature, args: argparse.Namespace) -> None:
    """Write the requested files, and print the result."""
    from incprof.systems.mpi.run_signature import profile_phases
    from incprof.systems.mpi.signature_answer import write_json, write_phase_table
    from incprof.systems.mpi.signature_answer import write_text as write_table

    in_profile = profile_phases(args.directory, signature.process)
    if args.output is not None:
        write_text(args.output, lambda out: write_json(signature, out, whole=True, profile_phases=in_profile))
    if args.phase_table is not None:
        write_text(args.phase_table, lambda out: write_phase_table(signature, out, in_sends=args.sends))
    if args.plot is not None:
        from incprof.systems.mpi.mpi_page import drawn
        from incprof.systems.mpi.mpi_page import write_plot as picture

        shown = drawn(args.directory, signature)
        write_plot(args, lambda out, form: picture(shown, out, form))
    if args.json:
        write_json(signature, sys.stdout, profile_phases=in_profile)
    else:
        write_table(signature, sys.stdout, width=text_width(), profile_phases=in_profile)


def _options(args: argparse.Namespace) -> SignatureOptions:
    """Return the thresholds.

    Raises:
        UsageError: one is out of its range.
    """
    for name, low, high in (("similar", 0.0, 1.0), ("relevant", 0.0, 1.0), ("most", 0.0, 1.0), ("precise", 0.0, 1.0)):
        value = getattr(args, name)
        if value is not None and not low <= value <= high:
            raise UsageError(f"--{name} {value:g} is outside {low:g}..{high:g}")
    for name, least in (("warm_up", 0), ("occurrences", 1), ("jobs", 1)):
        if getattr(args, name) is not None and getattr(args, name) < least:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(args, name)}: {least} or more")
    from incprof.systems.mpi.analyse.event_phases import SignatureOptions

    options = SignatureOptions(args.similar, args.relevant, most=args.most)
    if args.warm_up is not None or args.occurrences is not None:
        # Exactly that many, unless precision is requested as well.
        options = replace(options, least=0.0, precise=math.inf)
    for name in ("warm_up", "occurrences", "precise"):
        if getattr(args, name) is not None:
            options = replace(options, **{name: getattr(args, name)})
    return options
