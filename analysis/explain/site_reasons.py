"""Explain sites: share of the phase, why not the caller, why not a callee, and the runner-up."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csc_array, csr_array

from incprof.analysis.phase_result import Phase, PhaseResult, Site
from incprof.analysis.sites import SiteChooser, at_least, longest_s
from incprof.analysis.sites.site_cover import Choice, presence, sites_by_cover
from incprof.analysis.sites.times import ChainTimes
from incprof.model import FloatArray, IntArray
from incprof.model.calltree import at_or_below, inclusive


def explain_sites(
    chooser: SiteChooser, result: PhaseResult
) -> tuple[tuple[tuple[SiteEvidence, ...], ...], tuple[RefusedSite | None, ...]]:
    """Explain why each site of each phase was chosen, and its largest other function not, in the order of phases."""
    if chooser.times is None:
        by_self_time = SelfTimeExplainer(chooser, result)
        sites = tuple(tuple(by_self_time.site(phase, site) for site in phase.sites) for phase in result.phases)
        return sites, tuple(None for _ in result.phases)
    explainer = _Explainer(chooser, chooser.times, result)
    sites = tuple(tuple(explainer.site(phase, site) for site in phase.sites) for phase in result.phases)
    return sites, tuple(explainer.refused(phase) for phase in result.phases)


@dataclass(frozen=True)
class _ChosenSite:
    """A site of a phase.

    Attributes:
        phase: the phase.
        site: the site.
        chains: call paths that the site stands for, (m,).
        origin: rule that chose it.
    """

    phase: Phase
    site: Site
    chains: IntArray
    origin: str


class _Explainer:
    """Chooses the sites again and records which rule decided."""

    def __init__(self, chooser: SiteChooser, times: ChainTimes, result: PhaseResult):
        self._chooser, self._times, self._result, self._options = chooser, times, result, result.options.sites
        off_cpu = [phase.id for phase in result.phases if phase.off_cpu]
        self._labels = np.where(np.isin(result.labels, off_cpu), -1, result.labels)
        self._shares, self._sites = chooser.from_paths(times, self._labels, result.k)
        self._below_root = np.arange(len(times.chains.parent)) > 0

    def site(self, phase: Phase, site: Site) -> SiteEvidence:
        """Explain why a phase has a site."""
        choice = self._chosen_site(phase, site)
        profile, times, chains = self._chooser.profile, self._times, choice.chains
        share = float(self._shares.share[phase.id, chains].sum())
        members = np.flatnonzero(self._labels == phase.id)
        called = _rows_with_any(csr_array(profile.calls)[members], [site.index])
        of_all = self._shares.share[:, chains].sum()
        calls = float(times.calls[chains].sum())
        return SiteEvidence(
            heartbeat=site.heartbeat,
            function=site.function.name,
            kind=site.kind,
            origin=choice.origin,
            share=share,
            at_least=at_least(share, float(self._shares.inclusive[phase.id, 0])),
            specific=share / float(of_all) if of_all > 0 else 0.0,
            intervals=len(members),
            present=int((called | _rows_with_any(times.inclusive[members], chains)).sum()),
            called=int(called.sum()),
            calls=calls,
            counted=bool(csr_array(profile.calls)[:, [site.index]].sum() > 0),
            call_s=_mean_s(times, chains),
            longest_s=longest_s(float(profile.end_s[-1] - profile.start_s[0]), self._options),
            caller=self._caller(choice),
            callee=self._callee(choice),
            runner_up=self._runner_up(phase, site),
        )

    def refused(self, phase: Phase) -> RefusedSite | None:
        """Return the function with most time outside of a phase's sites, if its calls are, or may be, too short."""
        times, limit, parent = self._times, self._shares.limit, self._times.chains.parent
        ticks, share = self._shares.inclusive[phase.id], self._shares.share[phase.id]
        at_site = np.zeros(len(parent), dtype=np.bool_)
        at_site[[chain for site in self._sites[phase.id] for chain in site.chains]] = True
        at_site |= np.isin(times.chains.function, [site.index for site in phase.sites])
        calls_site = inclusive(parent, at_site.astype(np.int64)) > 0
        is_candidate = times.own & limit.short & ~limit.long & ~at_or_below(parent, at_site) & ~calls_site
        is_outermost = is_candidate & ~at_or_below(parent, is_candidate)[parent]
        function = _heaviest(times.chains.function[is_outermost], ticks[is_outermost])
        chains = np.flatnonzero(is_outermost & (times.chains.function == function))
        part = float(share[chains].sum())
        if function is None or at_least(part, float(ticks[0])) < self._options.least:
            return None
        call_s = None if times.unsure[chains].any() else _mean_s(times, chains)
        return RefusedSite(self._chooser.profile.functions[function].name, part, call_s)

    def _chosen_site(self, phase: Phase, site: Site) -> _ChosenSite:
        """Find a site among those that are chosen again; one that is missing there replaced another."""
        for own in self._sites[phase.id]:
            if own.key == (site.index, site.kind):
                return _ChosenSite(phase, site, np.array(own.chains, dtype=np.int64), own.origin)
        first = self._times.chains.outermost()
        chains = first[self._times.chains.function[first] == site.index]
        is_waiting = not self._shares.inclusive[phase.id, 0] > 0
        return _ChosenSite(phase, site, chains, "waiting" if is_waiting else "instead")

    def _caller(self, choice: _ChosenSite) -> CallerEvidence | None:
        """Return the main caller of a site, and why that is not a site itself; None outside the program."""
        profile, tree, ticks = self._chooser.profile, self._times.chains, self._shares.inclusive[choice.phase.id]
        parents = tree.parent[choice.chains]
        caller = _heaviest(tree.function[parents], ticks[choice.chains])
        if caller is None:
            return None
        above = np.unique(parents[tree.function[parents] == caller])
        return CallerEvidence(
            function=profile.functions[caller].name,
            why_not=self._why_not_caller(choice, above),
            call_s=_mean_s(self._times, above),
            share=float(self._shares.share[choice.phase.id, above].sum()),
            is_site=any(site.index == caller for site in choice.phase.sites),
        )

    def _why_not_caller(self, choice: _ChosenSite, above: IntArray) -> NotCaller:
        limit = self._shares.limit
        if limit.long[above].any():
            return "lasts on"
        if choice.origin == "apart":
            return "in other phases"
        return "too short" if limit.short[above].any() else "cannot be had"

    def _callee(self, choice: _ChosenSite) -> CalleeEvidence | None:
        """Return the function that has most of what a site calls; None if it calls nothing of the program."""
        tree, ticks = self._times.chains, self._shares.inclusive[choice.phase.id]
        below = np.flatnonzero(np.isin(tree.parent, choice.chains) & self._below_root)
        callee = _heaviest(tree.function[below], ticks[below])
        if callee is None:
            return None
        chains = below[tree.function[below] == callee]
        own = float(ticks[choice.chains].sum())
        return CalleeEvidence(
            function=self._chooser.profile.functions[callee].name,
            why_not=self._why_not_callee(choice, chains),
            share=float(ticks[chains].sum()) / own if own > 0 else 0.0,
            call_s=_mean_s(self._times, chains),
        )

    def _why_not_callee(self, choice: _ChosenSite, chains: IntArray) -> NotCallee:
        if choice.site.kind == "body":
            return "lower"
        if self._times.unsure[chains].any():
            return "unknown rate"
        return "too short" if self._shares.limit.short[chains].any() else "too little"

    def _runner_up(self, phase: Phase, site: Site) -> RunnerUp | None:
        """Return the largest site that the phase would have if one were excluded; None if there is none."""
        present = {(other.index, other.kind) for other in phase.sites}
        _, others = self._chooser.from_paths(self._times, self._labels, self._result.k, {(site.index, site.kind)})
        for other in others[phase.id]:
            if other.key not in present:
                return RunnerUp(self._chooser.profile.functions[other.function].name, other.kind, other.share)
        return None


