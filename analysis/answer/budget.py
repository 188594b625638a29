"""Keep the total cost of heartbeats within a budget: costs are predicted from counted calls, lowered by rate factors.

A body site beats once per call, and calls are counted. The iterations of a loop are known only once the loop is found
in the source (`incprof sites`), so loop sites are not included here. f functions, k phases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.answer.find import choose_again
from incprof.analysis.phase_result import Phase, PhaseResult, SiteCost
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.rates import BeatCost, PhaseTime, calls_by_phase, factors, phase_time
from incprof.model import FloatArray, IntArray

Key = tuple[int, str]
# Sites that are too expensive are given up one by one, and their replacements may be expensive as well.
MOST_TRIES = 16


@dataclass(frozen=True)
class _Beats:
    """Calls and costs from which the overhead of sites is predicted.

    Attributes:
        calls: of each function in each phase, (k, f).
        time: of the phases.
        cost: of a beat.
        recorded_cost: share of the cost of skipped beats; once recorded beats cost less, skipping more saves nothing.
    """

    calls: FloatArray
    time: PhaseTime
    cost: BeatCost
    recorded_cost: float

    def overhead(self, function: int, factor: int) -> FloatArray:
        """Return the predicted overhead of a body site in each phase, (k,), percent of the program's CPU time."""
        each = self.cost.pair_ns / factor + self.cost.skipped_ns * (1 - 1 / factor)
        busy = self.time.cpu_s > 0
        rate = np.divide(self.calls[:, function], self.time.cpu_s, out=np.zeros(len(busy)), where=busy)
        overhead: FloatArray = 100e-9 * each * rate
        return overhead


def within_budget(
    chooser: SiteChooser, result: PhaseResult, cost: BeatCost, budget_pct: float, *, move: bool = True
) -> PhaseResult:
    """Predict the cost of a result's sites, and keep the sum within a budget in the phase where it is largest.

    The most expensive site gets the next rate factor (2, 5, 10, 20, ...) as long as that helps. A site that costs too
    much even when nearly all its beats are skipped is replaced by the next best one.

    Args:
        chooser: of the profile and method of the result.
        result: phases and sites.
        cost: of a beat.
        budget_pct: percent of the CPU time that the program itself uses, positive.
        move: whether sites may be given up, and beats skipped; otherwise costs are only predicted.
    """
    profile = chooser.profile
    calls, time = calls_by_phase(profile, result.labels), phase_time(profile, result.labels)
    beats = _Beats(calls, time, cost, result.options.sites.recorded_cost)
    excluded: set[Key] = set()
    # Number the heartbeats from scratch: drop all sites, so that no earlier number is kept.
    first = replace(result, phases=tuple(replace(phase, sites=()) for phase in result.phases))
    for _ in range(MOST_TRIES):
        factor, dearest = _factors_for(result, beats, budget_pct if move else np.inf)
        if dearest is None:
            return _with_costs(result, beats, factor)
        excluded.add((dearest, "body"))
        result = choose_again(chooser, first, excluded)
    return _with_costs(result, beats, _factors_for(result, beats, np.inf)[0])


def _bodies(result: PhaseResult, beats: _Beats) -> list[int]:
    """Return the functions with a body site whose calls are counted, ascending."""
    bodies = {site.index for phase in result.phases for site in phase.sites if site.kind == "body"}
    return sorted(function for function in bodies if beats.calls[:, function].any())


def _factors_for(result: PhaseResult, beats: _Beats, budget_pct: float) -> tuple[dict[int, int], int | None]:
    """Return the rate factor of each body site and None; or, where no factor helps, the most expensive site."""
    steps = factors()
    level = dict.fromkeys(_bodies(result, beats), 0)
    overhead = {function: beats.overhead(function, 1) for function in level}
    while level:
        total = np.sum(list(overhead.values()), axis=0)
        worst = int(np.argmax(total))
        if total[worst] <= budget_pct:
            break
        little = beats.recorded_cost * beats.cost.skipped_ns
        able = [f for f in level if level[f] + 1 < len(steps) and beats.cost.pair_ns >= little * steps[level[f]]]
        if not able:
            return {}, max(level, key=lambda f: (overhead[f][worst], -f))
        dearest = max(able, key=lambda f: (overhead[f][worst], -f))
        level[dearest] += 1
        overhead[dearest] = beats.overhead(dearest, steps[level[dearest]])
    return {function: steps[at] for function, at in level.items()}, None


def _with_costs(result: PhaseResult, beats: _Beats, factor: dict[int, int]) -> PhaseResult:
    """Give each site its predicted cost."""

    def costed(phase: Phase) -> Phase:
        wall = float(beats.time.wall_s[phase.id])
        sites = []
        for site in phase.sites:
            if site.kind != "body" or site.index not in factor:
                sites.append(site)
                continue
            overhead = float(beats.overhead(site.index, factor[site.index]).max(initial=0.0))
            rate = float(beats.calls[phase.id, site.index]) / wall if wall > 0 else 0.0
            sites.append(replace(site, cost=SiteCost(rate, factor[site.index], overhead)))
        return replace(phase, sites=tuple(sites))

    used: IntArray = np.array(_bodies(result, beats), dtype=np.int64)
    total = sum((beats.overhead(int(f), factor[int(f)]) for f in used), np.zeros(result.k))
    return replace(result, phases=tuple(map(costed, result.phases)), beats_pct=float(np.max(total, initial=0.0)))
