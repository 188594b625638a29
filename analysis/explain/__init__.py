"""Explain phases: the numbers behind the choice of k, merged and unassigned intervals, and differences between phases.

Merges and rules are reported as they were decided; what phases are like is computed from the profile. n intervals, d
columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.explain.site_reasons import RefusedSite, SiteEvidence, explain_sites
from incprof.analysis.features import Features
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.phases.clustering import KScore
from incprof.analysis.segment_sums import separation
from incprof.analysis.sites import SiteChooser
from incprof.model import FloatArray, IntArray, IntervalProfile

MOST_DIFFERENCES = 3
# A function that differs by less between two phases does not distinguish them.
LEAST_DIFFERENCE = 0.02


@dataclass(frozen=True)
class LeftOut:
    """Numbers of intervals without a phase. Those of parts too short for a phase are not included.

    Attributes:
        idle: nearly no samples.
        borders: a mixture at a boundary.
        strays: clustered, but like no phase.
    """

    idle: int
    borders: int
    strays: int


@dataclass(frozen=True)
class RunEvidence:
    """Why the run has so many phases.

    Attributes:
        one: score of one group; None where not available, as the next three.
        less: of k - 1 groups.
        chosen: of k groups.
        more: of k + 1 groups.
        left_out: intervals without a phase.
    """

    one: KScore | None
    less: KScore | None
    chosen: KScore | None
    more: KScore | None
    left_out: LeftOut


@dataclass(frozen=True)
class Difference:
    """A function whose share differs between two phases.

    Attributes:
        function: its name.
        here: its share of the one phase, 0..1.
        there: its share of the other phase, 0..1.
    """

    function: str
    here: float
    there: float


@dataclass(frozen=True)
class PhaseEvidence:
    """What a phase is like.

    Attributes:
        id: of the phase.
        nearest: the most similar phase; None without another one.
        gap: Ashman's D between them; None where infinite.
        differences: functions whose shares differ between them, largest difference first.
        typical: the interval nearest to the phase's mean.
        odd: the interval farthest from it.
        odd_times: distance of the latter over the usual distance; None where that is zero.
    """

    id: int
    nearest: int | None
    gap: float | None
    differences: tuple[Difference, ...]
    typical: int
    odd: int
    odd_times: float | None


def explain_run(features: Features, result: PhaseResult) -> RunEvidence:
    """Collect the reasons for the number of phases. features: of the same profile and method."""
    by_k = {score.k: score for score in result.scores}
    none = result.labels < 0
    return RunEvidence(
        one=by_k.get(1),
        less=by_k.get(result.k_clusters - 1),
        chosen=by_k.get(result.k_clusters),
        more=by_k.get(result.k_clusters + 1),
        left_out=LeftOut(
            idle=int((none & features.idle).sum()),
            borders=int((none & ~features.idle & (result.clusters < 0)).sum()),
            strays=int((none & ~features.idle & (result.clusters >= 0)).sum())
            - sum(short.intervals for short in result.short),
        ),
    )


def explain_phases(profile: IntervalProfile, features: Features, result: PhaseResult) -> tuple[PhaseEvidence, ...]:
    """Describe each phase, and the phase most similar to it."""
    members = [np.flatnonzero(result.labels == phase.id) for phase in result.phases]
    centers = np.stack([features.x[m].mean(axis=0) for m in members])
    active = [phase.id for phase in result.phases if not phase.off_cpu]
    return tuple(
        _explain_phase(profile, features, members, centers, phase.id, [a for a in active if a != phase.id])
        if not phase.off_cpu
        else _waiting(features, members[phase.id], phase.id)
        for phase in result.phases
    )


def _explain_phase(
    profile: IntervalProfile,
    features: Features,
    members: list[IntArray],
    centers: FloatArray,
    phase: int,
    others: list[int],
) -> PhaseEvidence:
    """Describe one phase."""
    x = features.x[members[phase]]
    distance = np.sqrt(((x - centers[phase]) ** 2).sum(axis=1))
    order = np.argsort(np.round(distance, 12), kind="stable")
    usual = float(np.median(distance))
    typical, odd = int(members[phase][order[0]]), int(members[phase][order[-1]])
    times = float(distance[order[-1]]) / usual if usual > 0 else None
    if not others:
        return PhaseEvidence(phase, None, None, (), typical, odd, times)
    nearest = min(others, key=lambda other: (round(float(((centers[other] - centers[phase]) ** 2).sum()), 12), other))
    gap = finite(separation(x, features.x[members[nearest]]))
    differences = _differences(profile, features, centers[phase], centers[nearest])
    return PhaseEvidence(phase, nearest, gap, differences, typical, odd, times)


def _waiting(features: Features, members: IntArray, phase: int) -> PhaseEvidence:
    """Describe a phase of waiting by its samples, since it has no functions."""
    order = np.argsort(features.ticks[members], kind="stable")
    return PhaseEvidence(phase, None, None, (), int(members[order[0]]), int(members[order[-1]]), None)


def _differences(
    profile: IntervalProfile, features: Features, here: FloatArray, there: FloatArray
) -> tuple[Difference, ...]:
    """Return the functions whose share differs most; call paths that end in the same function are merged."""
    both: dict[int, tuple[float, float]] = {}
    for column, a, b in zip(features.columns.tolist(), here.tolist(), there.tolist(), strict=True):
        before = both.get(column, (0.0, 0.0))
        both[column] = (before[0] + a, before[1] + b)
    order = sorted(both, key=lambda column: (-round(abs(both[column][0] - both[column][1]), 9), column))
    return tuple(
        Difference(profile.functions[column].name if column >= 0 else "[outside]", *both[column])
        for column in order[:MOST_DIFFERENCES]
        if abs(both[column][0] - both[column][1]) >= LEAST_DIFFERENCE
    )


def finite(value: float) -> float | None:
    """Return a number that JSON can represent, None for infinity."""
    return float(value) if np.isfinite(value) and value < 1e6 else None


@dataclass(frozen=True)
class Explanation:
    """Explanation of a result.

    Attributes:
        run: why the run has these phases.
        phases: what each phase is like.
        sites: of each phase, why it has these sites.
        refused: of each phase, the largest function outside of its sites that is not one itself; None: none is large.
    """

    run: RunEvidence
    phases: tuple[PhaseEvidence, ...]
    sites: tuple[tuple[SiteEvidence, ...], ...]
    refused: tuple[RefusedSite | None, ...]


def explain(chooser: SiteChooser, result: PhaseResult) -> Explanation:
    """Explain a result of find_phases. chooser: of the same profile and method."""
    profile, features = chooser.profile, chooser.features
    if result.method == "paper":  # seconds become shares of an interval; all else is the same at any scale
        features = replace(features, x=features.x / profile.metadata.interval_s)
    phases = explain_phases(profile, features, result)
    return Explanation(explain_run(features, result), phases, *explain_sites(chooser, result))
