"""The sites of all phases: from the call tree where the recording has one, else by Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from incprof.analysis.composition.features import Features
from incprof.analysis.composition.waiting_intervals import who_was_called
from incprof.analysis.options.site_thresholds import SITES, SiteOptions
from incprof.analysis.sites import NONE, Choice, activity, choose_sites
from incprof.analysis.sites.cover import presence, sites_by_cover
from incprof.analysis.sites.cut import CutSite, limits
from incprof.analysis.sites.of_phases import PhaseShares, PhaseSite, by_phase, run_cut, sites_of_phases
from incprof.analysis.sites.times import ChainTimes, chain_times
from incprof.model import IntArray, IntervalProfile


class SiteChooser:
    """Chooses sites of a profile, and keeps the data for it: features, and the call tree if there is one.

    literal: as the paper does. Otherwise by the call tree, or, without call paths (gmon directories), by the paper's
    algorithm with the repairs that it needs. options: thresholds.
    """

    def __init__(self, profile: IntervalProfile, features: Features, *, literal: bool, options: SiteOptions = SITES):
        self.profile, self.features, self._options = profile, features, options
        self.activity = activity(profile, literal=literal, options=options)
        self.times = chain_times(profile) if features.by_path else None
        marks = [number for number, function in enumerate(profile.functions) if function.is_mark]
        self._never = frozenset((number, kind) for number in marks for kind in ("body", "loop"))
        self._cuts: dict[frozenset[tuple[int, str]], list[CutSite]] = {}

    def of_all(
        self, labels: IntArray, off_cpu: int | None = None, excluded: Set[tuple[int, str]] = NONE
    ) -> Sequence[Sequence[Choice]]:
        """Choose the sites of every phase; waiting has none.

        Args:
            labels: (n,) phase ids from 0, -1 for none.
            off_cpu: the phase in which the program waits, if there is one.
            excluded: (function, kind) of sites that are not available.
        """
        k = int(labels.max(initial=-1)) + 1
        if self.times is None:
            return self._without_paths(labels, k, off_cpu, excluded)
        busy = labels if off_cpu is None else np.where(labels == off_cpu, -1, labels)
        intervals = np.bincount(busy[busy >= 0], minlength=k)
        found, sites = self.from_paths(self.times, busy, k, excluded)
        chosen = [[Choice(s.function, s.kind, s.share * int(intervals[p])) for s in sites[p]] for p in range(k)]
        # A phase without a tick waits, and is identified by its calls.
        silent = [p for p in range(k) if p != off_cpu and not found.inclusive[p, 0] > 0]
        for p in silent:
            called = who_was_called(self.profile, np.flatnonzero(labels == p), self._options.called)
            body = [(f, part) for f, part in called if (f, "body") not in excluded]
            chosen[p] = [Choice(f, "body", part * int(intervals[p])) for f, part in body]
        return chosen

    def from_paths(
        self, times: ChainTimes, labels: IntArray, k: int, excluded: Set[tuple[int, str]] = NONE
    ) -> tuple[PhaseShares, list[list[PhaseSite]]]:
        """Return the call paths of k phases, and the sites of each from the call tree.

        Args:
            times: of the profile.
            labels: (n,) phase ids from 0, -1 for intervals that are left out.
            k: number of phases.
            excluded: (function, kind) of sites that are not available.
        """
        wall_s = float(self.profile.end_s[-1] - self.profile.start_s[0])
        limit = limits(times, self.profile.metadata.interval_s, wall_s, self._options)
        found, key = by_phase(times, limit, labels, k), self._never | excluded
        if key not in self._cuts:
            self._cuts[key] = run_cut(times, limit, key, self._options)
        return found, sites_of_phases(found, self._cuts[key], key, self._options)

    def _without_paths(
        self, labels: IntArray, k: int, off_cpu: int | None, excluded: Set[tuple[int, str]]
    ) -> Sequence[Sequence[Choice]]:
        """Choose the sites of every phase literally as in the paper, or by the cheapest cover."""
        members = [np.flatnonzero(labels == p) for p in range(k)]
        if self.activity.literal:
            return [[] if p == off_cpu else self.by_self_time(members[p], excluded) for p in range(k)]
        found = presence(self.profile, self.activity, labels, k)
        return [[] if p == off_cpu else sites_by_cover(self.activity, found, members[p], p, excluded) for p in range(k)]

    def by_self_time(self, members: IntArray, excluded: Set[tuple[int, str]] = NONE) -> list[Choice]:
        """Choose the sites of the intervals `members` (m,), ascending, by self time."""
        x = self.features.x[members]
        distance = np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1))
        return choose_sites(self.activity, members, distance, excluded=excluded)
