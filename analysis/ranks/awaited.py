"""Ranks that others wait for: in a phase, one works longer than the others do meanwhile, and these are in MPI.

A rank with more work than its peers may go through phases of its own, because its peers wait, and with few ranks it is
unknown how much their work scatters (all_ranks.py). Waiting in MPI meanwhile is evidence of its own. r ranks, k phases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from incprof.analysis.ranks.ranks_result import RankLabels, RankSummary, Straggler
from incprof.model import FloatArray
from incprof.model.joining import Key
from incprof.model.time_use import IO, MPI, WORK

# Distance from the others in standard deviations, of counting samples and of their scatter.
SIGMAS = 6.0
# Also by this share of the others' work, which is at least this share of its own; and they are in MPI for this share of
# the excess: the rest may be waiting for a processor.
LEAST = 0.1
# Median absolute deviation of a normal variable over its standard deviation.
NORMAL = 0.6745
MOST_WHY = 3
# Number of others that its functions are compared with.
TELL = 64


def awaited(
    summaries: Sequence[RankSummary],
    labels: Sequence[RankLabels],
    work_s: FloatArray,
    clocks: Sequence[tuple[float, float]],
    rate_hz: float,
    known: Collection[tuple[int, int]],
) -> list[Straggler]:
    """Return the ranks with most work in a phase that the others wait for.

    Args:
        summaries: of the ranks.
        labels: the same ranks in the phases of all.
        work_s: (r, k) seconds.
        clocks: start of each rank on a common clock, seconds, and the length of a second of its own clock.
        rate_hz: samples per second.
        known: rank and phase of stragglers that are known already.
    """
    out = []
    for phase in range(work_s.shape[1]) if len(summaries) > 1 else ():
        place = int(np.argmax(work_s[:, phase]))
        rank, own, inside = summaries[place].rank, labels[place], labels[place].label == phase
        if (rank, phase) in known or not inside.any():
            continue
        offset, scale = clocks[place]
        spans = offset + scale * np.stack([own.start_s[inside], own.end_s[inside]])
        others = [at for at in range(len(summaries)) if at != place]
        parts = [_part_in(summaries[at], *clocks[at], spans) for at in others]
        kinds = [part @ summaries[at].pieces.seconds_by_kind for at, part in zip(others, parts, strict=True)]
        work, mpi = np.array([(kind[WORK] + kind[IO], kind[MPI]) for kind in kinds]).T
        seconds, usual, waiting = float(work_s[place, phase]), float(np.median(work)), float(np.median(mpi))
        excess = seconds - usual
        counting = float(np.sqrt((seconds + usual) / rate_hz + 1.0 / rate_hz**2))
        sigma = max(counting, float(np.median(np.abs(work - usual))) / NORMAL)
        own_mpi = float(summaries[place].pieces.seconds_by_kind[inside, MPI].sum())
        is_longer = excess > max(SIGMAS * sigma, LEAST * usual) and usual > LEAST * seconds
        if is_longer and waiting - own_mpi > LEAST * excess:
            theirs = [(summaries[at], part) for at, part in zip(others, parts, strict=True)]
            why = _more_in((summaries[place], inside.astype(np.float64)), theirs[:: -(-len(theirs) // TELL)], rate_hz)
            out.append(Straggler(rank, phase, seconds, usual, excess / sigma, why, waiting))
    return out


def _part_in(summary: RankSummary, offset: float, scale: float, spans: FloatArray) -> FloatArray:
    """Return the share of each piece of a rank that lies in some spans of the common clock, (g,). spans: (2, s)."""
    start, end = offset + scale * summary.pieces.start_s, offset + scale * summary.pieces.end_s
    common = np.minimum(end[:, None], spans[1]) - np.maximum(start[:, None], spans[0])
    part: FloatArray = np.maximum(common, 0.0).sum(axis=1) / np.maximum(end - start, 1e-9)
    return part


def _more_in(
    own: tuple[RankSummary, FloatArray], others: Sequence[tuple[RankSummary, FloatArray]], rate_hz: float
) -> tuple[tuple[str, float], ...]:
    """Return the functions in which a rank spends more self time than the others do meanwhile, on average."""
    here = _seconds_in(*own, rate_hz)
    there = [_seconds_in(*other, rate_hz) for other in others]
    mean = {key: sum(other.get(key, ("", 0.0))[1] for other in there) / len(there) for key in here}
    return beyond_counting(((name, seconds, mean[key]) for key, (name, seconds) in here.items()), rate_hz)


def beyond_counting(functions: Iterable[tuple[str, float, float]], rate_hz: float) -> tuple[tuple[str, float], ...]:
    """Return functions with their excess over others, the largest first: by more than the error of counting samples.

    functions: their names, with the seconds of a rank and of the others.
    """
    more = [(name, own - other) for name, own, other in functions if own - other > np.sqrt(own / rate_hz)]
    return tuple(sorted(more, key=lambda one: (-round(one[1], 9), one[0]))[:MOST_WHY])


def _seconds_in(summary: RankSummary, part: FloatArray, rate_hz: float) -> dict[Key, tuple[str, float]]:
    """Return the seconds of each function in parts of the pieces of a rank, by its key, with its name. part: (g,)."""
    pieces, mix = summary.pieces, summary.mix
    length = pieces.end_s - pieces.start_s
    use = pieces.segment >= 0
    whole, some = (
        np.bincount(pieces.segment[use], weights=weights[use], minlength=len(mix.own))
        for weights in (length, part * length)
    )
    seconds = some / np.maximum(whole, 1e-9) @ mix.own / rate_hz
    return {key: (name, value) for key, name, value in zip(mix.keys, mix.names, seconds.tolist(), strict=True)}
