"""What to do next with a recorded run: sentences, and the commands to type."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from incprof.analysis.phases.results import Phase, PhaseResult, RunSummary, all_steps
from incprof.model import Metadata
from incprof.report.words.figures import count
from incprof.report.words.numbers import seconds

# An interval holds an iteration and its neighbours' parts: with fewer than two, intervals of one phase differ.
ITERATIONS = 2.0
ROUND = (1.0, 2.0, 5.0, 10.0)


def next_steps(
    run: RunSummary, result: PhaseResult, metadata: Metadata, directory: str, source: str | None
) -> list[tuple[str, str]]:
    """Return what to do next, each with its command."""
    told = []
    where, at = shlex.quote(directory), shlex.quote(source or ".")
    longest = longest_period_s(result.phases)
    if longest is not None and (interval := fitting_interval_s(longest, run.interval_s)) is not None:
        argv = metadata.raw.get("argv")
        command = shlex.join(map(str, argv)) if isinstance(argv, list) else "./app"
        told.append(
            (
                f"Iterations take up to {seconds(longest)}, intervals {seconds(run.interval_s)}: record again with "
                "intervals of two iterations",
                f"incprof record -i {interval:g} -- {command}",
            )
        )
    sites = {site.heartbeat for phase in result.phases for site in phase.sites}
    if sites:
        told.append(
            (
                f"Make a patch that adds {count(len(sites), 'heartbeat')} to the source",
                f"incprof instrument {where} --source {at} --patch beats.patch",
            )
        )
    told.append(("See why these are the phases and sites", f"incprof phases {where} --explain"))
    told.append(("Compare with the run of another version, recorded into NEW", f"incprof diff {where} NEW"))
    return told


def longest_period_s(phases: Sequence[Phase]) -> float | None:
    """Return the longest time from one iteration of a phase's loop to the next; None where none is known."""
    return max((s.period_s for phase in phases for s in all_steps(phase.steps) if s.period_s is not None), default=None)


def fitting_interval_s(period_s: float, interval_s: float) -> float | None:
    """Return an interval that holds ITERATIONS; None where this one does. Rounded up to 1, 2 or 5 of a power of ten."""
    wanted = ITERATIONS * period_s
    if interval_s >= wanted * (1 - 1e-9):
        return None
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(factor * power for factor in ROUND if factor * power >= wanted * (1 - 1e-9))
