"""Choose the ranks that phases are found in: the most representative one, then parts that are unlike all of it.

s segments of all ranks, r ranks, h kinds of segments, c columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.ranks.assign import columns_of, explains
from incprof.analysis.ranks.ranks_result import IDLE, Part, RankSummary
from incprof.analysis.segment_sums import how_different
from incprof.analysis.thresholds import PhaseOptions
from incprof.model import BoolArray, FloatArray, IntArray

# Most kinds of segments that are distinguished; the rest has no kind.
MOST_KINDS = 64
# Most parts of ranks that phases are found in.
MOST_PARTS = 8
# Number of longest segments of a part that represent it.
MOST_SEGMENTS = 16
# A rank has a kind of work if it does half of the usual amount of it.
HALF = 0.5
# Ranks that do nearly as much of all kinds as any are equal candidates; the most typical one is taken.
NEARLY = 0.99


@dataclass(frozen=True)
class _Segments:
    """The segments of all ranks on the same columns.

    Attributes:
        counts: (s, c) ticks.
        total: (s,) all ticks.
        scatter: (c,) over counting.
        rank: (s,) index of the rank.
        seconds: (s,) length.
    """

    counts: FloatArray
    total: FloatArray
    scatter: FloatArray
    rank: IntArray
    seconds: FloatArray


def first_part(summaries: Sequence[RankSummary], options: PhaseOptions) -> Part:
    """Return the rank that phases are found in first: it does most of what ranks do, and in typical amounts."""
    if len(summaries) == 1:
        return Part(summaries[0].rank)
    all_segments = _join_segments(summaries)
    table = _time_by_kind(all_segments, _kinds(all_segments, options), len(summaries))
    part = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9)
    done = part > 0
    usual = np.array([np.median(column[there]) for column, there in zip(part.T, done.T, strict=True)])
    covers = ((part >= HALF * usual) & done) @ part.sum(axis=0)
    good = np.flatnonzero(covers >= NEARLY * covers.max(initial=0.0)).tolist()
    # Numbers of ranks decide only between ranks that are the same.
    middle = np.median(part, axis=0)
    distance = np.round(np.abs(part[good] - middle).sum(axis=1), 9)
    exact = [_digest(summaries[place]) for place in good]
    # A rank that separates more kinds of work precedes one that mixes them.
    kinds = done.sum(axis=1)[good]
    order = sorted(range(len(good)), key=lambda at: (distance[at], -kinds[at], exact[at], summaries[good[at]].rank))
    return Part(summaries[good[order[0]]].rank)


def more_parts(
    summaries: Sequence[RankSummary], unexplained_by_rank: Sequence[BoolArray], room: int, options: PhaseOptions
) -> list[Part]:
    """Return parts of ranks that no phase explains, those with most time of all ranks first.

    Args:
        summaries: ranks.
        unexplained_by_rank: which segments of each, (s,), are like no phase.
        room: most parts.
        options: thresholds: a part that is too short for a phase is left out.
    """
    unexplained = [
        own if _is_relevant(summary, own, options) else np.zeros_like(own)
        for summary, own in zip(summaries, unexplained_by_rank, strict=True)
    ]
    all_segments, is_left = _join_segments(summaries), np.concatenate(unexplained)
    out: list[Part] = []
    while is_left.any() and len(out) < room:
        time = np.bincount(all_segments.rank[is_left], weights=all_segments.seconds[is_left], minlength=len(summaries))
        rank = min(
            np.flatnonzero(time >= time.max()).tolist(), key=lambda r: (_digest(summaries[r]), summaries[r].rank)
        )
        of_rank = is_left & (all_segments.rank == rank)
        out.append(Part(summaries[rank].rank, _spans(summaries[rank], of_rank[all_segments.rank == rank])))
        longest = np.flatnonzero(of_rank)[np.argsort(-all_segments.total[of_rank], kind="stable")]
        for one in longest[:MOST_SEGMENTS].tolist():
            remaining = np.flatnonzero(is_left)
            same = explains(
                all_segments.counts[remaining], all_segments.total[remaining],
                all_segments.counts[[one]], all_segments.total[[one]], all_segments.scatter, options,
            )  # fmt: skip
            is_left[remaining[same]] = False
        is_left &= ~of_rank
    return out


def waiting_part(summaries: Sequence[RankSummary]) -> Part | None:
    """Return the waiting of the rank that waits longest, of those with a phase of waiting; None without any."""
    waiting = [summary for summary in summaries if summary.waits]
    if not waiting:
        return None
    longest = min(waiting, key=lambda summary: (-_idle_s(summary), _digest(summary), summary.rank))
    pieces = longest.pieces
    use = pieces.segment == IDLE
    return Part(longest.rank, tuple(zip(pieces.start_s[use].tolist(), pieces.end_s[use].tolist(), strict=True)))


def _idle_s(summary: RankSummary) -> float:
    """Return the waiting time of a rank, seconds."""
    pieces = summary.pieces
    return float((pieces.end_s - pieces.start_s)[pieces.segment == IDLE].sum())


def _join_segments(summaries: Sequence[RankSummary]) -> _Segments:
    """Concatenate the segments of all ranks."""
    columns = columns_of([summary.mix for summary in summaries])
    scatter = np.maximum.reduce([columns.scatter(summary.mix, summary.scatter) for summary in summaries])
    return _Segments(
        np.vstack([columns.counts(summary.mix) for summary in summaries]),
        np.concatenate([summary.mix.total for summary in summaries]),
        scatter,
        np.repeat(np.arange(len(summaries)), [len(summary.mix.total) for summary in summaries]),
        np.concatenate([_seconds(summary) for summary in summaries]),
    )


def _seconds(summary: RankSummary) -> FloatArray:
    """Return the length of each segment of a rank, seconds, (s,)."""
    pieces = summary.pieces
    use = pieces.segment >= 0
    length = (pieces.end_s - pieces.start_s)[use]
    seconds = np.bincount(pieces.segment[use], weights=length, minlength=len(summary.mix.total))
    return np.asarray(seconds, dtype=np.float64)


def _is_relevant(summary: RankSummary, which: BoolArray, options: PhaseOptions) -> bool:
    """Return whether some segments of a rank together are long enough for a phase."""
    return bool(_seconds(summary)[which].sum() >= options.least * summary.wall_s) and bool(which.any())


def _spans(summary: RankSummary, which: BoolArray) -> tuple[tuple[float, float], ...]:
    """Return the times at which a rank is in some of its segments, (s,)."""
    pieces = summary.pieces
    use = (pieces.segment >= 0) & which[np.maximum(pieces.segment, 0)]
    return tuple(zip(pieces.start_s[use].tolist(), pieces.end_s[use].tolist(), strict=True))


def _kinds(all_segments: _Segments, options: PhaseOptions) -> IntArray:
    """Return the kind of each segment, (s,), -1 for rare ones: segments like the longest of their kind."""
    out = np.full(len(all_segments.total), -1, dtype=np.int64)
    # The order depends on the contents of the segments alone.
    order = np.lexsort((all_segments.seconds, *all_segments.counts.T, all_segments.total))[::-1]
    for kind in range(MOST_KINDS):
        remaining = order[out[order] < 0]
        if not len(remaining):
            break
        head = np.broadcast_to(all_segments.counts[remaining[0]], (len(remaining), all_segments.counts.shape[1]))
        total = np.full(len(remaining), all_segments.total[remaining[0]])
        distance = _distance(
            head, total, all_segments.counts[remaining], all_segments.total[remaining], all_segments.scatter, options
        )
        distance[0] = 0.0
        out[remaining[distance < 1.0]] = kind
    return out


def _distance(
    head: FloatArray,
    head_total: FloatArray,
    counts: FloatArray,
    total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions,
) -> FloatArray:
    """Return how different segments are, (s,), as how_different does; 0 where no function differs enough."""
    out = np.zeros(len(counts))
    share = np.abs(head / np.maximum(head_total, 1e-9)[:, None] - counts / np.maximum(total, 1e-9)[:, None])
    relevant = np.flatnonzero(share.max(axis=1, initial=0.0) >= options.named)
    if len(relevant):
        out[relevant] = how_different(
            head[relevant], head_total[relevant], counts[relevant], total[relevant], scatter, options
        )
    return out


def _time_by_kind(all_segments: _Segments, kind: IntArray, ranks: int) -> FloatArray:
    """Return the seconds of each rank in each kind, (r, h)."""
    out = np.zeros((ranks, int(kind.max(initial=-1)) + 1))
    use = kind >= 0
    np.add.at(out, (all_segments.rank[use], kind[use]), all_segments.seconds[use])
    return out


def _digest(summary: RankSummary) -> bytes:
    """Return bytes that are equal for ranks with the same work, whatever their numbers."""
    mix, pieces = summary.mix, summary.pieces
    return b"".join(np.ascontiguousarray(part).tobytes() for part in (mix.total, mix.own, mix.stack, pieces.first))
