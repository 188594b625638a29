"""Results of both methods for the intervals of a run, before phases are described."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.model import Function, IntArray


@dataclass(frozen=True)
class KScore:
    """How well k clusters describe the run; a score is None where it is undefined.

    Attributes:
        k: number of clusters.
        inertia: sum of squared distances to the centers.
        silhouette: mean silhouette.
        calinski_harabasz: variance ratio criterion.
        noise_ratio: inertia over the part that sampling noise explains (1: nothing left to explain).
        misfits: number of intervals beyond that noise.
        stability: agreement of seeded starts of k-means (adjusted Rand index).
    """

    k: int
    inertia: float
    silhouette: float | None
    calinski_harabasz: float | None
    noise_ratio: float | None
    misfits: int | None
    stability: float | None


@dataclass(frozen=True)
class Boundary:
    """A change from one phase to another.

    Attributes:
        interval: the first one of the new phase.
        before: the phase before.
        after: the phase after.
        function: the one that changes most; None: none of the program.
        share_before: inclusive share of the function before, 0..1.
        share_after: after.
        score: difference of the two, in standard errors.
    """

    interval: int
    before: int
    after: int
    function: Function | None
    share_before: float
    share_after: float
    score: float


@dataclass(frozen=True)
class Level:
    """A level of the hierarchy.

    Attributes:
        k: number of groups.
        phases: the phases in each group, ascending.
        function: that differs most between the two groups that this level merges.
        difference: of its shares.
    """

    k: int
    phases: tuple[tuple[int, ...], ...]
    function: Function | None
    difference: float


@dataclass(frozen=True)
class Stage:
    """A part of a run, and its own parts.

    Attributes:
        function: that all or most of it is below; None: none of the program.
        start_s: its start, seconds since the start of the run.
        end_s: end of its last episode.
        seconds: wall time of all its episodes.
        app_pct: percent of the run.
        episodes: number of episodes.
        phase: its phase; None if it is larger, smaller, or no phase.
        stages: its parts, in order of time.
    """

    function: Function | None
    start_s: float
    end_s: float
    seconds: float
    app_pct: float
    episodes: int
    phase: int | None
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True)
class ShortSegment:
    """A part that is like no phase, and too short to be one.

    Attributes:
        function: whose share exceeds that of the rest of the run most; None: none of the program.
        share: inclusive share of the function, 0..1.
        spans: first interval and one past the last of each occurrence.
    """

    function: Function | None
    share: float
    spans: tuple[tuple[int, int], ...]

    @property
    def intervals(self) -> int:
        """Number of its intervals."""
        return sum(end - first for first, end in self.spans)


@dataclass(frozen=True)
class Judgement:
    """Choice of k.

    Attributes:
        k: the chosen number.
        rule: that chose it.
        votes: choice of each rule.
        scores: of every k.
    """

    k: int
    rule: str
    votes: dict[str, int | None]
    scores: tuple[KScore, ...]


@dataclass(frozen=True)
class Clustering:
    """Groups of intervals, the phases that they form, and the evidence. For other fields see PhaseResult.

    Attributes:
        clusters: (n,) groups before merging, -1 for none.
        labels: (n,) phases, -1 for none.
        judgement: choice of k.
        dispersion: scatter of the intervals over tick counting.
        off_cpu: the phase of waiting, if there is one.
    """

    clusters: IntArray
    labels: IntArray
    judgement: Judgement
    dispersion: float
    off_cpu: int | None
    scatter: float | None = None
    borders: tuple[Boundary, ...] = ()
    levels: tuple[Level, ...] = ()
    short: tuple[ShortSegment, ...] = ()
    stages: Stage | None = None

    def at_level(self, k: int) -> Clustering:
        """Merge the most similar phases until k are left; waiting is not merged with any.

        Borders and levels that no longer apply are dropped. Unchanged if there are no more than k.
        """
        level = next((level for level in self.levels if level.k + (self.off_cpu is not None) == max(k, 1)), None)
        if level is None and self.levels and k <= self.levels[-1].k:
            level = self.levels[-1]
        if level is None:
            return self
        groups = sorted(level.phases)
        if self.off_cpu is not None:
            groups = sorted([*groups, (self.off_cpu,)])
        new = {phase: number for number, group in enumerate(groups) for phase in group}
        lookup = np.array([new[phase] for phase in range(len(new))] + [-1], dtype=np.int64)
        coarser = tuple(other for other in self.levels if other.k < level.k)
        return replace(
            self,
            labels=lookup[self.labels],
            off_cpu=None if self.off_cpu is None else new[self.off_cpu],
            borders=tuple(
                replace(one, before=new[one.before], after=new[one.after])
                for one in self.borders
                if new[one.before] != new[one.after]
            ),
            levels=tuple(
                replace(one, phases=tuple(sorted({tuple(sorted({new[p] for p in group})) for group in one.phases})))
                for one in coarser
            ),
        )
