"""Which ranks the phases are found in: the one that stands for most of what ranks do, then what is like none of it.

s stretches of all ranks, r ranks, h kinds of stretches, c columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phases import PhaseOptions
from incprof.analysis.phases.difference import how_different
from incprof.analysis.ranks.assign import explains
from incprof.analysis.ranks.columns import columns_of
from incprof.analysis.ranks.results import IDLE, Part, RankSummary
from incprof.model import BoolArray, FloatArray, IntArray

# Kinds of stretches that are told apart; what is left then is of none.
MOST_KINDS = 64
# Parts of ranks that phases are found in.
MOST_PARTS = 8
# The longest stretches of a part say what it stands for.
MOST_TOLD = 16
# A rank does a kind of thing if it does half as much of it as is usual where it is done.
HALF = 0.5
# Ranks that do nearly as much of all kinds as any are alike in this: which one is taken is decided by what is usual.
NEARLY = 0.99


@dataclass(frozen=True)
class _Stretches:
    """The stretches of all ranks on the same columns: counts (s, c), total, rank (its place), seconds, all (s,)."""

    counts: FloatArray
    total: FloatArray
    scatter: FloatArray
    rank: IntArray
    seconds: FloatArray


def first_part(summaries: Sequence[RankSummary], options: PhaseOptions) -> Part:
    """Return the rank that phases are found in first: it does most of what ranks do, and does it as is usual."""
    if len(summaries) == 1:
        return Part(summaries[0].rank)
    all_of = _together(summaries)
    table = _time_by_kind(all_of, _kinds(all_of, options), len(summaries))
    part = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9)
    done = part > 0
    usual = np.array([np.median(column[there]) for column, there in zip(part.T, done.T, strict=True)])
    covers = ((part >= HALF * usual) & done) @ part.sum(axis=0)
    good = np.flatnonzero(covers >= NEARLY * covers.max(initial=0.0)).tolist()
    # What ranks are called decides nothing, but between ranks that are the same.
    middle = np.median(part, axis=0)
    far = np.round(np.abs(part[good] - middle).sum(axis=1), 9)
    exact = [_digest(summaries[place]) for place in good]
    order = sorted(range(len(good)), key=lambda at: (far[at], exact[at], summaries[good[at]].rank))
    return Part(summaries[good[order[0]]].rank)


def more_parts(
    summaries: Sequence[RankSummary], strange: Sequence[BoolArray], room: int, options: PhaseOptions
) -> list[Part]:
    """Return parts of ranks that show what no phase explains, what takes most time of all ranks first.

    Args:
        summaries: ranks.
        strange: which stretches of each, (s,), are like no phase.
        room: parts at most.
        options: thresholds: what is too short for a phase is no part either.
    """
    wanted = [
        own if _enough(summary, own, options) else np.zeros_like(own)
        for summary, own in zip(summaries, strange, strict=True)
    ]
    all_of, left = _together(summaries), np.concatenate(wanted)
    out: list[Part] = []
    while left.any() and len(out) < room:
        time = np.bincount(all_of.rank[left], weights=all_of.seconds[left], minlength=len(summaries))
        rank = min(
            np.flatnonzero(time >= time.max()).tolist(), key=lambda r: (_digest(summaries[r]), summaries[r].rank)
        )
        mine = left & (all_of.rank == rank)
        out.append(Part(summaries[rank].rank, _spans(summaries[rank], mine[all_of.rank == rank])))
        longest = np.flatnonzero(mine)[np.argsort(-all_of.total[mine], kind="stable")]
        for one in longest[:MOST_TOLD].tolist():
            rest = np.flatnonzero(left)
            same = explains(
                all_of.counts[rest], all_of.total[rest], all_of.counts[[one]], all_of.total[[one]],
                all_of.scatter, options,
            )  # fmt: skip
            left[rest[same]] = False
        left &= ~mine
    return out


def waiting_part(summaries: Sequence[RankSummary]) -> Part | None:
    """Return the waiting of the rank that waits longest of those that have a phase of it; None without any."""
    found = [summary for summary in summaries if summary.waits]
    if not found:
        return None
    longest = min(found, key=lambda summary: (-_idle_s(summary), _digest(summary), summary.rank))
    pieces = longest.pieces
    use = pieces.stretch == IDLE
    return Part(longest.rank, tuple(zip(pieces.start_s[use].tolist(), pieces.end_s[use].tolist(), strict=True)))


def _idle_s(summary: RankSummary) -> float:
    """Return how long a rank waits, seconds."""
    pieces = summary.pieces
    return float((pieces.end_s - pieces.start_s)[pieces.stretch == IDLE].sum())


def _together(summaries: Sequence[RankSummary]) -> _Stretches:
    """Put the stretches of all ranks together."""
    columns = columns_of([summary.mix for summary in summaries])
    scatter = np.maximum.reduce([columns.scatter(summary.mix, summary.scatter) for summary in summaries])
    return _Stretches(
        np.vstack([columns.counts(summary.mix) for summary in summaries]),
        np.concatenate([summary.mix.total for summary in summaries]),
        scatter,
        np.repeat(np.arange(len(summaries)), [len(summary.mix.total) for summary in summaries]),
        np.concatenate([_seconds(summary) for summary in summaries]),
    )


def _seconds(summary: RankSummary) -> FloatArray:
    """Return how long each stretch of a rank is, (s,)."""
    pieces = summary.pieces
    use = pieces.stretch >= 0
    length = (pieces.end_s - pieces.start_s)[use]
    seconds = np.bincount(pieces.stretch[use], weights=length, minlength=len(summary.mix.total))
    return np.asarray(seconds, dtype=np.float64)


def _enough(summary: RankSummary, which: BoolArray, options: PhaseOptions) -> bool:
    """Tell whether some stretches of a rank together are long enough for a phase."""
    return bool(_seconds(summary)[which].sum() >= options.least * summary.wall_s) and bool(which.any())


def _spans(summary: RankSummary, which: BoolArray) -> tuple[tuple[float, float], ...]:
    """Return when a rank is in some of its stretches, (s,)."""
    pieces = summary.pieces
    use = (pieces.stretch >= 0) & which[np.maximum(pieces.stretch, 0)]
    return tuple(zip(pieces.start_s[use].tolist(), pieces.end_s[use].tolist(), strict=True))


def _kinds(all_of: _Stretches, options: PhaseOptions) -> IntArray:
    """Return which kind each stretch is, (s,), -1 for rare ones: those that are like the longest of their kind."""
    out = np.full(len(all_of.total), -1, dtype=np.int64)
    # Only what the stretches are decides their order.
    order = np.lexsort((all_of.seconds, *all_of.counts.T, all_of.total))[::-1]
    for kind in range(MOST_KINDS):
        rest = order[out[order] < 0]
        if not len(rest):
            break
        head = np.broadcast_to(all_of.counts[rest[0]], (len(rest), all_of.counts.shape[1]))
        total = np.full(len(rest), all_of.total[rest[0]])
        apart = _apart(head, total, all_of.counts[rest], all_of.total[rest], all_of.scatter, options)
        apart[0] = 0.0
        out[rest[apart < 1.0]] = kind
    return out


def _apart(
    head: FloatArray,
    head_total: FloatArray,
    counts: FloatArray,
    total: FloatArray,
    scatter: FloatArray,
    options: PhaseOptions,
) -> FloatArray:
    """Return how different stretches are, (s,), as how_different does; 0 where no function differs enough."""
    out = np.zeros(len(counts))
    share = np.abs(head / np.maximum(head_total, 1e-9)[:, None] - counts / np.maximum(total, 1e-9)[:, None])
    look = np.flatnonzero(share.max(axis=1, initial=0.0) >= options.named)
    if len(look):
        out[look] = how_different(head[look], head_total[look], counts[look], total[look], scatter, options)
    return out


def _time_by_kind(all_of: _Stretches, kind: IntArray, ranks: int) -> FloatArray:
    """Return the seconds of each rank in each kind, (r, h)."""
    out = np.zeros((ranks, int(kind.max(initial=-1)) + 1))
    use = kind >= 0
    np.add.at(out, (all_of.rank[use], kind[use]), all_of.seconds[use])
    return out


def _digest(summary: RankSummary) -> bytes:
    """Return bytes that are the same for ranks that did the same, whatever they are called."""
    mix, pieces = summary.mix, summary.pieces
    return b"".join(np.ascontiguousarray(part).tobytes() for part in (mix.total, mix.own, mix.stack, pieces.first))
