"""The sites of all phases: from the tree of calls where the recording has one, else by Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import product

import numpy as np

from incprof.analysis.options.sites import SITES, SiteOptions
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.waiting import who_was_called
from incprof.analysis.sites import NONE, Choice, activity, choose_sites
from incprof.analysis.sites.cover import presence, sites_by_cover
from incprof.analysis.sites.tree import by_phase, sites_of_phase, tree_times
from incprof.model import IntArray, IntervalProfile


class SiteChooser:
    """Chooses sites of a profile, and keeps what they are chosen by: its features, and its tree of calls if it has one.

    literal: as the paper does. Otherwise by the tree of calls, and without call paths (gmon directories) by the paper's
    algorithm with the repairs that it needs. options: thresholds.
    """

    def __init__(self, profile: IntervalProfile, features: Features, *, literal: bool, options: SiteOptions = SITES):
        self.profile, self.features, self._options = profile, features, options
        self.activity = activity(profile, literal=literal, options=options)
        self.tree = tree_times(profile) if features.by_path else None

    def of_all(
        self, labels: IntArray, off_cpu: int | None = None, excluded: Set[tuple[int, str]] = NONE
    ) -> Sequence[Sequence[Choice]]:
        """Choose the sites of every phase; waiting has none.

        Args:
            labels: (n,) phase ids from 0, -1 for none.
            off_cpu: the phase in which the program waits, if there is one.
            excluded: (function, kind) of sites that cannot be had.
        """
        k = int(labels.max(initial=-1)) + 1
        if self.tree is None:
            return self._without_paths(labels, k, off_cpu, excluded)
        busy = labels if off_cpu is None else np.where(labels == off_cpu, -1, labels)
        found, intervals = by_phase(self.tree, busy, k), np.bincount(busy[busy >= 0], minlength=k)

        def choose(p: int, without: Set[tuple[int, str]] = NONE, *, alone: bool = True) -> list[Choice]:
            sites = sites_of_phase(found, p, excluded | without, alone=alone, options=self._options)
            return [Choice(site.function, site.kind, site.share * int(intervals[p])) for site in sites]

        chosen = _distinct([choose(p) for p in range(k)], choose, self._options.told_apart)
        # A phase without a tick waits, and is known by its calls.
        silent = [p for p in range(k) if p != off_cpu and not found.inclusive[p, 0] > 0]
        for p in silent:
            called = who_was_called(self.profile, np.flatnonzero(labels == p), self._options.called)
            body = [(f, part) for f, part in called if (f, "body") not in excluded]
            chosen[p] = [Choice(f, "body", part * int(intervals[p])) for f, part in body]
        return chosen

    def _without_paths(
        self, labels: IntArray, k: int, off_cpu: int | None, excluded: Set[tuple[int, str]]
    ) -> Sequence[Sequence[Choice]]:
        """Choose the sites of every phase literally as the paper does, or by the cheapest cover."""
        members = [np.flatnonzero(labels == p) for p in range(k)]
        if self.activity.literal:
            return [[] if p == off_cpu else self.by_self_time(members[p], excluded) for p in range(k)]
        found = presence(self.profile, self.activity, labels, k)
        return [[] if p == off_cpu else sites_by_cover(self.activity, found, members[p], p, excluded) for p in range(k)]

    def by_self_time(self, members: IntArray, excluded: Set[tuple[int, str]] = NONE) -> list[Choice]:
        """Choose the sites of the intervals `members` (m,), ascending, by who has the time."""
        x = self.features.x[members]
        distance = np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1))
        return choose_sites(self.activity, members, distance, excluded=excluded)


def _distinct(chosen: list[list[Choice]], choose: Callable[..., list[Choice]], enough: float) -> list[list[Choice]]:
    """Give phases that have the same sites others, where these hold most of the same time and no phase has them yet.

    choose: the sites of a phase, without some (function, kind), or with small ones. enough: part of the time.
    """
    keys = [_key(sites) for sites in chosen]
    with_small, without = (lambda p: choose(p, alone=False)), (lambda p: choose(p, keys[p]))
    for other, p in product((with_small, without), range(len(chosen))):
        if not keys[p] or keys.count(keys[p]) == 1:
            continue
        instead = other(p)
        if _key(instead) not in keys and _held(instead) >= enough * _held(chosen[p]):
            chosen[p], keys[p] = instead, _key(instead)
    return chosen


def _key(sites: Sequence[Choice]) -> frozenset[tuple[int, str]]:
    return frozenset((site.function, site.kind) for site in sites)


def _held(sites: Sequence[Choice]) -> float:
    return sum(site.covered for site in sites)
