"""Which phase every rank was in, when: each rank has its own phases, and they are called as those of one rank are.

A rank's phase is the one of that rank which is most like it by the functions that it has on its stacks and in its own
code. Functions are told apart by module and mangled name, because ranks may have them in different order. b bins, k
phases, m functions of the rank that phases are called after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.phases.features import shares
from incprof.analysis.phases.on_stack import inclusive_shares
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.views.timebins import TimeBins
from incprof.model import FloatArray, IntArray, IntervalProfile

MOST_BINS = 240
MOST_ROWS = 512
# Below this likeness (1 is the same mix, 0 nothing in common) a phase is none of the other rank's.
ALIKE = 0.5

Key = tuple[str, str]


@dataclass(frozen=True)
class PhaseMixes:
    """What phases are made of. own, stack: (k, m) shares of functions by their own code, and with what they call.

    columns: the place of each function. off_cpu: the phase of waiting, if there is one.
    start_s, end_s: (b,) the bins in which ranks are compared.
    """

    own: FloatArray
    stack: FloatArray
    columns: dict[Key, int]
    off_cpu: int | None
    start_s: FloatArray
    end_s: FloatArray

    def called(self, profile: IntervalProfile, result: PhaseResult) -> IntArray:
        """Return which phase each of another rank's phases is, (k of that rank,); -1 for none of these."""
        column = np.array([self.columns.get((f.module, f.mangled), -1) for f in profile.functions], dtype=np.int64)
        own, stack = _shares(profile, result)
        known = column >= 0
        move = csr_array(
            (np.ones(int(known.sum())), (np.flatnonzero(known), column[known])), shape=(len(column), self.own.shape[1])
        )
        alike = np.sqrt(own @ move) @ np.sqrt(self.own).T
        # Without call paths, what runs is all that is known.
        if self.stack.any() and stack.any():
            alike = (alike + _overlap(stack, stack @ move, self.stack)) / 2
        if self.off_cpu is not None:
            alike[:, self.off_cpu] = 0.0
        found = np.where(alike.max(axis=1, initial=0.0) >= ALIKE, alike.argmax(axis=1), -1)
        waits = np.array([phase.off_cpu for phase in result.phases], dtype=np.bool_)
        return np.where(waits, -1 if self.off_cpu is None else self.off_cpu, found).astype(np.int64)


@dataclass(frozen=True)
class RankRow:
    """A rank over time. label: (b,) its phase in each bin, -1 for none, -2 where it has no interval.

    busy: (b,) CPU time of its functions over the bin's length. cpu_s, off_cpu_s: of the whole run. wall_s: its length.
    damaged: a part of its file was left out. last: the last rank, where the row is several.
    """

    rank: int
    label: IntArray
    busy: FloatArray
    cpu_s: float
    off_cpu_s: float
    wall_s: float
    damaged: bool = False
    last: int | None = None


def phase_mixes(profile: IntervalProfile, result: PhaseResult, bins: TimeBins) -> PhaseMixes:
    """Describe the phases of the rank that all are called after, and the bins."""
    columns = {(f.module, f.mangled): i for i, f in enumerate(profile.functions)}
    waiting = next((phase.id for phase in result.phases if phase.off_cpu), None)
    return PhaseMixes(*_shares(profile, result), columns, waiting, bins.start_s, bins.end_s)


def _shares(profile: IntervalProfile, result: PhaseResult) -> tuple[FloatArray, FloatArray]:
    """Return the mean shares of functions in each phase, by their own code and with what they call, (k, f) each."""
    own, below = shares(profile.self_s), inclusive_shares(profile)
    members = [np.flatnonzero(result.labels == phase) for phase in range(result.k)]
    shape = result.k, len(profile.functions)
    return _means(own, members, shape), _means(below, members, shape)


def _means(table: csr_array, members: Sequence[IntArray], shape: tuple[int, int]) -> FloatArray:
    """Return the mean of some rows of a sparse table, for each list of rows."""
    out = np.zeros(shape)
    for place, rows in enumerate(members):
        out[place] = np.asarray(table[rows].sum(axis=0)).ravel() / max(len(rows), 1)
    return out


