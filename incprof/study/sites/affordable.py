"""Try sites one after the other: whether each has a place, and whether a beat there is cheap enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from incprof.analysis.answer.find import choose_again
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.rates import BeatCost, choose_rate, phase_time
from incprof.errors import NoDataError, UsageError
from incprof.study.sites.place import Placer
from incprof.study.sites.placed import UNKNOWN_RATE, Kind, PlacedSite, describe
from incprof.study.sites.requested import Wanted

# A phase whose sites cover at least this share of its intervals needs no more.
COVERED_PCT = 90.0


class SitePlanner:
    """Places sites one after the other, and predicts the cost of their beats."""

    def __init__(self, placer: Placer, chooser: SiteChooser, result: PhaseResult, cost: BeatCost):
        self._placer, self._chooser, self._result, self._cost = placer, chooser, result, cost
        self._uncounted: dict[tuple[int, int, str], PlacedSite] = {}
        self._time = phase_time(chooser.profile, result.labels)

    def by_hand(self, wanted: Sequence[Wanted]) -> list[PlacedSite]:
        """Place sites that were named by hand.

        Raises:
            UsageError: one of them is neither in the profile nor in the source.
        """
        self._placer.look_up(site.index for site in wanted if site.index is not None)
        return [
            self._unrecorded(site)
            if site.index is None
            else self._try(
                0, site.index, site.kind, site.phases or self._placer.phases_of(site.index), 0.0, forced=True
            )
            for site in wanted
        ]

    def _unrecorded(self, site: Wanted) -> PlacedSite:
        """Place a site whose function is not in the profile."""
        try:
            spot = self._placer.place_unrecorded(site.name, site.kind)
        except NoDataError as error:
            hint = f"; did you mean {', '.join(site.near)}?" if site.near else ""
            raise UsageError(f"--site {site.name}: not in the recording, and {error}{hint}") from error
        return describe(0, site.name, spot, (), 0.0, UNKNOWN_RATE)

    def chosen(self) -> list[PlacedSite]:
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
        found = [*placed, *self._callers(placed, refused)]
        served = {phase for site in found if not site.refusal for phase in site.phases}
        for key, uncounted in self._uncounted.items():
            if key[0] not in served and key in refused:
                found.append(uncounted)
                served.add(key[0])
                del refused[key]
        return [*found, *refused.values()]

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
        found: dict[int, PlacedSite] = {}
        covered = {phase.id: 0.0 for phase in self._result.phases}
        for site in placed:
            covered[site.phases[0]] += site.phase_pct
        for phase, index, kind in refused:
            if phase in found or covered[phase] >= COVERED_PCT:
                continue
            callers = [key for key in self._placer.callers(index, phase) if (phase, *key) not in refused]
            self._placer.look_up(caller for caller, _ in callers)
            useful = [key for key in callers if not covered[phase] or self._placer.works_for(key[0], phase)]
            tried = (self._caller(other, suits, phase) for other, suits in useful)
            if caller := next((site for site in tried if not site.refusal), None):
                note = f"calls {refused[phase, index, kind].recorded}, which cannot be had"
                found[phase] = replace(caller, note=f"{note}; {caller.note}" if caller.note else note)
        return list(found.values())

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
        whole = self._try(heartbeat, index, "body", phases, phase_pct, around=True)
        if not whole.refusal:
            return replace(whole, note="its body: how often its loop would beat is not known")
        if not in_python:
            self._uncounted.update(((phase, index, kind), site) for phase in phases)
        return replace(site, heartbeat=0, refusal=f"how often its loop would beat is not known, and {whole.refusal}")

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
        asked: Kind = "loop" if kind == "loop" else "body"
        try:
            spot = self._placer.place(index, kind, phases, around=around)
        except NoDataError as error:
            file, line = self._placer.begin(index)
            return PlacedSite(
                0, f"{name}:{kind}", phases, name, asked, None, None, None, file, line, phase_pct, UNKNOWN_RATE,
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
            whole = self._try(heartbeat, index, "body", phases, phase_pct, around=True)
            note = f"its body: its loop beats {often}, too often for any rate factor"
            return whole if whole.refusal else replace(whole, note=note)
        reason = f"beats {often}: whatever the rate factor, that costs {rate.overhead_pct:.2g} %"
        return replace(site, note=reason) if forced else replace(site, heartbeat=0, refusal=reason)
