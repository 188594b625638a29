"""Where to put the heartbeats, from call paths: the highest function that stands for a phase and for no other.

Self time elects the functions that have the time, which are often far below the one that a person would watch. Here the
tree of calls is walked from the top: past functions that run in other phases too, and past a driver that lives on and
only calls the steps of the phase, if these hold its time and are not too short for a beat.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.sites import SITES, SiteOptions
from incprof.analysis.sites import NONE
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.ticks import entries, tree_ticks


@dataclass(frozen=True)
class TreeSite:
    """A site, and the part of its phase's time that is spent in it or below it."""

    function: int
    kind: str
    share: float


@dataclass(frozen=True)
class TreeTimes:
    """The call paths of a run.

    ticks: sparse (n, q), without those that have no function of the program on the stack.
    functions: sparse (q, f), the function of each chain below which it is not called again. present, called: sparse
    (n, f), whether it is on the stack in an interval, and whether it is called in it (inlined: seen to be entered).
    seconds: (f,) mean duration of a call, infinite where none was counted. unsure: (f,) inlined functions that may be
    called as often as an accessor.
    """

    chains: CallTree
    ticks: csr_array
    functions: csr_array
    present: csr_array
    called: csr_array
    seconds: FloatArray
    unsure: BoolArray


def tree_times(profile: IntervalProfile) -> TreeTimes | None:
    """Return the call paths of a profile, None when it has none (gmon directories)."""
    if not len(profile.samples.time_s):
        return None
    chains = profile.own_tree
    ticks = tree_ticks(profile, chains)
    functions = _functions(chains, len(profile.functions))
    below = ticks @ chains.ancestors()
    present = _ones(below @ functions)
    calls = csr_array(csr_array(profile.calls) + entries(profile, chains) + _calls_beside(profile))
    count = np.asarray(csr_array(profile.calls).sum(axis=0)).ravel()
    unsure = np.zeros(len(count), dtype=np.bool_)
    if profile.inlined is not None:
        unsure[profile.inlined.function] = count[profile.inlined.function] == 0
        for function, beside in profile.inlined.beside.items():
            unsure[function] = False
            count[function] = max(count[function], *count[list(beside)])
    used_s = np.asarray((below @ functions).sum(axis=0)).ravel() / profile.metadata.rate_hz
    seconds = np.where(count > 0, used_s / np.maximum(count, 1), np.inf)
    return TreeTimes(chains, ticks, functions, present, _ones(calls), seconds, unsure)


def _calls_beside(profile: IntervalProfile) -> csr_array:
    """Return the calls of functions that are called as often as inlined ones, for these, sparse (n, f)."""
    size = len(profile.functions)
    pairs = [] if profile.inlined is None else [(b, f) for f, beside in profile.inlined.beside.items() for b in beside]
    row, column = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return csr_array(csr_array(profile.calls) @ csr_array((np.ones(len(pairs)), (row, column)), shape=(size, size)))


def _functions(chains: CallTree, count: int) -> csr_array:
    """Sparse (q, f), see TreeTimes."""
    first = chains.outermost()
    first = first[chains.function[first] >= 0]
    return csr_array((np.ones(len(first)), (first, chains.function[first])), shape=(len(chains.parent), count))


def _ones(matrix: csr_array) -> csr_array:
    """Return 1 where a sparse matrix is positive."""
    return (matrix > 0).astype(np.float64)


@dataclass(frozen=True)
class PhaseTree:
    """The same by phase, k of them.

    inclusive: (k, q) ticks of each chain with what it calls. share: (k, f) of each function as a part of the phase.
    specific: (k, f) how much of all phases' shares of a function the phase has. short: (k, f) called in most intervals.
    """

    tree: TreeTimes
    inclusive: FloatArray
    share: FloatArray
    specific: FloatArray
    short: BoolArray


def by_phase(tree: TreeTimes, labels: IntArray, k: int) -> PhaseTree:
    """Sum up a run's call paths by phase. labels: (n,), -1 for none."""
    use = np.flatnonzero(labels >= 0)
    gather = csr_array((np.ones(len(use)), (labels[use], use)), shape=(k, len(labels)))
    inclusive = tree.chains.inclusive((gather @ tree.ticks).toarray())
    share = (inclusive @ tree.functions) / np.maximum(inclusive[:, :1], 1e-12)
    specific = share / np.maximum(share.sum(axis=0), 1e-12)
    active = (gather @ _ones(tree.called + tree.present)).toarray()
    short = 2 * (gather @ tree.called).toarray() > active
    return PhaseTree(tree, inclusive, share, specific, short)


