"""Explain sites: share of the phase, why not the caller, why not a callee, and the runner-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.explain.selftime import SelfTimeExplainer
from incprof.analysis.phase_result import Phase, PhaseResult, Site
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.cut import longest_s
from incprof.analysis.sites.evidence import (
    CalleeEvidence,
    CallerEvidence,
    NotCallee,
    NotCaller,
    RunnerUp,
    SiteEvidence,
)
from incprof.analysis.sites.of_phases import at_least
from incprof.analysis.sites.times import ChainTimes
from incprof.model import FloatArray, IntArray


def explain_sites(chooser: SiteChooser, result: PhaseResult) -> tuple[tuple[SiteEvidence, ...], ...]:
    """Explain why each site of each phase was chosen, in the order of `result.phases`."""
    if chooser.times is None:
        by_self_time = SelfTimeExplainer(chooser, result)
        return tuple(tuple(by_self_time.site(phase, site) for site in phase.sites) for phase in result.phases)
    explainer = _Explainer(chooser, chooser.times, result)
    return tuple(tuple(explainer.site(phase, site) for site in phase.sites) for phase in result.phases)


@dataclass(frozen=True)
class _Chosen:
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
        self._found, self._sites = chooser.from_paths(times, self._labels, result.k)
        self._here = np.arange(len(times.chains.parent)) > 0

    def site(self, phase: Phase, site: Site) -> SiteEvidence:
        """Explain why a phase has a site."""
        chosen = self._chosen(phase, site)
        profile, times, chains = self._chooser.profile, self._times, chosen.chains
        share = float(self._found.share[phase.id, chains].sum())
        members = np.flatnonzero(self._labels == phase.id)
        called = _some(csr_array(profile.calls)[members], [site.index])
        of_all = self._found.share[:, chains].sum()
        calls = float(times.calls[chains].sum())
        return SiteEvidence(
            heartbeat=site.heartbeat,
            function=site.function.name,
            kind=site.kind,
            origin=chosen.origin,
            share=share,
            at_least=at_least(share, float(self._found.inclusive[phase.id, 0])),
            specific=share / float(of_all) if of_all > 0 else 0.0,
            intervals=len(members),
            present=int((called | _some(times.inclusive[members], chains)).sum()),
            called=int(called.sum()),
            calls=calls,
            counted=bool(csr_array(profile.calls)[:, [site.index]].sum() > 0),
            call_s=_mean_s(times, chains),
            longest_s=longest_s(
                profile.metadata.interval_s, float(profile.end_s[-1] - profile.start_s[0]), self._options
            ),
            caller=self._caller(chosen),
            callee=self._callee(chosen),
            runner_up=self._runner_up(phase, site),
        )

    def _chosen(self, phase: Phase, site: Site) -> _Chosen:
        """Find a site among those that are chosen again; one that is missing there replaced another."""
        for own in self._sites[phase.id]:
            if own.key == (site.index, site.kind):
                return _Chosen(phase, site, np.array(own.chains, dtype=np.int64), own.origin)
        first = self._times.chains.outermost()
        chains = first[self._times.chains.function[first] == site.index]
        silent = not self._found.inclusive[phase.id, 0] > 0
        return _Chosen(phase, site, chains, "waiting" if silent else "instead")

    def _caller(self, chosen: _Chosen) -> CallerEvidence | None:
        """Return the main caller of a site, and why that is not a site itself; None outside the program."""
        profile, tree, ticks = self._chooser.profile, self._times.chains, self._found.inclusive[chosen.phase.id]
        parents = tree.parent[chosen.chains]
        caller = _heaviest(tree.function[parents], ticks[chosen.chains])
        if caller is None:
            return None
        above = np.unique(parents[tree.function[parents] == caller])
        return CallerEvidence(
            function=profile.functions[caller].name,
            why_not=self._why_not_caller(chosen, above),
            call_s=_mean_s(self._times, above),
            share=float(self._found.share[chosen.phase.id, above].sum()),
            is_site=any(site.index == caller for site in chosen.phase.sites),
        )

    def _why_not_caller(self, chosen: _Chosen, above: IntArray) -> NotCaller:
        limit = self._found.limit
        if limit.long[above].any():
            return "lasts on"
        if chosen.origin == "apart":
            return "in other phases"
        return "too short" if limit.short[above].any() else "cannot be had"

    def _callee(self, chosen: _Chosen) -> CalleeEvidence | None:
        """Return the function that has most of what a site calls; None if it calls nothing of the program."""
        tree, ticks = self._times.chains, self._found.inclusive[chosen.phase.id]
        below = np.flatnonzero(np.isin(tree.parent, chosen.chains) & self._here)
        callee = _heaviest(tree.function[below], ticks[below])
        if callee is None:
            return None
        chains = below[tree.function[below] == callee]
        own = float(ticks[chosen.chains].sum())
        return CalleeEvidence(
            function=self._chooser.profile.functions[callee].name,
            why_not=self._why_not_callee(chosen, chains),
            share=float(ticks[chains].sum()) / own if own > 0 else 0.0,
            call_s=_mean_s(self._times, chains),
        )

    def _why_not_callee(self, chosen: _Chosen, chains: IntArray) -> NotCallee:
        if chosen.site.kind == "body":
            return "lower"
        if self._times.unsure[chains].any():
            return "unknown rate"
        return "too short" if self._found.limit.short[chains].any() else "too little"

    def _runner_up(self, phase: Phase, site: Site) -> RunnerUp | None:
        """Return the largest site that the phase would have if one were excluded; None if there is none."""
        known = {(other.index, other.kind) for other in phase.sites}
        _, others = self._chooser.from_paths(self._times, self._labels, self._result.k, {(site.index, site.kind)})
        for other in others[phase.id]:
            if other.key not in known:
                return RunnerUp(self._chooser.profile.functions[other.function].name, other.kind, other.share)
        return None


def _some(matrix: csr_array, columns: Sequence[int] | IntArray) -> np.ndarray:
    """Return which rows of a sparse matrix have a nonzero sum in some columns, (rows,)."""
    return np.asarray(matrix[:, list(columns)].sum(axis=1)).ravel() > 0


def _heaviest(function: IntArray, ticks: FloatArray) -> int | None:
    """Return the function with most ticks; None where no function has any."""
    known = (function >= 0) & (ticks > 0)
    if not known.any():
        return None
    return int(np.argmax(np.bincount(function[known].astype(np.int64), weights=ticks[known])))


def _mean_s(times: ChainTimes, chains: IntArray) -> float | None:
    """Return the mean duration of the calls of some call paths, seconds; None if no call is known."""
    known = chains[times.calls[chains] > 0]
    calls = float(times.calls[known].sum())
    return float((times.seconds[known] * times.calls[known]).sum()) / calls if calls > 0 else None
