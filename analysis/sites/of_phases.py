"""Which sites of the cut stand for which phase, and what is missing to tell phases apart.

Every site of the run's cut that holds enough of a phase is one of its sites. A phase that they hardly hold gets what it
has to itself, else a cut of its own. Phases that no site tells apart get what each has to itself further down, where
there is such a thing. q chains, k phases.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.sites import SITES, SiteOptions
from incprof.analysis.sites import NONE
from incprof.analysis.sites.cut import CutSite, Limits, cut
from incprof.analysis.sites.times import ChainTimes
from incprof.model import BoolArray, FloatArray, IntArray

# Standard errors by which a share may be below what was counted: with one chance in twenty it is less than that.
SURE = 1.645

Origin = Literal["run", "phase", "apart"]


@dataclass(frozen=True)
class PhaseSite:
    """A site of a phase, and the part of the phase's time that is spent in it or below it.

    chains: for which it stands. origin: from the cut of the run; of the phase alone, of which the run's sites hold too
    little; or what tells the phase from others, which have the same sites.
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
    """The chains of a run by phase.

    inclusive: (k, q) ticks of each chain with what it calls. share: (k, q) the same as a part of the phase. of_run:
    (k,) the part of the run's intervals that each phase has.
    """

    times: ChainTimes
    limit: Limits
    inclusive: FloatArray
    share: FloatArray
    of_run: FloatArray

    def of_functions(self, phases: Sequence[int]) -> FloatArray:
        """Return the part that each function has of each chain's phase, (len(phases), functions)."""
        function = self.times.chains.function
        named = np.flatnonzero(function >= 0)
        rows = [np.bincount(function[named], weights=self.share[p][named]) for p in phases]
        return np.array(rows, dtype=np.float64).reshape(len(phases), -1)


def by_phase(times: ChainTimes, limit: Limits, labels: IntArray, k: int) -> PhaseShares:
    """Sum up a run's chains by phase. labels: (n,), -1 for none."""
    use = np.flatnonzero(labels >= 0)
    gather = csr_array((np.ones(len(use)), (labels[use], use)), shape=(k, len(labels)))
    inclusive = times.chains.inclusive((gather @ times.ticks).toarray())
    share = inclusive / np.maximum(inclusive[:, :1], 1e-12)
    return PhaseShares(times, limit, inclusive, share, np.bincount(labels[use], minlength=k) / max(len(labels), 1))


def at_least(share: float, ticks: float) -> float:
    """Return what a share is at least that was counted in so many ticks (Wilson's interval)."""
    if not ticks > 0:
        return 0.0
    square = SURE**2 / ticks
    spread = SURE * float(np.sqrt(max(share * (1 - share), 0.0) / ticks + (square / SURE) ** 2 / 4))
    return max((share + square / 2 - spread) / (1 + square), 0.0)


def run_cut(
    times: ChainTimes, limit: Limits, excluded: Set[tuple[int, str]] = NONE, options: SiteOptions = SITES
) -> list[CutSite]:
    """Return the sites of a run, whatever its phases."""
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
        excluded: (function, kind) of sites that cannot be had.
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
            # Of a loop nobody knows how often it beats: what is counted is better, though its calls are short.
            short = found.limit.tiny if chosen[p][:1] and chosen[p][0].kind == "loop" else found.limit.short
            chosen[p] = _to_itself(found, p, group, short, excluded, options) or chosen[p]
    return chosen


def held(sites: Sequence[PhaseSite]) -> float:
    """Return the part of their phase that sites have together."""
    return sum(site.share for site in sites)


def _enough(
    found: PhaseShares, phase: int, sites: Sequence[CutSite], origin: Origin, options: SiteOptions
) -> list[PhaseSite]:
    """Return the sites of a cut that a phase needs, from the largest on: each matters, and something is missing."""
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
    """Return groups of phases, ascending, that no site tells apart: none has so much more of one than of the other."""
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
    """Return the highest functions that a phase has to itself among a group, if they hold most of it; else none.

    short: (q,) whose calls are gone too soon.
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