def sites_of_phase(
    found: PhaseTree,
    phase: int,
    excluded: Set[tuple[int, str]] = NONE,
    *,
    alone: bool = True,
    options: SiteOptions = SITES,
) -> list[TreeSite]:
    """Return the sites of a phase, largest first.

    excluded: (function, kind) of sites that cannot be had; what is below them may stand for them. alone: whether one
    that holds nearly all of the phase may take the place of small ones that tell it better. options: thresholds.
    """
    walk = _Walk(found, phase, excluded, options)
    share: dict[tuple[int, str], float] = {}
    for site in walk.sites():
        key = (site.function, site.kind)
        share[key] = share.get(key, 0.0) + site.share
    large = [TreeSite(*key, part) for key, part in share.items() if part >= options.least]
    if sum(site.share for site in large) < options.half:
        stand_in = walk.least_bad({site.function for site in large})
        # What holds nearly all of the phase holds the small ones too, which are too small to tell it.
        large = stand_in if alone and stand_in and stand_in[0].share >= options.stands_alone else large + stand_in
    return sorted(large, key=lambda site: (-round(site.share, 9), site.function))


class _Walk:
    """Goes through one phase's calls, from the innermost to main."""

    def __init__(self, found: PhaseTree, phase: int, excluded: Set[tuple[int, str]], options: SiteOptions):
        self.tree, self.excluded, self.options = found.tree, excluded, options
        self.phases, self.inclusive = len(found.inclusive), found.inclusive[phase]
        self.share, self.specific, self.short = found.share[phase], found.specific[phase], found.short[phase]

    def sites(self) -> list[TreeSite]:
        """Return the sites, disjoint; a function called by several others may be there several times."""
        parent, function = self.tree.chains.parent, self.tree.chains.function
        below: dict[int, list[TreeSite]] = {}
        noticed = self.options.noticed * self.options.least * self.inclusive[0]
        # A parent comes before what it calls, so that nothing is asked for before it is known.
        for chain in np.flatnonzero(self.inclusive >= noticed)[::-1].tolist():
            inner = below.pop(chain, [])
            if chain == 0 or not self.inclusive[0] > 0:
                return inner
            here = self._here(int(function[chain]), float(self.inclusive[chain] / self.inclusive[0]), inner)
            below.setdefault(int(parent[chain]), []).extend(here)
        return []

    def _here(self, function: int, share: float, inner: list[TreeSite]) -> list[TreeSite]:
        """Choose between a function and the sites below it."""
        if function < 0 or self.specific[function] < self.options.specific:
            return inner
        own = TreeSite(function, self._kind(function), share)
        if (function, own.kind) in self.excluded:
            return inner
        if own.kind == "body":
            return [own]
        steps = [site for site in inner if self._is_step(site)]
        return steps if sum(step.share for step in steps) >= self.options.instead_of_driver * share else [own]

    def _is_step(self, site: TreeSite) -> bool:
        """Tell whether a site below a function that lives on is long enough to stand beside others for it."""
        long = site.kind == "loop" or bool(self.tree.seconds[site.function] >= self.options.shortest_s)
        return long and not self.tree.unsure[site.function]

    def _kind(self, function: int) -> str:
        return "body" if self.short[function] else "loop"

    def least_bad(self, known: Set[int]) -> list[TreeSite]:
        """Return the function that comes nearest to standing for the phase, where none does; none if none tells."""
        fit = (self.share >= self.options.least) & (self.specific >= self.options.telling / self.phases)
        told = np.round(self.share * self.specific, 9)
        order = np.lexsort((np.arange(len(told)), -told))
        sites = [TreeSite(int(f), self._kind(int(f)), float(self.share[f])) for f in order[fit[order]].tolist()]
        sites = [s for s in sites if s.function not in known and (s.function, s.kind) not in self.excluded]
        good = self.options.as_good * told[sites[0].function] if sites else 0.0
        as_good = [s for s in sites[1:] if told[s.function] >= good and self._is_step(s)]
        return sorted([*sites[:1], *as_good], key=lambda site: -self._depth(site.function))[:1]

    def _depth(self, function: int) -> int:
        """Return how many functions are at least above one in this phase."""
        parent = self.tree.chains.parent
        chains = self.tree.functions[:, [function]].nonzero()[0]
        depths = []
        for chain in chains[self.inclusive[chains] > 0].tolist():
            depth = 0
            while chain:
                chain, depth = int(parent[chain]), depth + 1
            depths.append(depth)
        return min(depths, default=0)