def _rows_with_any(matrix: csr_array, columns: Sequence[int] | IntArray) -> np.ndarray:
    """Return which rows of a sparse matrix have a nonzero sum in some columns, (rows,)."""
    return np.asarray(matrix[:, list(columns)].sum(axis=1)).ravel() > 0


def _heaviest(function: IntArray, ticks: FloatArray) -> int | None:
    """Return the function with most ticks; None where no function has any."""
    resolved = (function >= 0) & (ticks > 0)
    if not resolved.any():
        return None
    return int(np.argmax(np.bincount(function[resolved].astype(np.int64), weights=ticks[resolved])))


def _mean_s(times: ChainTimes, chains: IntArray) -> float | None:
    """Return the mean duration of the calls of some call paths, seconds; None if no call is known."""
    counted = chains[times.calls[chains] > 0]
    calls = float(times.calls[counted].sum())
    return float((times.seconds[counted] * times.calls[counted]).sum()) / calls if calls > 0 else None


# Explain sites without call paths: presence in the intervals of a phase, and the runner-up.


class SelfTimeExplainer:
    """Explains sites that were chosen by Algorithm 1 (method "paper"), or as the cheapest cover."""

    def __init__(self, chooser: SiteChooser, result: PhaseResult):
        profile, act = chooser.profile, chooser.activity
        self._profile, self._chooser, self._result = profile, chooser, result
        self._presence = None if act.literal else presence(profile, act, result.labels, result.k)
        self._present = csc_array(act.active if self._presence is None else self._presence.present)
        self._calls = csc_array(act.calls)
        self._own = csc_array(profile.self_s)

    def site(self, phase: Phase, site: Site) -> SiteEvidence:
        """Explain why a phase has a site."""
        members = np.flatnonzero(self._result.labels == phase.id)
        present = _rows(self._present, site.index)
        of_phase = self._result.labels[present]
        part = np.array([(of_phase == p.id).sum() / max(p.intervals, 1) for p in self._result.phases])
        in_phase = present[of_phase == phase.id]
        calls = float(self._calls[:, [site.index]].sum())
        return SiteEvidence(
            heartbeat=site.heartbeat,
            function=site.function.name,
            kind=site.kind,
            origin="self time",
            share=float(part[phase.id]),
            at_least=None,
            specific=float(part[phase.id] / max(part.sum(), 1e-12)),
            intervals=len(members),
            present=len(in_phase),
            called=len(np.intersect1d(in_phase, _rows(self._calls, site.index))),
            calls=calls,
            counted=True,
            call_s=float(self._own[:, [site.index]].sum()) / calls if calls > 0 else None,
            longest_s=None,
            caller=None,
            callee=None,
            runner_up=self._runner_up(phase, site, members),
        )

    def _runner_up(self, phase: Phase, site: Site, members: IntArray) -> RunnerUp | None:
        """Return the first site that would replace a given one and is not chosen already; None if there is none."""
        present = {(other.index, other.kind) for other in phase.sites}
        for choice in self._choose(phase.id, members, {(site.index, site.kind)}):
            if (choice.function, choice.kind) not in present:
                part = choice.covered / max(len(members), 1)
                return RunnerUp(self._profile.functions[choice.function].name, choice.kind, part)
        return None

    def _choose(self, phase: int, members: IntArray, excluded: Set[tuple[int, str]]) -> Sequence[Choice]:
        """Choose a phase's sites again, without the excluded ones."""
        if self._presence is not None:
            return sites_by_cover(self._chooser.activity, self._presence, members, phase, excluded)
        return self._chooser.by_self_time(members, excluded)


