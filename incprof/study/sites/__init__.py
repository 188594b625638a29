"""The sites of a run in its source: each placed where possible, or refused with the reason.

`incprof sites` shows them and `incprof instrument` inserts heartbeats there.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incprof.analysis.answer import choose_again
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.sites import SiteChooser
from incprof.analysis.sites.rates import Basis, BeatCost, Executions, calls_by_phase, choose_rate, phase_time
from incprof.errors import NoDataError, UsageError
from incprof.model import IntervalProfile, Process, Run
from incprof.model.names import parse
from incprof.study.sites.place import Placer, Sources, families
from incprof.study.sites.store import UNKNOWN_RATE, Kind, PlacedSite, describe, merged


def located_sites(
    run: Run,
    process: Process,
    chooser: SiteChooser,
    result: PhaseResult,
    source_root: Path,
    *,
    exe: str | None = None,
    requested: Sequence[str] = (),
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
        requested: sites named by hand, "FUNC" or "FUNC:body" or "FUNC:loop", instead of those of the result.
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
    sites = planner.by_hand(by_hand(requested, profile, result)) if requested else planner.sites_of_phases()
    sources.save()
    return merged(sites)


def recorded_sites(profile: IntervalProfile, result: PhaseResult, cost: BeatCost) -> list[PlacedSite]:
    """Return the sites of a result at their places in the binary, without source."""
    time, calls = phase_time(profile, result.labels), calls_by_phase(profile, result.labels)
    family = families(profile.functions)
    sites = []
    for phase in result.phases:
        for site in phase.sites:
            kind: Kind = "loop" if site.kind == "loop" else "body"
            members = next(group for group in family.values() if site.index in group)
            count = np.asarray(calls[:, members].sum(axis=1), dtype=np.float64).ravel()
            counted = profile.counted and site.function.address  # calls of inlined ones are not counted
            body: Basis = "counted" if counted else "at least"
            runs = Executions(count, body if kind == "body" else "unknown")
            rate = choose_rate(runs, time, (phase.id,), cost, result.options.sites)
            sites.append(
                PlacedSite(
                    site.heartbeat, f"{site.function.name}:{kind}", (phase.id,), site.function.name, kind, None, None,
                    None, site.file, site.line, site.phase_pct, rate,
                )
            )  # fmt: skip
    return sites


# Try sites one after the other: whether each has a place, and whether a beat there is cheap enough.


# A phase whose sites cover at least this share of its intervals needs no more.
COVERED_PCT = 90.0


class SitePlanner:
    """Places sites one after the other, and predicts the cost of their beats."""

    def __init__(self, placer: Placer, chooser: SiteChooser, result: PhaseResult, cost: BeatCost):
        self._placer, self._chooser, self._result, self._cost = placer, chooser, result, cost
        self._uncounted: dict[tuple[int, int, str], PlacedSite] = {}
        self._time = phase_time(chooser.profile, result.labels)

    def by_hand(self, requested: Sequence[RequestedSite]) -> list[PlacedSite]:
        """Place sites that were named by hand.

        Raises:
            UsageError: one of them is neither in the profile nor in the source.
        """
        self._placer.look_up(site.index for site in requested if site.index is not None)
        return [
            self._unrecorded(site)
            if site.index is None
            else self._try(
                0, site.index, site.kind, site.phases or self._placer.phases_of(site.index), 0.0, forced=True
            )
            for site in requested
        ]

    def _unrecorded(self, site: RequestedSite) -> PlacedSite:
        """Place a site whose function is not in the profile."""
        try:
            spot = self._placer.place_unrecorded(site.name, site.kind)
        except NoDataError as error:
            hint = f"; did you mean {', '.join(site.suggestions)}?" if site.suggestions else ""
            raise UsageError(f"--site {site.name}: not in the recording, and {error}{hint}") from error
        return describe(0, site.name, spot, (), 0.0, UNKNOWN_RATE)

    def sites_of_phases(self) -> list[PlacedSite]:
        """Place the sites of the phases; a site that cannot be placed is replaced by the phase's next best one."""
        tried: dict[tuple[int, int, str], PlacedSite] = {}
        result = self._result
        while new := [(p.id, s) for p in result.phases for s in p.sites if (p.id, s.index, s.kind) not in tried]:
            self._placer.look_up(site.index for _, site in new)
            for phase, site in new:
                answer = self._counted(site.heartbeat, site.index, site.kind, (phase,), site.phase_pct)
                tried[phase, site.index, site.kind] = answer
            result = self._without(result, tried)
        share = {(p.id, s.index, s.kind): s.phase_pct for p in result.phases for s in p.sites}
        placed = [replace(tried[key], phase_pct=pct) for key, pct in share.items()]
        refused = {key: site for key, site in tried.items() if site.refusal}
        sites = [*placed, *self._callers(placed, refused)]
        served = {phase for site in sites if not site.refusal for phase in site.phases}
        for key, uncounted in self._uncounted.items():
            if key[0] not in served and key in refused:
                sites.append(uncounted)
                served.add(key[0])
                del refused[key]
        return [*sites, *refused.values()]

    def _without(self, result: PhaseResult, tried: Mapping[tuple[int, int, str], PlacedSite]) -> PhaseResult:
        """Return the phases with other sites than the refused ones; a site refused for one phase stays for others."""
        had = {key[1:] for key, site in tried.items() if not site.refusal}
        refused = {key for key, site in tried.items() if site.refusal}
        everywhere = {key[1:] for key in refused} - had
        result = choose_again(self._chooser, result, everywhere) if everywhere else result
        for phase in sorted({key[0] for key in refused if key[1:] in had}):
            own = everywhere | {key[1:] for key in refused if key[0] == phase}
            again = choose_again(self._chooser, result, own).phases
            result = replace(
                result, phases=tuple(again[i] if p.id == phase else p for i, p in enumerate(result.phases))
            )
        return result

    def _callers(
        self, placed: Sequence[PlacedSite], refused: Mapping[tuple[int, int, str], PlacedSite]
    ) -> list[PlacedSite]:
        """Return the nearest placeable caller of one of its functions for each phase that is not covered.

        If a phase already has a site, only one that works for this phase alone is added.
        """
        site_of_phase: dict[int, PlacedSite] = {}
        covered = {phase.id: 0.0 for phase in self._result.phases}
        for site in placed:
            covered[site.phases[0]] += site.phase_pct
        for phase, index, kind in refused:
            if phase in site_of_phase or covered[phase] >= COVERED_PCT:
                continue
            callers = [key for key in self._placer.callers(index, phase) if (phase, *key) not in refused]
            self._placer.look_up(caller for caller, _ in callers)
            useful = [key for key in callers if not covered[phase] or self._placer.works_for(key[0], phase)]
            tried = (self._caller(other, suits, phase) for other, suits in useful)
            if caller := next((site for site in tried if not site.refusal), None):
                note = f"calls {refused[phase, index, kind].recorded}, which cannot hold a heartbeat"
                site_of_phase[phase] = replace(caller, note=f"{note}; {caller.note}" if caller.note else note)
        return list(site_of_phase.values())

    def _counted(self, heartbeat: int, index: int, kind: str, phases: tuple[int, ...], phase_pct: float) -> PlacedSite:
        """Place one site, but avoid a loop of unknown beat rate while there is an alternative.

        The alternative is the function, or the code around its parallel region, if it is called in most intervals; a
        long-running function says little about its phase, and a beat in its loop is thinned at run time if necessary.
        Without code around the region, the site is refused for now, and used only if its phase has no other. In Python,
        thinning does not help, and such a loop is never used.
        """
        site = self._try(heartbeat, index, kind, phases, phase_pct)
        counted = site.rate.basis in ("counted", "estimated", "at most")
        if site.refusal or site.kind == "body" or counted:
            return site
        in_python = self._in_python(index)
        if not in_python and self._placer.lasts_on(index, phases):
            return site
        body = self._try(heartbeat, index, "body", phases, phase_pct, around=True)
        if not body.refusal:
            return replace(body, note="its body: the rate of its loop is unknown")
        if not in_python:
            self._uncounted.update(((phase, index, kind), site) for phase in phases)
        return replace(site, heartbeat=0, refusal=f"the rate of its loop is unknown, and {body.refusal}")

    def _in_python(self, index: int) -> bool:
        return self._chooser.profile.functions[index].code is not None

    def _caller(self, index: int, kind: str, phase: int) -> PlacedSite:
        """Place a site in a caller of a phase's function; in Python, never in a loop that may beat too often."""
        place = self._counted if self._in_python(index) else self._try
        return place(0, index, kind, (phase,), 0.0)

    def _try(
        self,
        heartbeat: int,
        index: int,
        kind: str,
        phases: tuple[int, ...],
        phase_pct: float,
        *,
        forced: bool = False,
        around: bool = False,
    ) -> PlacedSite:
        """Place one site. forced: even if no rate factor makes it cheap enough. around: as for the placer."""
        function = self._chooser.profile.functions[index]
        name = function.name
        site_kind: Kind = "loop" if kind == "loop" else "body"
        try:
            spot = self._placer.place(index, kind, phases, around=around)
        except NoDataError as error:
            file, line = self._placer.begin(index)
            return PlacedSite(
                0, f"{name}:{kind}", phases, name, site_kind, None, None, None, file, line, phase_pct, UNKNOWN_RATE,
                refusal=str(error),
            )  # fmt: skip
        cost = self._cost.in_python() if self._in_python(index) else self._cost
        rate = choose_rate(spot.runs, self._time, phases, cost, self._result.options.sites)
        site = describe(heartbeat, name, spot, phases, phase_pct, rate)
        others = self._placer.lasts_through(index, phases)
        if site.kind == "body" and not forced and others:
            reason = f"{spot.note.removeprefix('its body: ')}; " if spot.note else ""
            if all(self._placer.lasts_on(index, (phase,)) for phase in others):
                reason += "it also runs in other phases, so a beat there does not identify this one"
            else:
                reason += "it is called in few intervals of the phase, so a beat there does not show the others"
            return replace(site, heartbeat=0, refusal=reason)
        if not rate.too_often:
            return site
        often = f"{'up to ' if rate.basis == 'at most' else ''}{rate.beats_hz:.3g} times a second"
        if site.kind == "loop" and not forced:
            body = self._try(heartbeat, index, "body", phases, phase_pct, around=True)
            note = f"its body: its loop beats {often}, too often for any rate factor"
            return body if body.refusal else replace(body, note=note)
        reason = f"beats {often}: whatever the rate factor, that costs {rate.overhead_pct:.2g} %"
        return replace(site, note=reason) if forced else replace(site, heartbeat=0, refusal=reason)


