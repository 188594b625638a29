"""The phases of a run and where to instrument them: section V of the paper in one call.

`method="paper"` follows the text literally. `method="robust"` descends the call tree: a segment ends where the frames
below those that all its samples share change in time beyond their own scatter; segments with the same profile form one
phase, and each is divided further in turn. Drift, flicker and step-like recurrence do not form phases.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import numpy as np

from incprof.analysis.answer.describe import describe_phases
from incprof.analysis.answer.phase_verdict import ENOUGH
from incprof.analysis.answer.time_use import mostly
from incprof.analysis.callgraph.paths import with_estimated_paths
from incprof.analysis.composition.features import build_features
from incprof.analysis.options import OPTIONS, Options
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.phases.bins import has_times
from incprof.analysis.phases.by_samples import cluster_by_samples
from incprof.analysis.phases.kmeans import MAX_K
from incprof.analysis.phases.paper_method import KMeansRuns, cluster_by_kmeans
from incprof.analysis.phases.short_parts import named_by_samples
from incprof.analysis.sites.choice import SiteChooser
from incprof.errors import NoDataError, UsageError
from incprof.model import IntArray, IntervalProfile
from incprof.model.time_use import spent_s


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
        raise NoDataError(
            f"no samples in {profile.n_intervals} intervals: the program used no measurable CPU time in its own code"
        )
    if not np.isfinite(total):
        raise NoDataError("the self times add up to no number: the profile is damaged, record it again")


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
        found = cluster_by_samples(profile, features, k, level, options.phases)
    else:
        found = cluster_by_kmeans(features, k, random_state, jobs, runs or KMeansRuns())
    by_samples = method == "robust" and has_times(profile)
    chosen = chooser.of_all(found.labels, found.off_cpu)
    phases = describe_phases(profile, found.labels, found.clusters, chosen, found.off_cpu, options=options.steps)
    judgement = found.judgement
    return PhaseResult(
        method=method,
        k=len(phases),
        k_clusters=judgement.k,
        rule="user" if k is not None else judgement.rule if level is None else "level",
        votes=judgement.votes,
        scores=judgement.scores,
        end_s=profile.end_s,
        labels=found.labels,
        clusters=found.clusters,
        phases=phases,
        dispersion=found.dispersion,
        features=len(features.columns),
        scatter=found.scatter,
        warnings=tuple(warnings_of(profile, k, len(phases), found.labels, options, by_samples=by_samples)),
        few=_are_few(profile, options, by_samples=by_samples),
        options=options,
        borders=found.borders,
        levels=found.levels,
        short=named_by_samples(profile, found.short),
        stages=found.stages,
        spent=mostly(spent_s(profile), profile.end_s - profile.start_s),
        paths_estimated=estimated,
    )


def _are_few(profile: IntervalProfile, options: Options, *, by_samples: bool) -> bool:
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
    features = build_features(profile, share=method == "robust", options=options.phases)
    return SiteChooser(profile, features, literal=method == "paper", options=options.sites)


def choose_again(chooser: SiteChooser, result: PhaseResult, excluded: Set[tuple[int, str]]) -> PhaseResult:
    """Choose the sites of a result's phases again, without some sites.

    Args:
        chooser: of the profile and method of the result.
        result: phases, and sites to be replaced.
        excluded: (function, kind) of sites that are not available.
    """
    off_cpu = next((phase.id for phase in result.phases if phase.off_cpu), None)
    chosen = chooser.of_all(result.labels, off_cpu, excluded)
    steps = result.options.steps
    phases = describe_phases(chooser.profile, result.labels, result.clusters, chosen, off_cpu, steps)
    before = {phase.id: phase.confidence for phase in result.phases}
    return replace(result, phases=tuple(replace(p, confidence=before.get(p.id)) for p in phases))


def warnings_of(
    profile: IntervalProfile, asked: int | None, k: int, labels: IntArray, options: Options, *, by_samples: bool
) -> list[str]:
    """Return warnings for the reader of the answer.

    Args:
        profile: that the answer is about.
        asked: number of phases requested; None if none was.
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
    if asked is not None and k < asked:
        out.append(f"{asked} phases were asked for, but only {k} differ")
    unclassified = int((labels < 0).sum())
    if unclassified > 0.2 * len(labels):
        out.append(f"{unclassified} of {len(labels)} intervals belong to no phase")
    if changed := options.changed():
        told = ", ".join(f"{name}={value:g}" for name, value in changed.items())
        out.append(f"thresholds are not as usual: {told}")
    return out
