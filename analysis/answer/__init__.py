"""The phases of a run and where to instrument them: section V of the paper in one call.

`method="paper"` follows the text literally. `method="robust"` descends the call tree: a segment ends where the frames
below those that all its samples share change in time beyond their own scatter; segments with the same profile form one
phase, and each is divided further in turn. Drift, flicker and step-like recurrence do not form phases.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.answer.describe import describe_phases, given_s, mostly
from incprof.analysis.call_paths import with_estimated_paths
from incprof.analysis.features import build_features
from incprof.analysis.phase_result import ENOUGH, Phase, PhaseResult, SiteCost
from incprof.analysis.phases.by_samples import cluster_by_samples
from incprof.analysis.phases.kmeans import MAX_K, KMeansRuns, cluster_by_kmeans
from incprof.analysis.phases.levels import has_times
from incprof.analysis.sites import SiteChooser
from incprof.analysis.sites.rates import BeatCost, PhaseTime, calls_by_phase, factors, phase_time
from incprof.analysis.thresholds import OPTIONS, Options
from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.model.time_use import cpu_seconds_by_kind, missed_seconds, not_sampled


def refuse(profile: IntervalProfile) -> None:
    """Reject a profile that cannot be analysed.

    Raises:
        NoDataError: there is no interval, a time or a count is not finite or is negative, or there are no samples.
    """
    if profile.n_intervals == 0:
        raise NoDataError("the run has no complete interval: record for longer, or with a shorter interval")
    for what, matrix in (("self time", profile.self_s), ("number of calls", profile.calls)):
        bad = np.flatnonzero(~np.isfinite(matrix.data) | (matrix.data < 0))
        if len(bad):
            row, value = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1, matrix.data[bad[0]]
            raise NoDataError(f"interval {row} has a {what} of {value}: the profile is damaged, record it again")
    if not np.isfinite(profile.end_s).all() or not np.isfinite(profile.start_s).all():
        raise NoDataError("an interval has a start or an end that is not a number: the profile is damaged")
    with np.errstate(over="ignore"):
        total = float(profile.self_s.sum())
    if not total > 0:
        missed_s = missed_seconds(profile)
        why = "the program used no measurable CPU time in its own code" if missed_s is None else not_sampled(missed_s)
        raise NoDataError(f"no samples in {profile.n_intervals} intervals: {why}")
    if not np.isfinite(total):
        raise NoDataError("the sum of the self times is not a number: the profile is damaged, record it again")


METHODS = ("robust", "paper")
# Most phases that a user may request.
MOST_K = 16


def find_phases(
    profile: IntervalProfile,
    *,
    method: str = "robust",
    k: int | None = None,
    level: int | None = None,
    random_state: int = 0,
    jobs: int = 1,
    options: Options = OPTIONS,
    chooser: SiteChooser | None = None,
    runs: KMeansRuns | None = None,
) -> PhaseResult:
    """Find the phases of a process.

    Args:
        profile: the recording.
        method: "robust" or "paper".
        k: number of phases wanted; by default the method chooses.
        level: number of phases at most: the most similar ones are merged, or parts of the phases are split off
            (robust).
        random_state: seed of k-means (paper), and of the resampling (robust). Same profile and seed, same answer.
        jobs: threads that run the starts of k-means side by side (paper); does not affect the result.
        options: thresholds.
        chooser: of the same profile, method and thresholds, if there is one.
        runs: of k-means that were computed before (paper); new ones are added.

    Raises:
        UsageError: unknown method, k outside 1..16 (the paper's method: 1..8), a level below 1, or a level with the
            paper's method.
        NoDataError: no interval holds a sample, or the profile holds invalid numbers.
    """
    most = MAX_K if method == "paper" else MOST_K
    if k is not None and not 1 <= k <= most:
        raise UsageError(f"--k {k} is outside 1..{most} (method {method})")
    if level is not None and (level < 1 or method == "paper" or k is not None):
        raise UsageError(f"--level {level}: a level is 1 or more, of the robust method, and not beside --k")
    chooser = chooser or site_chooser(profile, method, options)
    estimated = len(chooser.profile.samples.time_s) > len(profile.samples.time_s)
    profile, features = chooser.profile, chooser.features
    if method == "robust":
        clustering = cluster_by_samples(profile, features, k, level, options.phases)
    else:
        clustering = cluster_by_kmeans(features, k, random_state, jobs, runs or KMeansRuns())
    by_samples = method == "robust" and has_times(profile)
    sites = chooser.of_all(clustering.labels, clustering.off_cpu)
    phases = describe_phases(
        profile, clustering.labels, clustering.clusters, sites, clustering.off_cpu, options=options.steps
    )
    judgement = clustering.judgement
    return PhaseResult(
        method=method,
        k=len(phases),
        k_clusters=judgement.k,
        rule="user" if k is not None else judgement.rule if level is None else "level",
        votes=judgement.votes,
        scores=judgement.scores,
        end_s=profile.end_s,
        labels=clustering.labels,
        clusters=clustering.clusters,
        phases=phases,
        dispersion=clustering.dispersion,
        features=len(features.columns),
        scatter=clustering.scatter,
        warnings=tuple(warnings_of(profile, k, len(phases), clustering.labels, options, by_samples=by_samples)),
        few=_is_too_short(profile, options, by_samples=by_samples),
        options=options,
        borders=clustering.borders,
        levels=clustering.levels,
        short=clustering.short,
        stages=clustering.stages,
        spent=mostly(cpu_seconds_by_kind(profile), given_s(profile)),
        paths_estimated=estimated,
    )


def _is_too_short(profile: IntervalProfile, options: Options, *, by_samples: bool) -> bool:
    """Return whether a run is too short to show more than one phase."""
    if by_samples:
        return float(profile.self_s.sum()) * profile.metadata.rate_hz < ENOUGH * options.phases.samples
    return profile.n_intervals < ENOUGH


def site_chooser(profile: IntervalProfile, method: str, options: Options = OPTIONS) -> SiteChooser:
    """Build the features that phases are found from, and the chooser of their sites.

    Raises:
        UsageError: unknown method.
        NoDataError: no interval holds a sample, or the profile holds invalid numbers.
    """
    if method not in METHODS:
        raise UsageError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}")
    refuse(profile)
    if method == "robust":
        profile = with_estimated_paths(profile)
    features = build_features(profile, share=method == "robust")
    return SiteChooser(profile, features, literal=method == "paper", options=options.sites)


def choose_again(chooser: SiteChooser, result: PhaseResult, excluded: Set[tuple[int, str]]) -> PhaseResult:
    """Choose the sites of a result's phases again, without some sites.

    Args:
        chooser: of the profile and method of the result.
        result: phases, and sites to be replaced.
        excluded: (function, kind) of sites that are not available.
    """
    off_cpu = next((phase.id for phase in result.phases if phase.off_cpu), None)
    sites = chooser.of_all(result.labels, off_cpu, excluded)
    steps = result.options.steps
    phases = describe_phases(chooser.profile, result.labels, result.clusters, sites, off_cpu, steps)
    before = {phase.id: phase.confidence for phase in result.phases}
    return replace(result, phases=tuple(replace(p, confidence=before.get(p.id)) for p in phases))


def warnings_of(
    profile: IntervalProfile, requested_k: int | None, k: int, labels: IntArray, options: Options, *, by_samples: bool
) -> list[str]:
    """Return warnings for the reader of the answer.

    Args:
        profile: that the answer is about.
        requested_k: number of phases requested; None if none was.
        k: number of phases found.
        labels: (n,) the phases, -1 for none.
        options: thresholds.
        by_samples: whether the phases were found in samples; else in intervals.
    """
    out = []
    if not by_samples and profile.n_intervals == 1:
        out.append("one interval only: a single phase by definition; record with a shorter interval to see phases")
    elif not by_samples and profile.n_intervals < 10:
        # Where recorded intervals were pooled, shorter ones would hold too few samples.
        shorter = ", or with a shorter interval" if profile.metadata.pooled == 1 else ""
        out.append(f"{profile.n_intervals} intervals are few: record for longer{shorter}")
    if requested_k is not None and k < requested_k:
        out.append(f"{requested_k} phases were asked for, but only {k} of them differ")
    unclassified = int((labels < 0).sum())
    if unclassified > 0.2 * len(labels):
        out.append(f"{unclassified} of {len(labels)} intervals belong to no phase")
    if changed := options.changed():
        list_of_changes = ", ".join(f"{name}={value:g}" for name, value in changed.items())
        out.append(f"thresholds differ from their defaults: {list_of_changes}")
    return out


# Keep the total cost of heartbeats within a budget: costs are predicted from counted calls, lowered by rate factors.
#
# A body site beats once per call, and calls are counted. The iterations of a loop are known only once the loop is
# found in the source (`incprof sites`), so loop sites are not included here. f functions, k phases.


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
        usable = [f for f in level if level[f] + 1 < len(steps) and beats.cost.pair_ns >= little * steps[level[f]]]
        if not usable:
            return {}, max(level, key=lambda f: (overhead[f][worst], -f))
        dearest = max(usable, key=lambda f: (overhead[f][worst], -f))
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
