"""Why these sites, where there are no call paths: who is active in the intervals of a phase, and who would be next."""

from __future__ import annotations

import numpy as np

from incprof.analysis.features import Features
from incprof.analysis.results import Phase, PhaseResult, Site
from incprof.analysis.site_evidence import RunnerUp, SiteEvidence
from incprof.analysis.sites import Activity, choose_sites
from incprof.model import IntervalProfile


def explain_selftime_site(
    profile: IntervalProfile, features: Features, act: Activity, result: PhaseResult, phase: Phase, site: Site
) -> SiteEvidence:
    """Say why a site was chosen by Algorithm 1, literally or repaired."""
    members = np.flatnonzero(result.labels == phase.id)
    active = act.columns.indices[act.columns.indptr[site.index] : act.columns.indptr[site.index + 1]]
    here = np.intersect1d(active, members)
    rank = np.array([np.isin(active, np.flatnonzero(result.labels == p.id)).sum() / p.intervals for p in result.phases])
    called = np.asarray(act.calls[here][:, [site.index]].toarray()).ravel() > 0
    calls = float(np.asarray(act.calls[:, [site.index]].sum()))
    seconds = float(np.asarray(profile.self_s[:, [site.index]].sum()))
    return SiteEvidence(
        heartbeat=site.heartbeat,
        function=site.function.name,
        kind=site.kind,
        share=float(rank[phase.id]),
        specific=float(rank[phase.id] / max(rank.sum(), 1e-12)),
        intervals=len(members),
        present=len(here),
        called=int(called.sum()),
        call_s=seconds / calls if calls > 0 else None,
        caller=None,
        callee=None,
        runner_up=_runner_up(profile, features, act, result, phase, site),
        from_paths=False,
    )


def _runner_up(
    profile: IntervalProfile, features: Features, act: Activity, result: PhaseResult, phase: Phase, site: Site
) -> RunnerUp | None:
    """Return the first site that would be chosen instead of this one, and is none now; None when nothing would."""
    members = np.flatnonzero(result.labels == phase.id)
    x = features.x[members]
    distance = np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1))
    known = {(other.index, other.kind) for other in phase.sites}
    for choice in choose_sites(act, members, distance, excluded={(site.index, site.kind)}):
        if (choice.function, choice.kind) not in known:
            part = choice.covered / max(len(members), 1)
            return RunnerUp(profile.functions[choice.function].name, choice.kind, part)
    return None