def _overlap(whole: FloatArray, shared: FloatArray, theirs: FloatArray) -> FloatArray:
    """Return what phases' stacks have in common of all that is on either, (k of one, k of the other).

    whole: (k, f) of one rank, and `shared` the part of it in functions that the other has, (k, m).
    """
    least = np.array([np.minimum(row, theirs).sum(axis=1) for row in shared]).reshape(len(whole), len(theirs))
    most = whole.sum(axis=1)[:, None] + theirs.sum(axis=1)[None, :] - least
    return np.asarray(least / np.maximum(most, 1e-12), dtype=np.float64)


def rank_row(profile: IntervalProfile, result: PhaseResult, mixes: PhaseMixes) -> RankRow:
    """Return a rank's phases in each bin, under the names of the other rank's. result: as found in this rank alone."""
    called = np.append(mixes.called(profile, result), -1)
    label, busy = _binned(profile, called[result.labels], mixes)
    return _row(profile, label, busy)


def _binned(profile: IntervalProfile, labels: IntArray, mixes: PhaseMixes) -> tuple[IntArray, FloatArray]:
    """Return the label that most intervals of each bin have, and the use of the CPU, (b,) each."""
    number, n = len(mixes.end_s), profile.n_intervals
    place = np.searchsorted(mixes.end_s, (profile.start_s + profile.end_s) / 2, side="left")
    inside = place < number
    member = csr_array((np.ones(int(inside.sum())), (place[inside], np.flatnonzero(inside))), shape=(number, n))
    values = np.unique(np.append(labels, -1))[::-1]
    votes = np.stack([np.asarray(member @ (labels == value).astype(np.float64)).ravel() for value in values])
    wall = np.asarray(member @ (profile.end_s - profile.start_s)).ravel()
    total = np.asarray((member @ csr_array(profile.self_s)).sum(axis=1)).ravel()
    label = _filled(np.where(wall > 0, values[votes.argmax(axis=0)], -2))
    return label.astype(np.int64), np.where(wall > 0, total / np.maximum(wall, 1e-9), 0.0)


def _row(profile: IntervalProfile, label: IntArray, busy: FloatArray) -> RankRow:
    """Return the row of a profile."""
    return RankRow(
        rank=profile.metadata.rank,
        label=label,
        busy=busy,
        cpu_s=float(profile.self_s.sum()),
        off_cpu_s=float(profile.off_cpu_s.sum()),
        wall_s=float(profile.end_s[-1]) if profile.n_intervals else 0.0,
        damaged=profile.damaged,
    )


def _filled(label: IntArray) -> IntArray:
    """Carry labels over bins between others that no interval's middle lies in: ranks do not tick together."""
    there = np.flatnonzero(label != -2)
    if len(there):
        first, last = int(there[0]), int(there[-1])
        before = np.maximum.accumulate(np.where(label[first : last + 1] != -2, np.arange(last + 1 - first), 0))
        label[first : last + 1] = label[first : last + 1][before]
    return label


def own_row(profile: IntervalProfile, mixes: PhaseMixes, bins: TimeBins) -> RankRow:
    """Return the row of the rank that all are called after."""
    _, busy = _binned(profile, np.full(profile.n_intervals, -1), mixes)
    return _row(profile, bins.label, busy)


def agreement(row: RankRow, reference: RankRow) -> float | None:
    """Return the part of the bins in which two ranks are in the same phase; None where they share none, 0..1."""
    both = (row.label >= 0) & (reference.label >= 0)
    return float((row.label == reference.label)[both].mean()) if both.any() else None


def grouped(rows: Sequence[RankRow], most: int = MOST_ROWS) -> list[RankRow]:
    """Put neighbouring ranks together until there are at most `most` rows.

    A row has the label that most of its ranks have, the mean of their use of the CPU and the sum of their times.
    """
    size = -(-len(rows) // most)
    if size <= 1:
        return list(rows)
    return [_together(rows[i : i + size]) for i in range(0, len(rows), size)]


def _together(rows: Sequence[RankRow]) -> RankRow:
    """Make one row of several; where as many ranks are in one phase as in another, it is the lower one's."""
    labels = np.array([row.label for row in rows])
    values = np.unique(labels)
    count = np.array([(labels == value).sum(axis=0) for value in values])
    return RankRow(
        rank=rows[0].rank,
        label=values[count.argmax(axis=0)],
        busy=np.mean([row.busy for row in rows], axis=0),
        cpu_s=sum(row.cpu_s for row in rows),
        off_cpu_s=sum(row.off_cpu_s for row in rows),
        wall_s=max(row.wall_s for row in rows),
        damaged=any(row.damaged for row in rows),
        last=rows[-1].rank,
    )
