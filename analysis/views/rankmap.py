"""Which phase every rank was in, when: phases are found in one rank, and the others' time is given to them.

A bin of a rank belongs to the phase whose mix of self time is most like its own. Functions are told apart by module
and mangled name, because ranks may have them in different order. b bins, k phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.views.timebins import TimeBins
from incprof.model import FloatArray, IntArray, IntervalProfile

MOST_BINS = 240
MOST_ROWS = 512
# Below this likeness (1 is the same mix, 0 nothing in common) a bin belongs to no phase.
ALIKE = 0.5
# A bin with less CPU time than this part of its length is waiting, where a phase is that.
BUSY = 0.05

Key = tuple[str, str]


@dataclass(frozen=True)
class PhaseMixes:
    """What phases are made of. share: (k, m) root of the share of each function in the phase's self time.

    columns: the place of each function. off_cpu: the phase of waiting, if there is one.
    start_s, end_s: (b,) the bins in which ranks are compared.
    """

    share: FloatArray
    columns: dict[Key, int]
    off_cpu: int | None
    start_s: FloatArray
    end_s: FloatArray


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
    """Describe the phases of the analysed rank, and the bins."""
    table = csr_array(profile.self_s)
    share = np.zeros((max(result.k, 1), len(profile.functions)))
    for phase in range(result.k):
        own = np.asarray(table[np.flatnonzero(result.labels == phase)].sum(axis=0)).ravel()
        share[phase] = np.sqrt(own / max(float(own.sum()), 1e-12))
    columns = {(f.module, f.mangled): i for i, f in enumerate(profile.functions)}
    waiting = next((phase.id for phase in result.phases if phase.off_cpu), None)
    return PhaseMixes(share, columns, waiting, bins.start_s, bins.end_s)


def rank_row(profile: IntervalProfile, mixes: PhaseMixes) -> RankRow:
    """Give each bin of a rank to a phase."""
    number, width = len(mixes.end_s), mixes.share.shape[1]
    middle = (profile.start_s + profile.end_s) / 2
    place = np.searchsorted(mixes.end_s, middle, side="left")
    inside = place < number
    n = profile.n_intervals
    member = csr_array((np.ones(int(inside.sum())), (place[inside], np.flatnonzero(inside))), shape=(number, n))
    column = np.array([mixes.columns.get((f.module, f.mangled), -1) for f in profile.functions], dtype=np.int64)
    binned = csr_array(member @ csr_array(profile.self_s))
    total = np.asarray(binned.sum(axis=1)).ravel()
    known = column >= 0
    move = csr_array((np.ones(int(known.sum())), (np.flatnonzero(known), column[known])), shape=(len(column), width))
    mix = csr_array(binned @ move)
    mix.data = np.sqrt(mix.data / np.repeat(np.maximum(total, 1e-12), np.diff(mix.indptr)))
    likeness = np.asarray(mix @ mixes.share.T).reshape(number, -1)
    best = likeness.argmax(axis=1)
    label = np.where(likeness.max(axis=1) >= ALIKE, best, -1)
    wall = np.asarray(member @ (profile.end_s - profile.start_s)).ravel()
    busy = total / np.maximum(wall, 1e-9)
    if mixes.off_cpu is not None:
        label = np.where(busy < BUSY, mixes.off_cpu, label)
    label = _filled(np.where(wall > 0, label, -2))
    return RankRow(
        rank=profile.metadata.rank,
        label=label.astype(np.int64),
        busy=np.where(wall > 0, busy, 0.0),
        cpu_s=float(profile.self_s.sum()),
        off_cpu_s=float(profile.off_cpu_s.sum()),
        wall_s=float(profile.end_s[-1]) if n else 0.0,
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
    """Return the analysed rank's row, with the phases that were found in it."""
    row = rank_row(profile, mixes)
    return RankRow(row.rank, bins.label, row.busy, row.cpu_s, row.off_cpu_s, row.wall_s, row.damaged)


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
