"""What the verbs that look at a run's phases have in common: how phases are found, and where their sites are."""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from incprof.commands._common import progress
from incprof.commands._sites_cost import TYPICAL
from incprof.errors import UsageError

if TYPE_CHECKING:
    from incprof.analysis.phases.results import Phase, PhaseResult, RunSummary, Site
    from incprof.model import IntervalProfile, Run


def add_phase_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say how phases are found."""
    parser.add_argument("--method", choices=("robust", "paper"), default="robust", help="how (default: robust)")
    parser.add_argument("--k", type=int, metavar="N", help="number of phases (default: chosen by the method)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of k-means (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="threads; the answer is the same (1)")
    parser.add_argument(
        "--overhead", type=float, default=1.0, metavar="PCT", help="what the heartbeats of all sites may cost (1 %%)"
    )


def check_phase_arguments(args: argparse.Namespace) -> None:
    """Refuse what cannot be meant, before anything is read.

    Raises:
        UsageError: --jobs, --seed or --overhead is out of range.
    """
    if not 0 < args.overhead <= 100:
        raise UsageError(f"--overhead {args.overhead:g}: expected a percentage above 0, up to 100")
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: expected a number from 1")
    if not 0 <= args.seed < 2**31:
        raise UsageError(f"--seed {args.seed}: expected a number from 0 to {2**31 - 1}")


def analyse(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> tuple[RunSummary, PhaseResult]:
    """Find the phases, and sites whose heartbeats cost no more than they may; look up where these are in the source."""
    from incprof.analysis.phases.describe import summarise
    from incprof.analysis.phases.find import find_phases
    from incprof.analysis.sites.budget import within_budget

    # Clustering takes one thread. Else scikit-learn would count cores, and print a traceback where there is no /sys.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pool = ThreadPoolExecutor(args.jobs) if args.jobs > 1 else nullcontext(None)
    with progress("clustering") as report, pool as executor:
        report(0, 1)
        result = find_phases(profile, method=args.method, k=args.k, random_state=args.seed, executor=executor)
    # The paper's sites stay what they are. A measured cost would make the choice depend on the machine.
    result = within_budget(profile, result, TYPICAL, args.overhead, move=args.method == "robust")
    return summarise(profile, len(recorded.ranks), recorded.app), located(recorded, profile, result, args.exe)


def located(recorded: Run, profile: IntervalProfile, result: PhaseResult, exe: str | None) -> PhaseResult:
    """Give each site its file and line: the function's, or for a loop the line that is sampled most in its phase."""
    import numpy as np

    from incprof.readers.symbols.lines import line_weights, locate

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
