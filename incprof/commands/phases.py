"""Find the phases of a recorded run, and the functions and loops to instrument for each.

    incprof phases gmon-app

Several ranks are answered for one of them, the lowest unless --rank is given. docs/phases.md explains the output.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from incprof.commands._common import add_run_arguments, exit_status, load, progress, warn
from incprof.errors import UsageError

if TYPE_CHECKING:
    from incprof.analysis.results import Phase, PhaseResult, RunSummary, Site
    from incprof.model import IntervalProfile, Run

NAME = "phases"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    parser.add_argument("--method", choices=("robust", "paper"), default="robust", help="how (default: robust)")
    parser.add_argument("--k", type=int, metavar="N", help="number of phases (default: chosen by the method)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of k-means (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="threads; the answer is the same (1)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object, schema incprof.phases/1")
    form.add_argument("--csv", action="store_true", help="one row per interval: interval, end_s, phase, cluster")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, print."""
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: expected a number from 1")
    if not 0 <= args.seed < 2**31:
        raise UsageError(f"--seed {args.seed}: expected a number from 0 to {2**31 - 1}")
    recorded, profile = load(args)
    warn(profile.warnings)
    summary, result = analyse(recorded, profile, args)
    warn(result.warnings)
    write(summary, result, args)
    return exit_status(profile)


def analyse(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> tuple[RunSummary, PhaseResult]:
    """Find the phases and look up where their sites are in the source."""
    from incprof.analysis.describe import summarise
    from incprof.analysis.phases import find_phases

    # Clustering takes one thread. Else scikit-learn would count cores, and print a traceback where there is no /sys.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pool = ThreadPoolExecutor(args.jobs) if args.jobs > 1 else nullcontext(None)
    with progress("clustering") as report, pool as executor:
        report(0, 1)
        result = find_phases(profile, method=args.method, k=args.k, random_state=args.seed, executor=executor)
    return summarise(profile, len(recorded.ranks), recorded.app), located(recorded, profile, result, args.exe)


def located(recorded: Run, profile: IntervalProfile, result: PhaseResult, exe: str | None) -> PhaseResult:
    """Give each site its file and line: the function's, or for a loop the line that is sampled most in its phase."""
    import numpy as np

    from incprof.readers.lines import line_weights, locate

    functions = [site.function for phase in result.phases for site in phase.sites]
    functions += [step.function for phase in result.phases for step in phase.steps]
    begin = dict(zip(functions, locate(recorded, profile, functions, exe=exe), strict=True))

    def place(site: Site, phase: Phase) -> Site:
        file, line = begin[site.function].file, begin[site.function].line
        if site.kind == "loop":
            members = np.flatnonzero(result.labels == phase.id)
            lines = line_weights(recorded, profile, site.index, intervals=members, exe=exe)
            # Code inlined from elsewhere may be the hottest; the loop to instrument is in the function's own file.
            own = [entry for entry in lines if entry[0] == file] or lines
            file, line = own[0][:2] if own else (file, line)
        return replace(site, file=file, line=line)

    def place_all(phase: Phase) -> Phase:
        steps = tuple(replace(s, file=begin[s.function].file, line=begin[s.function].line) for s in phase.steps)
        return replace(phase, sites=tuple(place(site, phase) for site in phase.sites), steps=steps)

    return replace(result, phases=tuple(map(place_all, result.phases)))


def write(summary: RunSummary, result: PhaseResult, args: argparse.Namespace) -> None:
    """Print the answer in the form that was asked for."""
    if args.json:
        from incprof.report.phases_json import write_json

        write_json(summary, result, sys.stdout)
    elif args.csv:
        from incprof.report.phases_csv import write_csv

        write_csv(result, sys.stdout)
    else:
        from incprof.report.phases_text import write_text

        write_text(summary, result, sys.stdout, width=text_width(), colour=wants_colour())


def wants_colour() -> bool:
    """Tell whether stdout takes colours: a terminal that is not dumb, unless NO_COLOR says otherwise."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_width() -> int:
    """Return the columns of the terminal, COLUMNS, or 100."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else _columns()


def _columns() -> int:
    """Return COLUMNS if it is a sensible number, else 100."""
    value = os.environ.get("COLUMNS", "")
    return int(value) if value.isdigit() and 40 <= int(value) <= 1000 else 100
