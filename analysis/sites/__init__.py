"""Where to put heartbeats: from the call tree where the recording has one, else by Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.features import Features, functions_entered
from incprof.analysis.sites.site_cover import NONE, Choice, activity, choose_sites, presence, sites_by_cover
from incprof.analysis.sites.times import ChainTimes, chain_times
from incprof.analysis.thresholds import SITES, SiteOptions
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile


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
        shares, sites = self.from_paths(self.times, busy, k, excluded)
        choices = [[Choice(s.function, s.kind, s.share * int(intervals[p])) for s in sites[p]] for p in range(k)]
        # A phase without a tick waits, and is identified by its calls.
        uncovered = [p for p in range(k) if p != off_cpu and not shares.inclusive[p, 0] > 0]
        for p in uncovered:
            called = functions_entered(self.profile, np.flatnonzero(labels == p), self._options.called)
            body = [(f, part) for f, part in called if (f, "body") not in excluded]
            choices[p] = [Choice(f, "body", part * int(intervals[p])) for f, part in body]
        return choices

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
        limit = limits(times, wall_s, self._options)
        shares = by_phase(times, limit, labels, k, self.profile.end_s - self.profile.start_s)
        return shares, sites_of_phases(shares, self._never | excluded, self._options)

    def _without_paths(
        self, labels: IntArray, k: int, off_cpu: int | None, excluded: Set[tuple[int, str]]
    ) -> Sequence[Sequence[Choice]]:
        """Choose the sites of every phase literally as in the paper, or by the cheapest cover."""
        members = [np.flatnonzero(labels == p) for p in range(k)]
        if self.activity.literal:
            return [[] if p == off_cpu else self.by_self_time(members[p], excluded) for p in range(k)]
        activity = presence(self.profile, self.activity, labels, k)
        return [
            [] if p == off_cpu else sites_by_cover(self.activity, activity, members[p], p, excluded) for p in range(k)
        ]

    def by_self_time(self, members: IntArray, excluded: Set[tuple[int, str]] = NONE) -> list[Choice]:
        """Choose the sites of the intervals `members` (m,), ascending, by self time."""
        x = self.features.x[members]
        distance = np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1))
        return choose_sites(self.activity, members, distance, excluded=excluded)


# Sites as a cut through the call tree: the outermost functions whose calls are neither too short nor too long.
#
# Whether a function's calls are worth observing depends on their duration, not on the phases. A function with long
# calls is a driver, and the sites are below it; one with very short calls costs more to observe than it is worth. If
# a driver does the work itself, or in calls that are too short, a loop in it is the site. q call paths.


# Sums of ticks of equal calls differ in their last digits: ten million, one after the other, are off by 1.4e-10.
ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class CutSite:
    """A site of the cut.

    Attributes:
        function: index of the function.
        kind: "body" or "loop".
        chains: call paths of the function that it stands for; none is below another site.
    """

    function: int
    kind: str
    chains: tuple[int, ...]


@dataclass(frozen=True)
class Limits:
    """Call paths whose calls are not observed, (q,) each.

    Attributes:
        long: calls last too long.
        short: calls are too short, or may be.
        tiny: even beats that a rate factor skips would cost too much.
    """

    long: BoolArray
    short: BoolArray
    tiny: BoolArray


def limits(times: ChainTimes, wall_s: float, options: SiteOptions = SITES) -> Limits:
    """Determine which calls are not observed. wall_s: of the recording."""
    short, tiny = (times.unsure | (times.cpu_s < least) for least in (options.shortest_s, options.tiny_s))
    last_on = ~(times.seconds <= longest_s(wall_s, options) * ROUNDED)
    return Limits(last_on & ~times.in_uncounted_loop, short, tiny)


def longest_s(wall_s: float, options: SiteOptions = SITES) -> float:
    """Return the longest duration of observed calls, which does not depend on the intervals of the recording."""
    return min(options.longest_s, wall_s / options.in_run)


def cut(
    times: ChainTimes,
    long: BoolArray,
    short: BoolArray,
    weight: FloatArray,
    selected: BoolArray,
    fit: BoolArray | None = None,
    excluded: Set[tuple[int, str]] = NONE,
    options: SiteOptions = SITES,
) -> list[CutSite]:
    """Return the sites that hold the time of some intervals, by function.

    Args:
        times: of the run.
        long: (q,) whose calls last too long.
        short: (q,) whose calls are too short.
        weight: (q,) inclusive ticks of each call path in these intervals.
        selected: (q,) call paths to consider; none is below one that is not.
        fit: (q,) call paths that may be sites; all by default.
        excluded: (function, kind) of sites that are not available; their callees may replace them.
        options: thresholds.
    """
    parent, function, own = times.chains.parent.tolist(), times.chains.function.tolist(), times.own.tolist()
    below: dict[int, list[tuple[int, str]]] = {}
    pending: dict[int, float] = {}
    # A parent has a lower number than its callees, so all callees are processed before it.
    for chain in np.flatnonzero(selected & (weight > 0))[::-1].tolist():
        if chain == 0:
            break
        sites, inside = below.pop(chain, []), pending.pop(chain, 0.0)
        of_callees = inside >= options.half * float(weight[chain])
        kind = "loop" if long[chain] else "body"
        is_candidate = own[chain] and (fit is None or bool(fit[chain])) and (function[chain], kind) not in excluded
        if is_candidate and not (of_callees if long[chain] else short[chain]):
            sites, inside = [(chain, kind)], float(weight[chain])
        elif short[chain] and not long[chain] and not of_callees:
            sites, inside = [], 0.0
        below.setdefault(parent[chain], []).extend(sites)
        pending[parent[chain]] = pending.get(parent[chain], 0.0) + inside
    chains_of: dict[tuple[int, str], list[int]] = {}
    for chain, kind in below.get(0, []):
        chains_of.setdefault((function[chain], kind), []).append(chain)
    return [CutSite(f, kind, tuple(sorted(chains))) for (f, kind), chains in sorted(chains_of.items())]


# Assign sites of the cut to phases, and add sites that distinguish phases.
#
# Every site of the run's cut that holds enough of a phase is one of its sites. A phase that they hardly hold gets the
# functions that run in it alone, else a cut of its own. Phases that no site distinguishes get the functions further
# down that run in each alone, if there are any. q call paths, k phases.


# Standard errors below a counted share: with one chance in twenty the true share is less.
SURE = 1.645

Origin = Literal["run", "phase", "apart"]


@dataclass(frozen=True)
class PhaseSite:
    """A site of a phase.

    Attributes:
        function: index of the function.
        kind: "body" or "loop".
        share: inclusive share of the phase's time.
        chains: call paths that it stands for.
        origin: from the cut of the run; from the phase alone, if the run's sites hold too little of it; or to
            distinguish the phase from others with the same sites.
    """

    function: int
    kind: str
    share: float
    chains: tuple[int, ...]
    origin: Origin

    @property
    def key(self) -> tuple[int, str]:
        """Function and kind."""
        return self.function, self.kind


@dataclass(frozen=True)
class PhaseShares:
    """The call paths of a run by phase.

    Attributes:
        times: of the run.
        limit: call paths whose calls are not observed.
        inclusive: (k, q) inclusive ticks of each call path.
        share: (k, q) the same as a share of the phase.
        of_run: (k,) share of each phase in the run's time.
    """

    times: ChainTimes
    limit: Limits
    inclusive: FloatArray
    share: FloatArray
    of_run: FloatArray

    def of_functions(self, phases: Sequence[int]) -> FloatArray:
        """Return the share of each function in each phase, over its call paths, (len(phases), functions)."""
        function = self.times.chains.function
        named = np.flatnonzero(function >= 0)
        rows = [np.bincount(function[named], weights=self.share[p][named]) for p in phases]
        return np.array(rows, dtype=np.float64).reshape(len(phases), -1)


def by_phase(times: ChainTimes, limit: Limits, labels: IntArray, k: int, seconds: FloatArray) -> PhaseShares:
    """Sum a run's call paths by phase. labels: (n,), -1 for none. seconds: (n,) duration of each interval."""
    use = np.flatnonzero(labels >= 0)
    gather = csr_array((np.ones(len(use)), (labels[use], use)), shape=(k, len(labels)))
    inclusive = times.chains.inclusive((gather @ times.ticks).toarray())
    share = inclusive / np.maximum(inclusive[:, :1], 1e-12)
    of_run = np.bincount(labels[use], weights=seconds[use], minlength=k) / max(float(seconds.sum()), 1e-12)
    return PhaseShares(times, limit, inclusive, share, of_run)


