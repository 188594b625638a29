"""The phase of every rank over time, as rows of a map. r ranks, b bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.ranks.alike import on_bins
from incprof.analysis.ranks.ranks_result import Group, RankLabels, RanksResult
from incprof.model import FloatArray, IntArray
from incprof.model.time_use import MPI

MOST_BINS = 240
# A row takes at most 1.2 kB of a page.
MOST_ROWS = 1536


@dataclass(frozen=True)
class RankRow:
    """A rank over time, or several; means, if several.

    Attributes:
        ranks: ascending.
        label: (b,) phase in each bin, -1 for none, -2 without an interval.
        busy: (b,) CPU time of its functions over the bin's length.
        cpu_s: CPU time of the whole run.
        off_cpu_s: thread time off the CPU.
        mpi_s: CPU time in MPI.
        wall_s: length of the run.
        damaged: whether a part of its file was left out.
    """

    ranks: tuple[int, ...]
    label: IntArray
    busy: FloatArray
    cpu_s: float
    off_cpu_s: float
    mpi_s: float
    wall_s: float
    damaged: bool = False


@dataclass(frozen=True)
class RowGroup:
    """Similar ranks.

    Attributes:
        row: of all.
        typical: the rank nearest to their median.
        rows: of each, or of a few together.
    """

    row: RankRow
    typical: int
    rows: tuple[RankRow, ...]


def rank_rows(found: RanksResult, reference: int, edges: FloatArray) -> list[RankRow]:
    """Return a row for each rank.

    Args:
        found: all ranks.
        reference: the rank whose start is time 0.
        edges: (b + 1,) of the bins, seconds.
    """
    offset = found.offset_s - found.offset_s[found.ranks.index(reference)]
    label = on_bins(found.labels, offset, found.rate, edges)
    middle = (edges[1:] + edges[:-1]) / 2.0
    rows = []
    mpi = found.spent[:, :, MPI].sum(axis=1).tolist()
    for own, there, start, rate, mpi_s in zip(found.labels, label, offset, found.rate, mpi, strict=True):
        busy = _busy(own, (middle - start) / rate)
        cpu_s = float((own.busy * np.diff(own.busy_end_s, prepend=own.start_s[0])).sum())
        wall_s = float(own.end_s[-1])
        rows.append(RankRow((own.rank,), there, busy, cpu_s, own.off_cpu_s, mpi_s, wall_s, own.damaged))
    return rows


def _busy(own: RankLabels, at_s: FloatArray) -> FloatArray:
    """Return the number of processors a rank used at some times, seconds since its start; 0 where it did not run."""
    place = np.searchsorted(own.busy_end_s, at_s, side="left")
    inside = (place < len(own.busy)) & (at_s >= own.start_s[0])
    result: FloatArray = np.where(inside, own.busy[np.minimum(place, len(own.busy) - 1)], 0.0)
    return result


def agreement(row: RankRow, reference: RankRow) -> float | None:
    """Return the share of bins in which two ranks are in the same phase, 0..1; None without common bins."""
    both = (row.label >= 0) & (reference.label >= 0)
    return float((row.label == reference.label)[both].mean()) if both.any() else None


def groups_of_rows(found: RanksResult, rows: Sequence[RankRow], most: int | None = MOST_ROWS) -> list[RowGroup]:
    """Return the rows of similar ranks together, in the groups of the ranks.

    Args:
        found: all ranks.
        rows: of each.
        most: most rows in all; None for no limit. Beyond it, neighbours in a group share one.
    """
    own = {row.ranks[0]: row for row in rows}
    groups = found.groups or (Group(found.ranks, found.ranks[0]),)
    out = []
    for group in groups:
        members = [own[rank] for rank in group.ranks]
        size = 1 if most is None or len(rows) <= most else -(-len(rows) // most)
        shared = [together(members[i : i + size]) for i in range(0, len(members), size)]
        out.append(RowGroup(together(members), group.typical, tuple(shared)))
    return out


def together(rows: Sequence[RankRow]) -> RankRow:
    """Merge several rows into one.

    It has the label of most of its ranks (the lower one of a tie), and the means of their CPU use and times.
    """
    if len(rows) == 1:
        return rows[0]
    labels = np.array([row.label for row in rows])
    values = np.unique(labels)
    count = np.array([(labels == value).sum(axis=0) for value in values])
    return RankRow(
        ranks=tuple(rank for row in rows for rank in row.ranks),
        label=values[count.argmax(axis=0)],
        busy=np.mean([row.busy for row in rows], axis=0),
        cpu_s=float(np.mean([row.cpu_s for row in rows])),
        off_cpu_s=float(np.mean([row.off_cpu_s for row in rows])),
        mpi_s=float(np.mean([row.mpi_s for row in rows])),
        wall_s=max(row.wall_s for row in rows),
        damaged=any(row.damaged for row in rows),
    )
