"""Assign sites of the cut to phases, and add sites that distinguish phases.

Every site of the run's cut that holds enough of a phase is one of its sites. A phase that they hardly hold gets the
functions that run in it alone, else a cut of its own. Phases that no site distinguishes get the functions further down
that run in each alone, if there are any. q call paths, k phases.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.site_thresholds import SITES, SiteOptions
from incprof.analysis.sites import NONE
from incprof.analysis.sites.cut import CutSite, Limits, cut
from incprof.analysis.sites.times import ChainTimes
from incprof.model import BoolArray, FloatArray, IntArray

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
        of_run: (k,) share of the run's intervals in each phase.
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


def by_phase(times: ChainTimes, limit: Limits, labels: IntArray, k: int) -> PhaseShares:
    """Sum a run's call paths by phase. labels: (n,), -1 for none."""
    use = np.flatnonzero(labels >= 0)
    gather = csr_array((np.ones(len(use)), (labels[use], use)), shape=(k, len(labels)))
    inclusive = times.chains.inclusive((gather @ times.ticks).toarray())
    share = inclusive / np.maximum(inclusive[:, :1], 1e-12)
    return PhaseShares(times, limit, inclusive, share, np.bincount(labels[use], minlength=k) / max(len(labels), 1))


def at_least(share: float, ticks: float) -> float:
    """Return the lower bound of a share that was counted in so many ticks (Wilson's interval)."""
    if not ticks > 0:
        return 0.0
    square = SURE**2 / ticks
    spread = SURE * float(np.sqrt(max(share * (1 - share), 0.0) / ticks + (square / SURE) ** 2 / 4))
    return max((share + square / 2 - spread) / (1 + square), 0.0)


def run_cut(
    times: ChainTimes, limit: Limits, excluded: Set[tuple[int, str]] = NONE, options: SiteOptions = SITES
) -> list[CutSite]:
    """Return the sites of a run, regardless of its phases."""
    whole = np.asarray(times.inclusive[:, [0]].toarray()).ravel()
    part = csr_array(times.inclusive.multiply(1.0 / np.maximum(whole, 1e-12)[:, None]))
    often = np.asarray((part >= options.much).sum(axis=0)).ravel() >= options.several
    wanted = often | (times.total >= options.noticed * options.least * times.total[0])
    return cut(times, limit.long, limit.short, times.total, wanted, None, excluded, options)


def sites_of_phases(
    found: PhaseShares,
    sites: Sequence[CutSite],
    excluded: Set[tuple[int, str]] = NONE,
    options: SiteOptions = SITES,
) -> list[list[PhaseSite]]:
    """Return the sites of each phase, largest first.

    Args:
        found: k phases.
        sites: of the run's cut.
        excluded: (function, kind) of sites that are not available.
        options: thresholds.
    """
    k = len(found.inclusive)
    chosen = [_enough(found, p, sites, "run", options) for p in range(k)]
    for p in range(k):
        if held(chosen[p]) < options.half:
            own = _to_itself(found, p, range(k), found.limit.tiny, excluded, options)
            own = own or _on_its_own(found, p, excluded, options)
            chosen[p] = max(chosen[p], own, key=held)
    for group in _alike(chosen, options.tells):
        for p in group:
            # The rate of a loop's beats is unknown: a site with counted calls is better, though its calls are short.
            short = found.limit.tiny if chosen[p][:1] and chosen[p][0].kind == "loop" else found.limit.short
            chosen[p] = _to_itself(found, p, group, short, excluded, options) or chosen[p]
    return chosen


def held(sites: Sequence[PhaseSite]) -> float:
    """Return the share of their phase that sites have together."""
    return sum(site.share for site in sites)


def _enough(
    found: PhaseShares, phase: int, sites: Sequence[CutSite], origin: Origin, options: SiteOptions
) -> list[PhaseSite]:
    """Return the sites of a cut that a phase needs, largest first, until the rest is small or enough is covered."""
    parts = [
        PhaseSite(s.function, s.kind, float(found.share[phase, list(s.chains)].sum()), s.chains, origin) for s in sites
    ]
    out: list[PhaseSite] = []
    for site in sorted(parts, key=lambda s: (-round(s.share, 9), s.key)):
        sure = at_least(site.share, float(found.inclusive[phase, 0]))
        small = sure < options.least or (out and site.share * found.of_run[phase] < options.of_run)
        if small or not sure > 0 or held(out) >= options.enough:
            break
        out.append(site)
    return out


def _alike(chosen: Sequence[Sequence[PhaseSite]], tells: float) -> list[list[int]]:
    """Return groups of phases, ascending, that no site distinguishes: no site's share differs enough between them."""
    shares = [{site.key: site.share for site in sites} for sites in chosen]
    group = list(range(len(chosen)))
    for a in range(len(chosen)):
        for b in range(a):
            keys = shares[a].keys() | shares[b].keys()
            if keys and max(abs(shares[a].get(key, 0.0) - shares[b].get(key, 0.0)) for key in keys) < tells:
                group = [group[b] if g == group[a] else g for g in group]
    groups = [[p for p, own in enumerate(group) if own == g] for g in sorted(set(group))]
    return [members for members in groups if len(members) > 1]


def _to_itself(
    found: PhaseShares,
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
    parts = found.of_functions(group)
    specific = parts[list(group).index(phase)] / np.maximum(parts.sum(axis=0), 1e-12)
    function = found.times.chains.function
    fit = (function >= 0) & (specific[np.maximum(function, 0)] >= options.specific)
    own = _cut_of_phase(found, phase, short, fit, excluded, options)
    sites = _enough(found, phase, own, "apart", options)
    return sites if held(sites) >= options.half else []


def _on_its_own(
    found: PhaseShares, phase: int, excluded: Set[tuple[int, str]], options: SiteOptions
) -> list[PhaseSite]:
    """Return the sites that a phase would have if it were the whole run."""
    own = _cut_of_phase(found, phase, found.limit.short, None, excluded, options)
    return _enough(found, phase, own, "phase", options)


def _cut_of_phase(
    found: PhaseShares,
    phase: int,
    short: BoolArray,
    fit: BoolArray | None,
    excluded: Set[tuple[int, str]],
    options: SiteOptions,
) -> list[CutSite]:
    """Return the cut of a phase's ticks."""
    weight = found.inclusive[phase]
    wanted = weight >= options.noticed * options.least * weight[0]
    return cut(found.times, found.limit.long, short, weight, wanted, fit, excluded, options)
