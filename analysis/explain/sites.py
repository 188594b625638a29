"""Why these sites: how much of the phase each holds, why not its caller, why not what it calls, and the runner-up."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.explain.selftime import SelfTimeExplainer
from incprof.analysis.options.sites import SiteOptions
from incprof.analysis.phases.results import Phase, PhaseResult, Site
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.evidence import CalleeEvidence, CallerEvidence, RunnerUp, SiteEvidence
from incprof.analysis.sites.tree import PhaseTree, by_phase, sites_of_phase
from incprof.model import FloatArray, IntArray, IntervalProfile

# A function is in a phase when it has this part of it.
IN_PHASE = 0.01


def explain_sites(chooser: SiteChooser, result: PhaseResult) -> tuple[tuple[SiteEvidence, ...], ...]:
    """Say of each site of each phase why it was chosen, in the order of `result.phases`."""
    profile = chooser.profile
    if chooser.tree is None:
        by_self_time = SelfTimeExplainer(chooser, result)
        return tuple(tuple(by_self_time.site(phase, site) for site in phase.sites) for phase in result.phases)
    off_cpu = [phase.id for phase in result.phases if phase.off_cpu]
    labels = np.where(np.isin(result.labels, off_cpu), -1, result.labels)
    found, options = by_phase(chooser.tree, labels, result.k), result.options.sites

    def explained(phase: Phase, site: Site) -> SiteEvidence:
        return _explain_site(profile, found, np.flatnonzero(labels == phase.id), phase, site, options)

    return tuple(tuple(explained(phase, site) for site in phase.sites) for phase in result.phases)


def _explain_site(
    profile: IntervalProfile, found: PhaseTree, members: IntArray, phase: Phase, site: Site, options: SiteOptions
) -> SiteEvidence:
    """Say why a site was chosen from the tree of calls."""
    tree, function = found.tree, site.index
    chain = tree.chains.outermost()
    chain = chain[tree.chains.function[chain] == function]
    return SiteEvidence(
        heartbeat=site.heartbeat,
        function=site.function.name,
        kind=site.kind,
        share=float(found.share[phase.id, function]),
        specific=float(found.specific[phase.id, function]),
        intervals=len(members),
        present=_count(tree.present + tree.called, members, function),
        called=_count(tree.called, members, function),
        call_s=_finite(float(tree.seconds[function])),
        caller=_caller(profile, found, phase, chain),
        callee=_callee(profile, found, phase.id, chain),
        runner_up=_runner_up(profile, found, phase, site, options),
    )


def _count(matrix: csr_array, members: IntArray, function: int) -> int:
    """Return in how many of some intervals a function is."""
    return int((matrix[members][:, [function]].toarray() > 0).sum())


def _caller(profile: IntervalProfile, found: PhaseTree, phase: Phase, chain: IntArray) -> CallerEvidence | None:
    """Return the function that calls most of what some chains hold; None where that is not in the program."""
    heaviest = _heaviest(found.tree.chains.function[found.tree.chains.parent[chain]], found.inclusive[phase.id][chain])
    if heaviest is None:
        return None
    caller, _ = heaviest
    below = sum(site.phase_pct / 100 for site in phase.sites)
    return CallerEvidence(
        function=profile.functions[caller].name,
        specific=float(found.specific[phase.id, caller]),
        phases=int((found.share[:, caller] >= IN_PHASE).sum()),
        of_phases=int((found.inclusive[:, 0] > 0).sum()),
        short=bool(found.short[phase.id, caller]),
        share=float(found.share[phase.id, caller]),
        sites_share=float(below),
        is_site=any(site.index == caller for site in phase.sites),
    )


def _callee(profile: IntervalProfile, found: PhaseTree, phase: int, chain: IntArray) -> CalleeEvidence | None:
    """Return the function that has most of what some chains call; None where they call nothing of the program."""
    chains, ticks = found.tree.chains, found.inclusive[phase]
    below = np.flatnonzero(np.isin(chains.parent, chain) & (np.arange(len(chains.parent)) > 0))
    heaviest = _heaviest(chains.function[below], ticks[below])
    if heaviest is None:
        return None
    callee, held = heaviest
    own = float(ticks[chain].sum())
    return CalleeEvidence(
        function=profile.functions[callee].name,
        share=held / own if own > 0 else 0.0,
        specific=float(found.specific[phase, callee]),
        call_s=_finite(float(found.tree.seconds[callee])),
    )


def _heaviest(function: IntArray, ticks: FloatArray) -> tuple[int, float] | None:
    """Return the function with most ticks, and these; None where no function has any."""
    known = (function >= 0) & (ticks > 0)
    if not known.any():
        return None
    total = np.bincount(function[known].astype(np.int64), weights=ticks[known])
    best = int(np.argmax(total))
    return best, float(total[best])


def _runner_up(
    profile: IntervalProfile, found: PhaseTree, phase: Phase, site: Site, options: SiteOptions
) -> RunnerUp | None:
    """Return what would stand for the phase if the site could not be had, largest first; None when nothing would."""
    known = {(other.index, other.kind) for other in phase.sites}
    for other in sites_of_phase(found, phase.id, {(site.index, site.kind)}, options=options):
        if (other.function, other.kind) not in known:
            return RunnerUp(profile.functions[other.function].name, other.kind, other.share)
    return None


def _finite(value: float) -> float | None:
    """Return a duration, None where no call was counted."""
    return value if np.isfinite(value) else None
