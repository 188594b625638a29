"""Explain sites without call paths: presence in the intervals of a phase, and the runner-up."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from scipy.sparse import csc_array

from incprof.analysis.phase_result import Phase, PhaseResult, Site
from incprof.analysis.sites import Choice
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.cover import presence, sites_by_cover
from incprof.analysis.sites.evidence import RunnerUp, SiteEvidence
from incprof.model import IntArray


class SelfTimeExplainer:
    """Explains sites that were chosen by Algorithm 1 (method "paper"), or as the cheapest cover."""

    def __init__(self, chooser: SiteChooser, result: PhaseResult):
        profile, act = chooser.profile, chooser.activity
        self._profile, self._chooser, self._result = profile, chooser, result
        self._found = None if act.literal else presence(profile, act, result.labels, result.k)
        self._there = csc_array(act.active if self._found is None else self._found.there)
        self._calls = csc_array(act.calls)
        self._own = csc_array(profile.self_s)

    def site(self, phase: Phase, site: Site) -> SiteEvidence:
        """Explain why a phase has a site."""
        members = np.flatnonzero(self._result.labels == phase.id)
        there = _rows(self._there, site.index)
        of_phase = self._result.labels[there]
        part = np.array([(of_phase == p.id).sum() / max(p.intervals, 1) for p in self._result.phases])
        here = there[of_phase == phase.id]
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
            present=len(here),
            called=len(np.intersect1d(here, _rows(self._calls, site.index))),
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
        known = {(other.index, other.kind) for other in phase.sites}
        for choice in self._choose(phase.id, members, {(site.index, site.kind)}):
            if (choice.function, choice.kind) not in known:
                part = choice.covered / max(len(members), 1)
                return RunnerUp(self._profile.functions[choice.function].name, choice.kind, part)
        return None

    def _choose(self, phase: int, members: IntArray, excluded: Set[tuple[int, str]]) -> Sequence[Choice]:
        """Choose a phase's sites again, without the excluded ones."""
        if self._found is not None:
            return sites_by_cover(self._chooser.activity, self._found, members, phase, excluded)
        return self._chooser.by_self_time(members, excluded)


def _rows(matrix: csc_array, column: int) -> IntArray:
    """Return the intervals in which a column is not zero, ascending."""
    part = slice(matrix.indptr[column], matrix.indptr[column + 1])
    rows: IntArray = np.sort(matrix.indices[part][matrix.data[part] > 0])
    return rows
