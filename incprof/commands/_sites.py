"""The sites of a run in its source: each placed where it can be, or refused with the reason.

`incprof sites` shows them and `incprof instrument` puts heartbeats there.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from incprof.analysis.phases import choose_again
from incprof.analysis.rates import BeatCost, Executions, Rate, choose_rate, phase_time
from incprof.analysis.results import PhaseResult, RunSummary
from incprof.commands._phases import analyse
from incprof.commands._sites_arguments import add_site_arguments as add_site_arguments
from incprof.commands._sites_byhand import Wanted, by_hand
from incprof.commands._sites_files import Sources
from incprof.commands._sites_place import Placer, Spot, calls_by_phase, families
from incprof.errors import NoDataError, UsageError
from incprof.model import IntervalProfile, Process, Run
from incprof.readers.run import choose_process
from incprof.source.model import SourceFile

# Used where libappekg cannot be asked: pairs of begin and end as measured in docs/performance.md.
TYPICAL_COST = BeatCost(pair_ns=30.0, skipped_ns=3.0)

UNKNOWN_RATE = Rate(None, "unknown", 1, None)

Kind = Literal["body", "loop"]


@dataclass(frozen=True)
class PlacedSite:
    """A site and its place, or the reason why it has none.

    heartbeat: its id; 0 for a refused one. name: of the heartbeat, "function:kind". phases: that it stands for.
    recorded: the function's name in the program. kind: what it is in the end; a loop that cannot be told is a body.
    source, function, loop: the parsed file, the position of the function in it, and that of the loop in the function
    (None for a body); source and function are None for a refused site. file, line: of the function or the loop; below
    the source directory for a placed site. phase_pct: of the phase's intervals, see Site. share: of the function's
    samples in the loop, 0..1. note: what to know about the choice.
    """

    heartbeat: int
    name: str
    phases: tuple[int, ...]
    recorded: str
    kind: Kind
    source: SourceFile | None
    function: int | None
    loop: int | None
    file: str | None
    line: int | None
    phase_pct: float
    rate: Rate
    share: float | None = None
    note: str | None = None
    refusal: str | None = None


def find_sites(
    run: Run,
    profile: IntervalProfile,
    args: argparse.Namespace,
    *,
    blank: Sequence[str] = (),
    cost: BeatCost | None = None,
) -> tuple[RunSummary, PhaseResult, list[PlacedSite]]:
    """Find a run's phases, and the places of their sites below args.source; see `located_sites`."""
    summary, result = analyse(run, profile, args)
    process = choose_process(run, args.rank)
    sites = located_sites(
        run, process, profile, result, Path(args.source), exe=args.exe, wanted=args.site,
        allow_changed=args.allow_changed, blank=blank, cost=cost,
    )  # fmt: skip
    return summary, result, sites


def beat_cost() -> BeatCost:
    """What a heartbeat costs on this machine."""
    try:
        from appekg import cost

        found = cost()
    except (ImportError, OSError):
        return TYPICAL_COST
    return BeatCost(found.pair_ns, found.skipped_ns)


def located_sites(
    run: Run,
    process: Process,
    profile: IntervalProfile,
    result: PhaseResult,
    source_root: Path,
    *,
    exe: str | None = None,
    wanted: Sequence[str] = (),
    allow_changed: bool = False,
    blank: Sequence[str] = (),
    cost: BeatCost | None = None,
) -> list[PlacedSite]:
    """Find the places of a run's sites: those with a place by heartbeat id, then the refused ones.

    Args:
        run: the run that `process` belongs to.
        process: the one that `profile` and `result` are of.
        profile: without arcs is enough.
        result: its phases.
        source_root: the directory that holds the program's source.
        exe: the program, if it is not where it was recorded.
        wanted: sites named by hand, "FUNC" or "FUNC:body" or "FUNC:loop", instead of those of the result.
        allow_changed: take files that were changed since the recording.
        blank: macros that the parser shall not see.
        cost: of a heartbeat; measured unless given.

    Raises:
        NoDataError: there is no such directory.
        UsageError: a site named by hand does not exist, or is not the only one of that name.
    """
    start = profile.metadata.raw.get("start_unix_ns")
    start_ns = start if isinstance(start, int) and start > 0 else None
    sources = Sources(source_root, run.directory, start_ns, allow_changed=allow_changed, blank=blank)
    placer = Placer(run, process, profile, result.labels, sources, exe=exe)
    judge = _Judge(placer, profile, result, cost or beat_cost())
    sites = judge.by_hand(by_hand(wanted, profile, result)) if wanted else judge.chosen()
    sources.save()
    return _merged(sites)


