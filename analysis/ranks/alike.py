"""Similarity of ranks: agreement with most ranks at the same time, and groups by what they spend their time in.

r ranks, b bins of time, v figures of a rank.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.ranks.columns import columns_of
from incprof.analysis.ranks.ranks_result import Deviation, Group, Outlier, RankLabels, RankSummary
from incprof.analysis.ranks.summary import WAITS
from incprof.model import FloatArray, IntArray
from incprof.model.time_use import called_for

# Number of bins of time.
BINS = 1000
# Ranks are alike if this share of their time is in the same functions and phases.
SAME = 0.9
# Groups with a smaller share of the ranks are outliers.
FEW = 0.05
MOST_WHY = 3
# A function whose share differs by less is not reported.
TOLD = 0.02


def bins_of(labels: Sequence[RankLabels], offset_s: FloatArray, rate: FloatArray, bins: int = BINS) -> FloatArray:
    """Return the edges of bins of the time of all ranks, (b + 1,) seconds since the first started."""
    begin = [o + r * own.start_s[0] for own, o, r in zip(labels, offset_s, rate, strict=True)]
    stop = [o + r * own.end_s[-1] for own, o, r in zip(labels, offset_s, rate, strict=True)]
    return np.linspace(min(begin), max(stop), bins + 1)


def on_bins(labels: Sequence[RankLabels], offset_s: FloatArray, rate: FloatArray, edges: FloatArray) -> IntArray:
    """Return the phase of each rank in the middle of bins, (r, b): -1 none, -2 where the rank does not run.

    Args:
        labels: of the ranks.
        offset_s: (r,) start of each.
        rate: (r,) length of a second of its clock.
        edges: (b + 1,) of the bins.
    """
    middle = (edges[1:] + edges[:-1]) / 2.0
    out = np.full((len(labels), len(middle)), -2, dtype=np.int64)
    for place, (own, o, r) in enumerate(zip(labels, offset_s, rate, strict=True)):
        at = np.searchsorted(o + r * own.end_s, middle, side="left")
        inside = (at < len(own.label)) & (middle >= o + r * own.start_s[0])
        out[place, inside] = own.label[at[inside]]
    return out


def agreement(table: IntArray) -> tuple[float | None, ...]:
    """Return the agreement of each rank with the phase of most ranks, (r,), adjusted Rand index. table: of on_bins."""
    usual = consensus(table)
    out: list[float | None] = []
    for row in table:
        both = (row >= 0) & (usual >= 0)
        out.append(adjusted_rand(row[both], usual[both]) if both.any() else None)
    return tuple(out)


def consensus(table: IntArray) -> IntArray:
    """Return the phase of most ranks in each bin, (b,); the lower one of a tie, -1 where no rank is in any."""
    k = int(table.max(initial=-1)) + 1
    votes = np.stack([(table == phase).sum(axis=0) for phase in range(k)]) if k else np.zeros((1, table.shape[1]))
    result: IntArray = np.where(votes.max(axis=0) > 0, votes.argmax(axis=0), -1)
    return result


def adjusted_rand(one: IntArray, other: IntArray) -> float:
    """Return the adjusted Rand index of two labellings, both (n,), of 0 or more (Hubert and Arabie 1985)."""
    table = np.zeros((int(one.max()) + 1, int(other.max()) + 1))
    np.add.at(table, (one, other), 1.0)

    def pairs(count: FloatArray) -> float:
        return float((count * (count - 1.0)).sum()) / 2.0

    together, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    every = len(one) * (len(one) - 1.0) / 2.0
    chance = rows * columns / every if every else 0.0
    most = (rows + columns) / 2.0
    return 1.0 if most == chance else (together - chance) / (most - chance)


def groups_of(
    summaries: Sequence[RankSummary], labels: Sequence[RankLabels], wall_s: FloatArray
) -> tuple[tuple[Group, ...], tuple[Outlier, ...]]:
    """Group ranks with the same behaviour.

    Returns:
        The groups, the largest first, and the outlier ranks.
    """
    own, names = _figures(summaries, wall_s)
    middle = np.median(own, axis=0)
    near = sorted(range(len(own)), key=lambda r: (round(_apart(own[r], middle), 9), own[r].tolist()))
    group = np.full(len(own), -1, dtype=np.int64)
    heads: list[int] = []
    for rank in near:
        if group[rank] < 0:
            group[(group < 0) & (np.abs(own - own[rank]).sum(axis=1) / 2.0 <= 1.0 - SAME)] = len(heads)
            heads.append(rank)
    order = sorted(range(len(heads)), key=lambda g: (-int((group == g).sum()), int(np.flatnonzero(group == g)[0])))
    number = np.argsort(order)
    group = number[group]
    groups = tuple(
        Group(tuple(summaries[r].rank for r in np.flatnonzero(group == g).tolist()), summaries[heads[order[g]]].rank)
        for g in range(len(heads))
    )
    few = max(1, int(FEW * len(own)))
    # Without a large group, no rank is typical.
    usual = len(groups[0].ranks) > max(few, len(own) // 3)
    odd = [r for r in range(len(own)) if usual and group[r] > 0 and int((group == group[r]).sum()) <= few]
    center = np.median(own[group == 0], axis=0)
    return groups, tuple(_outlier(summaries[r], labels[r], own[r], center, names) for r in odd)


def _figures(summaries: Sequence[RankSummary], wall_s: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the shares of each rank's time by phase, and by function of its work, each weighted by half, (r, v)."""
    columns = columns_of([summary.mix for summary in summaries])
    f = len(columns.keys)
    ticks = np.array([columns.counts(summary.mix)[:, :f].sum(axis=0) for summary in summaries])
    # Waiting for others is not the rank's own work.
    ticks[:, [called_for(mangled) in WAITS for _, mangled in columns.keys]] = 0.0
    share = ticks / np.maximum(ticks.sum(axis=1, keepdims=True), 1e-9)
    phase = wall_s / np.maximum(wall_s.sum(axis=1, keepdims=True), 1e-9)
    return np.hstack([share, phase]) / 2.0, columns.names


def _apart(one: FloatArray, other: FloatArray) -> float:
    return float(np.abs(one - other).sum()) / 2.0


def _outlier(
    summary: RankSummary, labels: RankLabels, own: FloatArray, center: FloatArray, names: tuple[str, ...]
) -> Outlier:
    """Describe the functions in which an outlier differs from the others."""
    f = len(names)
    rows = [Deviation(*row) for row in zip(names, (2.0 * own[:f]).tolist(), (2.0 * center[:f]).tolist(), strict=True)]
    rows.sort(key=lambda row: (-round(abs(row.here - row.there), 9), row.function))
    why = tuple(row for row in rows[:MOST_WHY] if abs(row.here - row.there) >= TOLD)
    return Outlier(summary.rank, _apart(own, center), why, labels.unexplained)
