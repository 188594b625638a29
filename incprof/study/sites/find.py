"""The sites of a run in its source: each placed where possible, or refused with the reason.

`incprof sites` shows them and `incprof instrument` inserts heartbeats there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.rates import Basis, BeatCost, Executions, calls_by_phase, choose_rate, phase_time
from incprof.model import IntervalProfile, Process, Run
from incprof.study.sites.affordable import SitePlanner
from incprof.study.sites.files import Sources
from incprof.study.sites.place import Placer, families
from incprof.study.sites.placed import Kind, PlacedSite, merged
from incprof.study.sites.requested import by_hand


def located_sites(
    run: Run,
    process: Process,
    chooser: SiteChooser,
    result: PhaseResult,
    source_root: Path,
    *,
    exe: str | None = None,
    wanted: Sequence[str] = (),
    allow_changed: bool = False,
    blank: Sequence[str] = (),
    cost: BeatCost,
) -> list[PlacedSite]:
    """Find the places of a run's sites: placed sites by heartbeat id, then the refused ones.

    Args:
        run: the run that `process` belongs to.
        process: the process of `chooser` and `result`.
        chooser: chose its sites.
        result: its phases.
        source_root: the directory that holds the program's source.
        exe: the program, if it is not where it was recorded.
        wanted: sites named by hand, "FUNC" or "FUNC:body" or "FUNC:loop", instead of those of the result.
        allow_changed: accept files that were changed since the recording.
        blank: macros hidden from the parser.
        cost: of a heartbeat.

    Raises:
        NoDataError: the directory does not exist.
        UsageError: a site named by hand does not exist, or its name is ambiguous.
    """
    profile = chooser.profile
    start = profile.metadata.raw.get("start_unix_ns")
    start_ns = start if isinstance(start, int) and start > 0 else None
    sources = Sources(source_root, run.directory, start_ns, allow_changed=allow_changed, blank=blank)
    placer = Placer(run, process, profile, result, sources, exe=exe)
    planner = SitePlanner(placer, chooser, result, cost)
    sites = planner.by_hand(by_hand(wanted, profile, result)) if wanted else planner.chosen()
    sources.save()
    return merged(sites)


def recorded_sites(profile: IntervalProfile, result: PhaseResult, cost: BeatCost) -> list[PlacedSite]:
    """Return the sites of a result at their places in the binary, without source."""
    time, calls = phase_time(profile, result.labels), calls_by_phase(profile, result.labels)
    family = families(profile.functions)
    found = []
    for phase in result.phases:
        for site in phase.sites:
            kind: Kind = "loop" if site.kind == "loop" else "body"
            members = next(group for group in family.values() if site.index in group)
            count = np.asarray(calls[:, members].sum(axis=1), dtype=np.float64).ravel()
            counted = profile.counted and site.function.address  # calls of inlined ones are not counted
            body: Basis = "counted" if counted else "at least"
            runs = Executions(count, body if kind == "body" else "unknown")
            rate = choose_rate(runs, time, (phase.id,), cost, result.options.sites)
            found.append(
                PlacedSite(
                    site.heartbeat, f"{site.function.name}:{kind}", (phase.id,), site.function.name, kind, None, None,
                    None, site.file, site.line, site.phase_pct, rate,
                )
            )  # fmt: skip
    return found
