"""The phases of a run and where to instrument them: the whole of section V of the paper, in one call.

`method="paper"` follows the text literally. `method="robust"` clusters mixes of call chains instead of seconds, asks
first whether there is more than one phase, and keeps mixtures, interruptions, waiting and stray ticks from becoming
phases or sites.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from incprof.analysis.answer.describe import describe_phases
from incprof.analysis.options import OPTIONS, Options
from incprof.analysis.phases.bad_input import refuse
from incprof.analysis.phases.cluster import Alike, cluster_paper, cluster_robust
from incprof.analysis.phases.features import build_features
from incprof.analysis.phases.kmeans import MAX_K, MOST_K
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.sites.choice import SiteChooser
from incprof.errors import UsageError
from incprof.model import IntArray, IntervalProfile

METHODS = ("robust", "paper")


def find_phases(
    profile: IntervalProfile,
    *,
    method: str = "robust",
    k: int | None = None,
    random_state: int = 0,
    jobs: int = 1,
    options: Options = OPTIONS,
    chooser: SiteChooser | None = None,
) -> PhaseResult:
    """Find the phases of a process.

    Args:
        profile: what was recorded.
        method: "robust" or "paper".
        k: number of phases wanted; by default the method chooses.
        random_state: seed of k-means. Same profile and seed, same answer, bit for bit.
        jobs: threads that run the starts of k-means side by side; the answer is the same.
        options: thresholds.
        chooser: of the same profile, method and thresholds, if there is one.

    Raises:
        UsageError: unknown method, or k outside 1..16 (the paper's method: 1..8).
        NoDataError: no interval holds a sample, or the profile holds numbers that are none.
    """
    most = MAX_K if method == "paper" else MOST_K
    if k is not None and not 1 <= k <= most:
        raise UsageError(f"--k {k} is outside 1..{most} (method {method})")
    chooser = chooser or site_chooser(profile, method, options)
    features = chooser.features
    if method == "robust":
        found = cluster_robust(features, Alike(chooser.alone, chooser.calls), k, random_state, jobs, options.phases)
    else:
        found = cluster_paper(features, k, random_state, jobs)
    chosen = chooser.of_all(found.labels, found.off_cpu)
    phases = describe_phases(profile, found.labels, found.clusters, chosen, found.off_cpu, options=options.steps)
    judgement = found.judgement
    return PhaseResult(
        method=method,
        k=len(phases),
        k_clusters=judgement.k,
        rule="user" if k is not None else judgement.rule,
        other_votes=judgement.votes,
        scores=judgement.scores,
        end_s=profile.end_s,
        labels=found.labels,
        clusters=found.clusters,
        phases=phases,
        dispersion=found.dispersion,
        features=len(features.columns),
        scatter=found.scatter,
        warnings=tuple(_warnings(profile, k, len(phases), found.labels, options)),
        joined=found.joined,
        options=options,
    )


def site_chooser(profile: IntervalProfile, method: str, options: Options = OPTIONS) -> SiteChooser:
    """Build what phases are found from, and what chooses their sites.

    Raises:
        UsageError: unknown method.
        NoDataError: no interval holds a sample, or the profile holds numbers that are none.
    """
    if method not in METHODS:
        raise UsageError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}")
    refuse(profile)
    features = build_features(profile, share=method == "robust", options=options.phases)
    return SiteChooser(profile, features, literal=method == "paper", options=options.sites)


def choose_again(chooser: SiteChooser, result: PhaseResult, excluded: Set[tuple[int, str]]) -> PhaseResult:
    """Give the phases of a result the sites that they get without some.

    Args:
        chooser: of the profile and method that the result is of.
        result: phases, and sites to be replaced. Its heartbeat ids stay; a site that is new gets the next free one.
        excluded: (function, kind) of sites that cannot be had.
    """
    off_cpu = next((phase.id for phase in result.phases if phase.off_cpu), None)
    chosen = chooser.of_all(result.labels, off_cpu, excluded)
    known = {(site.index, site.kind): site.heartbeat for phase in result.phases for site in phase.sites}
    steps = result.options.steps
    phases = describe_phases(chooser.profile, result.labels, result.clusters, chosen, off_cpu, known, steps)
    return replace(result, phases=phases)


def _warnings(profile: IntervalProfile, asked: int | None, k: int, labels: IntArray, options: Options) -> list[str]:
    """Say what the reader of the answer should know."""
    out = []
    if profile.n_intervals == 1:
        out.append("one interval only: a single phase by definition; record with a shorter interval to see phases")
    elif profile.n_intervals < 10:
        out.append(f"{profile.n_intervals} intervals are few: record for longer, or with a shorter interval")
    if asked is not None and k < asked:
        out.append(f"{asked} phases were asked for, but only {k} differ")
    unclassified = int((labels < 0).sum())
    if unclassified > 0.2 * len(labels):
        out.append(f"{unclassified} of {len(labels)} intervals belong to no phase")
    if changed := options.changed():
        told = ", ".join(f"{name}={value:g}" for name, value in changed.items())
        out.append(f"thresholds are not as usual: {told}")
    return out