# Sites named by the user: `--site FUNC`, `--site FUNC:body`, `--site FUNC:loop`.


KINDS = ("body", "loop")
# A phase counts as one of the function's when it has at least this share of its time.
PART = 0.05
LISTED = 6


@dataclass(frozen=True)
class RequestedSite:
    """A site named by hand.

    Attributes:
        name: of the function.
        index: of the function in the profile; None for one that is not in it: never called, or inlined everywhere.
        kind: "body" where neither the user nor the profile decides.
        phases: those in which it has self time, or none.
        suggestions: similar names.
    """

    name: str
    index: int | None
    kind: str
    phases: tuple[int, ...]
    suggestions: tuple[str, ...] = ()


def by_hand(names: Sequence[str], profile: IntervalProfile, result: PhaseResult) -> list[RequestedSite]:
    """Find the named functions, each once.

    Raises:
        UsageError: several functions have that name.
    """
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for index, function in enumerate(profile.functions):
        if function.is_code:
            by_name[parse(function.name).written].append(index)
    sites = [_requested_site(text, by_name, profile, result) for text in names]
    return list(dict.fromkeys(sites))


def _requested_site(
    text: str, by_name: dict[str, list[int]], profile: IntervalProfile, result: PhaseResult
) -> RequestedSite:
    """Find one function, the phases it runs in, and unless given the kind that suits it."""
    name, colon, kind = text.rpartition(":")
    if not colon or kind not in KINDS or name.endswith(":"):
        name, kind = text, ""
    full_name = _full_name(text, name, by_name, profile)
    if full_name is None:
        return RequestedSite(name, None, kind or "body", (), _similar_names(name, by_name))
    members = by_name[full_name]
    self_s = np.asarray(profile.self_s[:, members].sum(axis=1)).ravel()
    time = [float(self_s[result.labels == phase.id].sum()) for phase in result.phases]
    phases = tuple(i for i, seconds in enumerate(time) if seconds > 0 and seconds >= PART * sum(time))
    index = max(members, key=lambda i: (float(profile.self_s[:, [i]].sum()), -i))
    calls = np.asarray(profile.calls[:, members].sum(axis=1)).ravel()[self_s > 0]
    is_inlined = profile.inlined is not None and index in profile.inlined.function  # its calls are not counted
    is_long = len(calls) and 2 * int((calls > 0).sum()) <= len(calls)
    usual = "loop" if is_long and not is_inlined else "body"
    return RequestedSite(name, index, kind or usual, phases)


def _full_name(text: str, name: str, by_name: dict[str, list[int]], profile: IntervalProfile) -> str | None:
    """Return the one known name that matches: the name itself, or one that ends with it; None when there is none.

    In C++ the name may follow `::`, in Python the file's name or a class. The program's own functions precede a
    library's.
    """
    if name in by_name:
        return name
    ends = sorted(full for full in by_name if full.endswith((f":{name}", f".{name}")))
    own = [full for full in ends if not all(profile.functions[index].system for index in by_name[full])]
    ends = own or ends
    if len(ends) > 1:
        more = ", ..." if len(ends) > LISTED else ""
        raise UsageError(f"--site {text}: several functions have that name: {', '.join(ends[:LISTED])}{more}")
    return ends[0] if ends else None


def _similar_names(name: str, by_name: dict[str, list[int]]) -> tuple[str, ...]:
    """Return similar known names, nearest first."""
    last = name.rsplit("::", 1)[-1].lower()
    by_last: dict[str, str] = {}
    for full in sorted(by_name):
        by_last.setdefault(full.rsplit("::", 1)[-1].lower(), full)
    return tuple(by_last[match] for match in difflib.get_close_matches(last, by_last, n=3))
