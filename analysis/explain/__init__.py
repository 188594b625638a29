"""Why these phases: the numbers behind the choice of k, what was joined and left out, and how phases differ.

What was joined and by which rule is told as it was decided; what phases are like is seen in the profile. n intervals,
d columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.explain.sites import explain_sites
from incprof.analysis.phases.clustering import separation
from incprof.analysis.phases.features import Features
from incprof.analysis.phases.results import Joined, KScore, PhaseResult
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.evidence import SiteEvidence
from incprof.model import FloatArray, IntArray, IntervalProfile

MOST_DIFFERENCES = 3
# A function that differs by less between two phases is not what tells them apart.
LEAST_DIFFERENCE = 0.02


@dataclass(frozen=True)
class LeftOut:
    """Intervals without a phase: nearly no samples; a mixture at a border; clustered, but like no phase.

    What is too short for a phase is not counted.
    """

    idle: int
    borders: int
    strays: int


@dataclass(frozen=True)
class RunEvidence:
    """Why so many phases.

    less, chosen, more: scores of k - 1, k and k + 1 groups; one: of one. None where they are not known.
    """

    one: KScore | None
    less: KScore | None
    chosen: KScore | None
    more: KScore | None
    joined: tuple[Joined, ...]
    left_out: LeftOut


@dataclass(frozen=True)
class Difference:
    """A function that two phases spend different parts of their time in: `here` and `there`, 0..1."""

    function: str
    here: float
    there: float


@dataclass(frozen=True)
class PhaseEvidence:
    """What a phase is like.

    nearest: the phase most like it, None where there is none. gap: Ashman's D between them, None where infinite.
    differences: what tells them apart, largest first. typical, odd: the intervals nearest to the phase's middle and
    farthest from it. odd_times: how many times the usual distance the latter is away; None when there is no distance.
    """

    id: int
    nearest: int | None
    gap: float | None
    differences: tuple[Difference, ...]
    typical: int
    odd: int
    odd_times: float | None


def explain_run(features: Features, result: PhaseResult) -> RunEvidence:
    """Collect why a result has so many phases. features: of the same profile and method."""
    by_k = {score.k: score for score in result.scores}
    none = result.labels < 0
    return RunEvidence(
        one=by_k.get(1),
        less=by_k.get(result.k_clusters - 1),
        chosen=by_k.get(result.k_clusters),
        more=by_k.get(result.k_clusters + 1),
        joined=result.joined,
        left_out=LeftOut(
            idle=int((none & features.idle).sum()),
            borders=int((none & ~features.idle & (result.clusters < 0)).sum()),
            strays=int((none & ~features.idle & (result.clusters >= 0)).sum())
            - sum(short.intervals for short in result.short),
        ),
    )


def explain_phases(profile: IntervalProfile, features: Features, result: PhaseResult) -> tuple[PhaseEvidence, ...]:
    """Say what each phase is like, and which one is most like it."""
    members = [np.flatnonzero(result.labels == phase.id) for phase in result.phases]
    centers = np.stack([features.x[m].mean(axis=0) for m in members])
    alive = [phase.id for phase in result.phases if not phase.off_cpu]
    return tuple(
        _explain_phase(profile, features, members, centers, phase.id, [a for a in alive if a != phase.id])
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
    """Say what one phase is like."""
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
    apart = _differences(profile, features, centers[phase], centers[nearest])
    return PhaseEvidence(phase, nearest, gap, apart, typical, odd, times)


def _waiting(features: Features, members: IntArray, phase: int) -> PhaseEvidence:
    """Describe a phase of waiting: by its samples, since it has no functions."""
    order = np.argsort(features.ticks[members], kind="stable")
    return PhaseEvidence(phase, None, None, (), int(members[order[0]]), int(members[order[-1]]), None)


def _differences(
    profile: IntervalProfile, features: Features, here: FloatArray, there: FloatArray
) -> tuple[Difference, ...]:
    """Return the functions whose part differs most; chains of calls that end in the same function are one."""
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
    """Return a number that JSON can hold, None for infinity."""
    return float(value) if np.isfinite(value) and value < 1e6 else None


@dataclass(frozen=True)
class Explanation:
    """Why the run has these phases, what they are like, and for each phase why it has these sites."""

    run: RunEvidence
    phases: tuple[PhaseEvidence, ...]
    sites: tuple[tuple[SiteEvidence, ...], ...]


def explain(chooser: SiteChooser, result: PhaseResult) -> Explanation:
    """Explain a result of find_phases. chooser: of the same profile and method."""
    profile, features = chooser.profile, chooser.features
    if result.method == "paper":  # seconds become parts of an interval; all else is the same at any scale
        features = replace(features, x=features.x / profile.metadata.interval_s)
    phases = explain_phases(profile, features, result)
    return Explanation(explain_run(features, result), phases, explain_sites(chooser, result))
