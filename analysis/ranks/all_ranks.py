"""Summarise all ranks after relabelling each with the shared phases."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.ranks.alike import agreement, bins_of, groups_of, on_bins
from incprof.analysis.ranks.balance import balance, stragglers, times_of
from incprof.analysis.ranks.clocks import aligned, late_ranks
from incprof.analysis.ranks.ranks_result import Part, RankLabels, RanksResult, RankSummary


def said_of_ranks(
    summaries: Sequence[RankSummary],
    labels: Sequence[RankLabels],
    parts: Sequence[Part],
    k: int,
    *,
    rate_hz: float,
    interval_s: float,
) -> RanksResult:
    """Compare all ranks.

    Args:
        summaries: of the ranks, ascending.
        labels: the same ranks in the phases of all.
        parts: that the phases were found in.
        k: number of phases.
        rate_hz: samples per second.
        interval_s: length of an interval.
    """
    ranks = tuple(summary.rank for summary in summaries)
    spent, wall = times_of(summaries, labels, k)
    offset, rate, clocks = aligned(summaries, labels, interval_s)
    groups, outliers = groups_of(summaries, labels, wall)
    return RanksResult(
        ranks=ranks,
        labels=tuple(labels),
        parts=tuple(parts),
        offset_s=offset,
        rate=rate,
        agreement=agreement(on_bins(labels, offset, rate, bins_of(labels, offset, rate))),
        spent=spent,
        wall_s=wall,
        phases=balance(ranks, spent, wall, rate_hz),
        stragglers=stragglers(summaries, labels, spent, wall, rate_hz),
        groups=groups,
        outliers=outliers,
        clocks=clocks,
        late=late_ranks(summaries, offset, interval_s),
    )