def at_least(share: float, ticks: float) -> float:
    """Return the lower bound of a share that was counted in so many ticks (Wilson's interval)."""
    if not ticks > 0:
        return 0.0
    square = SURE**2 / ticks
    spread = SURE * float(np.sqrt(max(share * (1 - share), 0.0) / ticks + (square / SURE) ** 2 / 4))
    return max((share + square / 2 - spread) / (1 + square), 0.0)


def run_cut(shares: PhaseShares, excluded: Set[tuple[int, str]] = NONE, options: SiteOptions = SITES) -> list[CutSite]:
    """Return the sites of a run: from the call paths that have enough of a phase, however short that is."""
    times, limit = shares.times, shares.limit
    selected: BoolArray = np.any(shares.share >= options.noticed * options.least, axis=0)
    return cut(times, limit.long, limit.short, times.total, selected, None, excluded, options)


def sites_of_phases(
    shares: PhaseShares, excluded: Set[tuple[int, str]] = NONE, options: SiteOptions = SITES
) -> list[list[PhaseSite]]:
    """Return the sites of each phase, largest first.

    Args:
        shares: k phases.
        excluded: (function, kind) of sites that are not available.
        options: thresholds.
    """
    k, sites = len(shares.inclusive), run_cut(shares, excluded, options)
    sites_by_phase = [_sufficient_sites(shares, p, sites, "run", options) for p in range(k)]
    for p in range(k):
        if total_share(sites_by_phase[p]) < options.half:
            own = _exclusive_sites(shares, p, range(k), shares.limit.tiny, excluded, options)
            own = own or _sites_of_phase_alone(shares, p, excluded, options)
            sites_by_phase[p] = max(sites_by_phase[p], own, key=total_share)
    for group in _indistinguishable(sites_by_phase, options.tells):
        for p in group:
            # The rate of a loop's beats is unknown: a site with counted calls is better, though its calls are short.
            short = (
                shares.limit.tiny
                if sites_by_phase[p][:1] and sites_by_phase[p][0].kind == "loop"
                else shares.limit.short
            )
            sites_by_phase[p] = _exclusive_sites(shares, p, group, short, excluded, options) or sites_by_phase[p]
    return sites_by_phase