def recorded_sites(profile: IntervalProfile, result: PhaseResult, cost: BeatCost) -> list[PlacedSite]:
    """The sites of a result where the binary says that they are, for want of their source."""
    time, calls = phase_time(profile, result.labels), calls_by_phase(profile, result.labels)
    family = families(profile.functions)
    found = []
    for phase in result.phases:
        for site in phase.sites:
            kind: Kind = "loop" if site.kind == "loop" else "body"
            members = next(group for group in family.values() if site.index in group)
            count = np.asarray(calls[:, members].sum(axis=1), dtype=np.float64).ravel()
            runs = Executions(count, "counted") if kind == "body" else Executions(count, "unknown")
            found.append(
                PlacedSite(
                    site.heartbeat, f"{site.function.name}:{kind}", (phase.id,), site.function.name, kind, None, None,
                    None, site.file, site.line, site.phase_pct, choose_rate(runs, time, (phase.id,), cost),
                )
            )  # fmt: skip
    return found


class _Judge:
    """Places sites one after the other, and says what their beats would cost."""

    def __init__(self, placer: Placer, profile: IntervalProfile, result: PhaseResult, cost: BeatCost):
        self._placer, self._profile, self._result, self._cost = placer, profile, result, cost
        self._time = phase_time(profile, result.labels)

    def by_hand(self, wanted: Sequence[Wanted]) -> list[PlacedSite]:
        """Place sites that were named by hand.

        Raises:
            UsageError: one of them is neither in the profile nor in the source.
        """
        self._placer.look_up(site.index for site in wanted if site.index is not None)
        return [
            self._unrecorded(site)
            if site.index is None
            else self._try(0, site.index, site.kind, site.phases, 0.0, forced=True)
            for site in wanted
        ]

    def _unrecorded(self, site: Wanted) -> PlacedSite:
        """Place a site whose function is not in the profile."""
        try:
            spot = self._placer.place_unrecorded(site.name, site.kind)
        except NoDataError as error:
            hint = f"; did you mean {', '.join(site.near)}?" if site.near else ""
            raise UsageError(f"--site {site.name}: not in the recording, and {error}{hint}") from error
        return _placed(0, site.name, spot, (), 0.0, UNKNOWN_RATE)

    def chosen(self) -> list[PlacedSite]:
        """Place the sites of the phases; for one that cannot be placed, the next best site of its phase."""
        tried: dict[tuple[int, int, str], PlacedSite] = {}
        excluded: set[tuple[int, str]] = set()
        result = self._result
        while new := [(p.id, s) for p in result.phases for s in p.sites if (p.id, s.index, s.kind) not in tried]:
            self._placer.look_up(site.index for _, site in new)
            for phase, site in new:
                answer = self._try(site.heartbeat, site.index, site.kind, (phase,), site.phase_pct)
                tried[phase, site.index, site.kind] = answer
            excluded = {(index, kind) for (_, index, kind), site in tried.items() if site.refusal}
            result = choose_again(self._profile, result, excluded) if excluded else result
        share = {(p.id, s.index, s.kind): s.phase_pct for p in result.phases for s in p.sites}
        placed = [replace(tried[key], phase_pct=pct) for key, pct in share.items()]
        return [*placed, *self._steps(placed, excluded), *(site for site in tried.values() if site.refusal)]

    def _steps(self, placed: Sequence[PlacedSite], excluded: set[tuple[int, str]]) -> list[PlacedSite]:
        """For a phase without a site, the first of what it repeats that can be placed."""
        found = []
        served = {phase for site in placed for phase in site.phases}
        for phase in self._result.phases:
            steps = [s for s in phase.steps if (s.index, s.kind) not in excluded]
            for step in steps if phase.id not in served else ():
                site = self._try(0, step.index, step.kind, (phase.id,), 0.0)
                if not site.refusal:
                    note = f"calls what the phase runs ({100 * step.share:.0f} % of it), as that cannot be had itself"
                    found.append(replace(site, note=note))
                    break
        return found

    def _try(
        self, heartbeat: int, index: int, kind: str, phases: tuple[int, ...], phase_pct: float, *, forced: bool = False
    ) -> PlacedSite:
        """Place one site. forced: also when no rate factor makes it cheap enough."""
        name = self._profile.functions[index].name
        asked: Kind = "loop" if kind == "loop" else "body"
        try:
            spot = self._placer.place(index, kind, phases)
        except NoDataError as error:
            file, line = self._placer.begin(index)
            return PlacedSite(
                0, f"{name}:{kind}", phases, name, asked, None, None, None, file, line, phase_pct, UNKNOWN_RATE,
                refusal=str(error),
            )  # fmt: skip
        rate = choose_rate(spot.runs, self._time, phases, self._cost)
        site = _placed(heartbeat, name, spot, phases, phase_pct, rate)
        if not rate.too_often:
            return site
        often = f"{'up to ' if rate.basis == 'at most' else ''}{rate.beats_hz:.3g} times a second"
        reason = f"beats {often}: whatever the rate factor, that costs {rate.overhead_pct:.2g} %"
        return replace(site, note=reason) if forced else replace(site, heartbeat=0, refusal=reason)


