"""The phases of a run and where to instrument them: the whole of section V of the paper, in one call.

`method="paper"` follows the text literally. `method="robust"` cuts the run into stretches in which no function's share
changes beyond its own scatter, and asks which of these do the same; mixtures, interruptions, waiting and the steps of
slow iterations become no phases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from incprof.analysis.answer.describe import describe_phases
from incprof.analysis.callgraph.paths import with_estimated_paths
from incprof.analysis.options import OPTIONS, Options
from incprof.analysis.phases.bad_input import refuse
from incprof.analysis.phases.by_kmeans import cluster_by_kmeans
from incprof.analysis.phases.by_stretches import cluster_by_stretches
from incprof.analysis.phases.features import build_features
from incprof.analysis.phases.kmeans import MAX_K
from incprof.analysis.phases.kmeans_runs import KMeansRuns
from incprof.analysis.phases.results import Phase, PhaseResult
from incprof.analysis.phases.short import named_by_samples
from incprof.analysis.phases.spent import mostly
from incprof.analysis.sites.choice import SiteChooser
from incprof.errors import UsageError
from incprof.model import IntArray, IntervalProfile
from incprof.model.spent import spent_s

METHODS = ("robust", "paper")
# Phases that may be asked for.
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
        profile: what was recorded.
        method: "robust" or "paper".
        k: number of phases wanted; by default the method chooses.
        level: at most so many phases, the most alike joined (robust); by default all that were found.
        random_state: seed of k-means (paper), and of what is drawn again (robust). Same profile and seed, same answer.
        jobs: threads that run the starts of k-means side by side (paper); the answer is the same.
        options: thresholds.
        chooser: of the same profile, method and thresholds, if there is one.
        runs: of k-means that were computed before (paper), and those computed now.

    Raises:
        UsageError: unknown method, k outside 1..16 (the paper's method: 1..8), or a level below 1 or of the paper's.
        NoDataError: no interval holds a sample, or the profile holds numbers that are none.
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
        found = cluster_by_stretches(features, profile.functions, k, options.phases, random_state)
    else:
        found = cluster_by_kmeans(features, k, random_state, jobs, runs or KMeansRuns())
    finest = found
    if level is not None:
        found = found.at_level(level)
    chosen = chooser.of_all(found.labels, found.off_cpu)
    phases = describe_phases(profile, found.labels, found.clusters, chosen, found.off_cpu, options=options.steps)
    if found.sure is not None:
        phases = _with_confidence(phases, found.sure[0])
    judgement = found.judgement
    return PhaseResult(
        method=method,
        k=len(phases),
        k_clusters=judgement.k,
        rule="user" if k is not None else judgement.rule if found is finest else "level",
        votes=judgement.votes,
        scores=judgement.scores,
        end_s=profile.end_s,
        labels=found.labels,
        clusters=found.clusters,
        phases=phases,
        dispersion=found.dispersion,
        features=len(features.columns),
        scatter=found.scatter,
        warnings=tuple(warnings_of(profile, k, len(phases), found.labels, options)),
        joined=found.joined,
        options=options,
        borders=found.borders,
        levels=found.levels,
        in_turn=found.in_turn,
        short=named_by_samples(profile, found.short),
        spent=mostly(spent_s(profile), profile.end_s - profile.start_s),
        k_again=None if found.sure is None else found.sure[1],
        paths_estimated=estimated,
    )


def _with_confidence(phases: Sequence[Phase], sure: Mapping[int, float]) -> tuple[Phase, ...]:
    """Set how sure each phase is; of waiting, nothing was seen that speaks against it."""
    return tuple(replace(p, confidence=sure.get(p.id, p.intervals / (p.intervals + 1.0))) for p in phases)


def site_chooser(profile: IntervalProfile, method: str, options: Options = OPTIONS) -> SiteChooser:
    """Build what phases are found from, and what chooses their sites.

    Raises:
        UsageError: unknown method.
        NoDataError: no interval holds a sample, or the profile holds numbers that are none.
    """
    if method not in METHODS:
        raise UsageError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}")
    refuse(profile)
    if method == "robust":
        profile = with_estimated_paths(profile)
    features = build_features(profile, share=method == "robust", options=options.phases)
    return SiteChooser(profile, features, literal=method == "paper", options=options.sites)


def choose_again(chooser: SiteChooser, result: PhaseResult, excluded: Set[tuple[int, str]]) -> PhaseResult:
    """Give the phases of a result the sites that they get without some.

    Args:
        chooser: of the profile and method that the result is of.
        result: phases, and sites to be replaced.
        excluded: (function, kind) of sites that cannot be had.
    """
    off_cpu = next((phase.id for phase in result.phases if phase.off_cpu), None)
    chosen = chooser.of_all(result.labels, off_cpu, excluded)
    steps = result.options.steps
    phases = describe_phases(chooser.profile, result.labels, result.clusters, chosen, off_cpu, steps)
    before = {phase.id: phase.confidence for phase in result.phases}
    return replace(result, phases=tuple(replace(p, confidence=before.get(p.id)) for p in phases))


def warnings_of(profile: IntervalProfile, asked: int | None, k: int, labels: IntArray, options: Options) -> list[str]:
    """Say what the reader of the answer should know.

    Args:
        profile: that the answer is about.
        asked: so many phases, None if nobody asked for a number.
        k: so many were found.
        labels: (n,) the phases, -1 for none.
        options: thresholds.
    """
    out = []
    if profile.n_intervals == 1:
        out.append("one interval only: a single phase by definition; record with a shorter interval to see phases")
    elif profile.n_intervals < 10:
        # Where recorded ones were pooled, shorter ones would hold too little.
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
