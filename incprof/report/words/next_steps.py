"""What to do next with a recorded run: sentences, and the commands to type."""

from __future__ import annotations

import shlex

from incprof.analysis.phases.interval import proposed
from incprof.analysis.phases.results import PhaseResult, RunSummary
from incprof.model import Metadata
from incprof.report.words.figures import count
from incprof.report.words.numbers import seconds


def next_steps(
    run: RunSummary, result: PhaseResult, metadata: Metadata, directory: str, source: str | None
) -> list[tuple[str, str]]:
    """Return what to do next, each with its command."""
    told = []
    where, at = shlex.quote(directory), shlex.quote(source or ".")
    if (found := proposed(run, result)) is not None:
        argv = metadata.raw.get("argv")
        command = shlex.join(map(str, argv)) if isinstance(argv, list) else "./app"
        rate = "" if found.rate_hz is None else f" -r {found.rate_hz:g}"
        told.append(
            (
                f"Iterations take {seconds(found.period_s)}, and intervals of {seconds(run.interval_s)} cut through "
                "them: record again with others",
                f"incprof record -i {found.interval_s:g}{rate} -- {command}",
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
