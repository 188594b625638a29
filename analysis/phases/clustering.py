"""What both methods answer about the intervals of a run, before it is described to a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.phases.results import Border, Joined, JoinRule, Level, ShortStretch
from incprof.analysis.phases.scores_of_k import Judgement
from incprof.model import FloatArray, IntArray

# Confidence of each phase, and of their number.
Sure = tuple[dict[int, float], float]


@dataclass(frozen=True)
class Clustering:
    """Groups of intervals and the phases that they are, each (n,), and what led to them; see PhaseResult.

    sure: confidence of each phase, and of their number; None where nobody asked for it on the way.
    """

    clusters: IntArray
    labels: IntArray
    judgement: Judgement
    dispersion: float
    off_cpu: int | None
    scatter: float | None = None
    joined: tuple[Joined, ...] = ()
    borders: tuple[Border, ...] = ()
    levels: tuple[Level, ...] = ()
    in_turn: tuple[tuple[int, int], ...] = ()
    short: tuple[ShortStretch, ...] = ()
    sure: Sure | None = None

    def renumbered(self, new: Mapping[int, int]) -> Clustering:
        """Return the same with other numbers for the phases that borders, levels and joins speak of."""
        return replace(
            self,
            joined=tuple(replace(one, phase=new.get(one.phase, one.phase)) for one in self.joined),
            borders=tuple(replace(one, before=new[one.before], after=new[one.after]) for one in self.borders),
            levels=tuple(replace(one, phases=_renumbered(one.phases, new)) for one in self.levels),
            sure=None if self.sure is None else ({new[p]: part for p, part in self.sure[0].items()}, self.sure[1]),
        )

    def at_level(self, k: int) -> Clustering:
        """Return the same with the most alike phases joined until k are left; waiting is joined with none.

        Borders and levels are those that are left. The same where there are no more than k.
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
            sure=None,
            joined=tuple(replace(one, phase=new[one.phase]) for one in self.joined),
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


def _renumbered(phases: tuple[tuple[int, ...], ...], new: Mapping[int, int]) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(tuple(sorted(new[phase] for phase in group)) for group in phases))


def joined(rule: JoinRule, x: FloatArray, labels: IntArray, phase: int, one: int, other: int) -> Joined:
    """Record that the intervals of two groups, (n,) labels, are one phase. x: (n, d) shares."""
    a, b = x[labels == one], x[labels == other]
    gap = separation(a, b)
    return Joined(phase, rule, (one,), (other,), gap if np.isfinite(gap) and gap < 1e6 else None, overlap(a, b))


def separation(a: FloatArray, b: FloatArray) -> float:
    """Return Ashman's D of two groups (rows) along the line between their centers; infinite for two points."""
    line = b.mean(axis=0) - a.mean(axis=0)
    length = float(np.sqrt(line @ line))
    if length == 0.0:
        return 0.0
    spread = float(np.var(a @ (line / length)) + np.var(b @ (line / length)))
    return np.sqrt(2.0) * length / np.sqrt(spread) if spread > 0 else np.inf


def overlap(a: FloatArray, b: FloatArray) -> float:
    """Return the share of time that two groups spend in the same functions, 0..1, from their mean shares."""
    return float(np.minimum(a.mean(axis=0), b.mean(axis=0)).sum())