def _rows(matrix: csc_array, column: int) -> IntArray:
    """Return the intervals in which a column is not zero, ascending."""
    part = slice(matrix.indptr[column], matrix.indptr[column + 1])
    rows: IntArray = np.sort(matrix.indices[part][matrix.data[part] > 0])
    return rows


# Evidence for a chosen site: the numbers that `incprof phases --explain` reports.


# Why a site is not its caller: the caller's calls last too long; they are too short; it also runs in the phases that
# the site distinguishes; it is not available, or costs too much.
NotCaller = Literal["lasts on", "too short", "in other phases", "cannot be had"]
# Why it is not a callee: the callee is below a site that is short enough; too short; possibly too short; too small.
NotCallee = Literal["lower", "too short", "unknown rate", "too little"]


@dataclass(frozen=True)
class CallerEvidence:
    """The function that calls a site most.

    Attributes:
        function: its name.
        why_not: why it is not the site.
        call_s: mean duration of a call, seconds; None if unknown.
        share: inclusive share of the phase.
        is_site: whether it is a site of the phase as well.
    """

    function: str
    why_not: NotCaller
    call_s: float | None
    share: float
    is_site: bool


@dataclass(frozen=True)
class CalleeEvidence:
    """The function that a site calls most.

    Attributes:
        function: its name.
        why_not: why it is not the site.
        share: of the site's time.
        call_s: mean duration of a call, seconds; None if unknown.
    """

    function: str
    why_not: NotCallee
    share: float
    call_s: float | None


@dataclass(frozen=True)
class RunnerUp:
    """The site that would replace this one.

    Attributes:
        function: its name.
        kind: "body" or "loop".
        share: of the phase's time, or of its intervals.
    """

    function: str
    kind: str
    share: float


@dataclass(frozen=True)
class RefusedSite:
    """A function that is no site because of its calls.

    Attributes:
        function: its name.
        share: inclusive share of the phase's time.
        call_s: mean duration of a call, seconds, too short for a beat; None if that is unknown.
    """

    function: str
    share: float
    call_s: float | None


@dataclass(frozen=True)
class SiteEvidence:
    """Why a site was chosen.

    Attributes:
        heartbeat: id of the heartbeat.
        function: its name.
        kind: "body" or "loop".
        origin: "run", a site of the run regardless of phases; "phase", a site of this phase alone, as the run's sites
            hold too little of it; "apart", a site that distinguishes the phase from others; "waiting", called where
            nothing was sampled; "instead" of one that is not available; "self time", without call paths.
        share: inclusive share of the phase's time; from self time alone, of the intervals in which it is active.
        at_least: lower bound of the share; None from self time.
        specific: share of its shares in all phases that is in this one.
        intervals: number of intervals of the phase.
        present: intervals in which it is on the stack or called (from self time: active).
        called: intervals in which it is called.
        calls: in the run.
        counted: whether calls were counted; otherwise `calls` is a lower bound.
        call_s: mean duration of a call, seconds; None if unknown.
        longest_s: longest duration of a call of a body; None from self time.
        caller: None without call paths, or outside the program.
        callee: likewise.
        runner_up: None if there is none.
    """

    heartbeat: int
    function: str
    kind: str
    origin: str
    share: float
    at_least: float | None
    specific: float
    intervals: int
    present: int
    called: int
    calls: float
    counted: bool
    call_s: float | None
    longest_s: float | None
    caller: CallerEvidence | None
    callee: CalleeEvidence | None
    runner_up: RunnerUp | None

    @property
    def from_paths(self) -> bool:
        """Whether call paths decided."""
        return self.origin != "self time"