def _placed(
    heartbeat: int, recorded: str, spot: Spot, phases: tuple[int, ...], phase_pct: float, rate: Rate
) -> PlacedSite:
    """Describe a site that has a place."""
    file = spot.found.file
    function = file.functions[spot.found.position]
    kind: Kind = "body" if spot.loop is None else "loop"
    line = function.line if spot.loop is None else function.loops[spot.loop].line
    return PlacedSite(
        heartbeat, f"{function.name}:{kind}", phases, recorded, kind, file, spot.found.position, spot.loop, file.path,
        line, phase_pct, rate, spot.share, spot.note,
    )  # fmt: skip


def _merged(sites: Sequence[PlacedSite]) -> list[PlacedSite]:
    """One heartbeat for each place, by id; then the refused sites, each once."""
    places: dict[tuple[object, ...], PlacedSite] = {}
    for site in sites:
        key = (site.file, site.function, site.loop) if not site.refusal else (site.name, site.refusal)
        first = places.setdefault(key, site)
        if first is not site:
            ids = [i for i in (first.heartbeat, site.heartbeat) if i]
            phases = tuple(sorted({*first.phases, *site.phases}))
            places[key] = replace(first, heartbeat=min(ids, default=0), phases=phases)
    placed = _numbered([site for site in places.values() if not site.refusal])
    twice = {name for name, count in Counter(site.name for site in placed).items() if count > 1}
    placed = [replace(s, name=f"{s.name}:{s.line}") if s.name in twice else s for s in placed]
    return placed + [site for site in places.values() if site.refusal]


def _numbered(sites: Sequence[PlacedSite]) -> list[PlacedSite]:
    """Sites by id: one that has none, or that of a site before it, gets the next free one."""
    free = 1 + max((site.heartbeat for site in sites), default=0)
    used: set[int] = set()
    found = []
    for site in sites:
        if not site.heartbeat or site.heartbeat in used:
            site, free = replace(site, heartbeat=free), free + 1
        used.add(site.heartbeat)
        found.append(site)
    return sorted(found, key=lambda site: site.heartbeat)
