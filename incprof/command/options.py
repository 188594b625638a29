"""Arguments shared by several verbs: the run, the options for finding phases, the choice of sites."""

from __future__ import annotations

import argparse
import math
import os
import re
from typing import TYPE_CHECKING, cast

from incprof.command.helping import expert
from incprof.errors import PartialDataError, UsageError

if TYPE_CHECKING:
    from incprof.study import Libs, Study, StudyOptions

# A longer range is a typing error.
MOST_RANKS = 10_000_000
LIBS = ("named", "caller", "separate", "drop")


def add_run_arguments(parser: argparse.ArgumentParser, *, optional: bool = False, metavar: str = "DIR") -> None:
    """Declare the arguments that select a profile. optional: DIR may be missing, and is None then."""
    parser.add_argument("directory", nargs="?" if optional else None, metavar=metavar, help="run directory")
    parser.add_argument("--rank", type=int, metavar="R", help="rank to analyse (default: the lowest)")
    parser.add_argument("--program", metavar="NAME", help="of a job, the program to analyse (default: the busiest)")
    pid = parser.add_argument("--pid", type=int, metavar="P", help="of a job, the process to analyse")
    exe = parser.add_argument("--exe", metavar="FILE", help="the program, if it is not where it was recorded")
    libs = parser.add_argument(
        "--libs",
        choices=LIBS,
        help="charge time in libraries to their functions (named), the caller, the library, or drop it",
    )
    expert(pid, exe, libs)


def add_phase_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options for finding phases."""
    method = parser.add_argument(
        "--method", choices=("robust", "paper"), default="robust", help="how phases are found (default: robust)"
    )
    parser.add_argument("--k", type=int, metavar="N", help="number of phases (default: chosen by the method)")
    parser.add_argument("--level", type=int, metavar="N", help="at most N phases: the closest merged, or their parts")
    resolution = parser.add_argument(
        "--resolution", type=float, default=0.0, metavar="S", help="the smallest part that is a phase, seconds"
    )
    seed = parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of k-means (default: 0)")
    ranks = parser.add_argument(
        "--ranks", metavar="LIST", help="ranks whose phases are found, such as 0,8-15 (default: all)"
    )
    jobs = parser.add_argument(
        "--jobs", type=int, metavar="N", help="number of processes; does not affect the result (default: one per core)"
    )
    dask = parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler whose workers read the ranks")
    overhead = parser.add_argument(
        "--overhead",
        type=float,
        default=1.0,
        metavar="PCT",
        help="overhead allowed for the heartbeats of all sites (default: 1 %%)",
    )
    thresholds = parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change a threshold: incprof help thresholds"
    )
    expert(method, resolution, seed, ranks, jobs, dask, overhead, thresholds)


def add_counters_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the file of counters recorded beside the run."""
    parser.add_argument(
        "--counters",
        metavar="FILE",
        help="counters recorded by incprof sample during the run: adds what bounds each phase",
    )


def add_site_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that select sites."""
    add_phase_arguments(parser)
    parser.add_argument(
        "--site", action="append", default=[], metavar="FUNC[:KIND]", help="this function instead; KIND is body or loop"
    )
    parser.add_argument(
        "--allow-changed", action="store_true", help="accept files that were changed since the recording"
    )


def check_phase_arguments(args: argparse.Namespace) -> None:
    """Reject invalid options before anything is read.

    Raises:
        UsageError: --jobs, --seed or --overhead is out of range.
    """
    if not 0 < args.overhead <= 100:
        raise UsageError(f"--overhead {args.overhead:g}: expected a percentage above 0, up to 100")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: expected a number from 1")
    ranks_of(args.ranks)
    if not 0 <= args.seed < 2**31:
        raise UsageError(f"--seed {args.seed}: expected a number from 0 to {2**31 - 1}")


def ranks_of(text: str | None) -> tuple[int, ...] | None:
    """Parse a list of ranks such as "0,8-15"; return None for all of them.

    Raises:
        UsageError: the list is invalid.
    """
    if text is None or text == "all":
        return None
    ranks: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first >= MOST_RANKS:
            raise UsageError(f"--ranks {text}: expected ranks and ranges of them, such as 0,8-15, or all")
        ranks.update(range(first, last + 1))
    return tuple(sorted(ranks))


def selected_libs(flag: str | None) -> Libs:
    """Return how library time is counted: the flag, else INCPROF_LIBS, else "named".

    Raises:
        UsageError: INCPROF_LIBS holds something else.
    """
    value = flag or os.environ.get("INCPROF_LIBS") or "named"
    if value not in LIBS:
        raise UsageError(f"INCPROF_LIBS={value!r}: expected one of {', '.join(LIBS)}")
    return cast("Libs", value)


def phase_options(args: argparse.Namespace) -> StudyOptions:
    """Return the options for finding phases.

    Raises:
        UsageError: the resolution is invalid, or given with the paper's method.
    """
    from incprof.study import StudyOptions

    jobs = args.jobs or 0
    if not 0 <= args.resolution < math.inf:
        raise UsageError(f"--resolution {args.resolution:g}: expected seconds, 0 or more")
    if args.resolution and args.method == "paper":
        raise UsageError("--resolution needs --method robust: the paper's method uses the recorded intervals")
    return StudyOptions(
        args.method, args.k, args.seed, jobs, args.overhead, tuple(args.set), args.level, args.dask, args.resolution
    )


def study_of(args: argparse.Namespace, *, nameless: bool = False, single_rank: bool = False) -> Study:
    """Open the run of the arguments, with progress and warnings on stderr.

    nameless: as for Study. single_rank: phases are not needed, and neither are other ranks.
    """
    from incprof.command.terminal import STDERR
    from incprof.study import Study

    study = Study(
        args.directory, rank=args.rank, program=args.program, pid=args.pid, exe=args.exe,
        libs=selected_libs(args.libs), nameless=nameless,
        options=phase_options(args), ranks=() if single_rank else ranks_of(args.ranks), listener=STDERR,
    )  # fmt: skip
    STDERR.warn(study.profile.warnings)
    return study


def exit_status(study: Study) -> int:
    """Return 0, or the code for partial data when a part of the input is missing in the answer."""
    return PartialDataError.exit_code if study.partial else 0