def total_share(sites: Sequence[PhaseSite]) -> float:
    """Return the share of their phase that sites have together."""
    return sum(site.share for site in sites)


def _sufficient_sites(
    shares: PhaseShares, phase: int, sites: Sequence[CutSite], origin: Origin, options: SiteOptions
) -> list[PhaseSite]:
    """Return the sites of a cut that a phase needs, largest first, until the rest is small or enough is covered."""
    parts = [
        PhaseSite(s.function, s.kind, float(shares.share[phase, list(s.chains)].sum()), s.chains, origin) for s in sites
    ]
    out: list[PhaseSite] = []
    for site in sorted(parts, key=lambda s: (-round(s.share, 9), s.key)):
        lower_bound = at_least(site.share, float(shares.inclusive[phase, 0]))
        small = lower_bound < options.least or (out and site.share * shares.of_run[phase] < options.of_run)
        if small or not lower_bound > 0 or total_share(out) >= options.enough:
            break
        out.append(site)
    return out


def _indistinguishable(sites_by_phase: Sequence[Sequence[PhaseSite]], threshold: float) -> list[list[int]]:
    """Return groups of phases, ascending, that no site distinguishes: no site's share differs enough between them."""
    share_of = [{site.key: site.share for site in sites} for sites in sites_by_phase]
    group = list(range(len(sites_by_phase)))
    for a in range(len(sites_by_phase)):
        for b in range(a):
            keys = share_of[a].keys() | share_of[b].keys()
            if keys and max(abs(share_of[a].get(key, 0.0) - share_of[b].get(key, 0.0)) for key in keys) < threshold:
                group = [group[b] if g == group[a] else g for g in group]
    groups = [[p for p, own in enumerate(group) if own == g] for g in sorted(set(group))]
    return [members for members in groups if len(members) > 1]


def _exclusive_sites(
    shares: PhaseShares,
    phase: int,
    group: Sequence[int],
    short: BoolArray,
    excluded: Set[tuple[int, str]],
    options: SiteOptions,
) -> list[PhaseSite]:
    """Return the outermost functions that run in only one phase of a group, if they hold most of it; else none.

    short: (q,) whose calls are too short.
    """
    if len(group) < 2:
        return []
    parts = shares.of_functions(group)
    specific = parts[list(group).index(phase)] / np.maximum(parts.sum(axis=0), 1e-12)
    function = shares.times.chains.function
    fit = (function >= 0) & (specific[np.maximum(function, 0)] >= options.specific)
    own = _cut_of_phase(shares, phase, short, fit, excluded, options)
    sites = _sufficient_sites(shares, phase, own, "apart", options)
    return sites if total_share(sites) >= options.half else []


def _sites_of_phase_alone(
    shares: PhaseShares, phase: int, excluded: Set[tuple[int, str]], options: SiteOptions
) -> list[PhaseSite]:
    """Return the sites that a phase would have if it were the whole run."""
    own = _cut_of_phase(shares, phase, shares.limit.short, None, excluded, options)
    return _sufficient_sites(shares, phase, own, "phase", options)


def _cut_of_phase(
    shares: PhaseShares,
    phase: int,
    short: BoolArray,
    fit: BoolArray | None,
    excluded: Set[tuple[int, str]],
    options: SiteOptions,
) -> list[CutSite]:
    """Return the cut of a phase's ticks."""
    weight = shares.inclusive[phase]
    selected = weight >= options.noticed * options.least * weight[0]
    return cut(shares.times, shares.limit.long, short, weight, selected, fit, excluded, options)
