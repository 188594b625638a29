"""Align the time of all ranks: their starts, and wrong clocks of nodes, detected from changes of phase.

Ranks of a parallel program reach the same change of phase at about the same time, since they wait for each other. If a
node's ranks reach all of them too early or too late, by the same amount, its clock is wrong; ranks that are late at
some changes only are late. r ranks, m changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.ranks.ranks_result import Clock, RankLabels, RankSummary
from incprof.model import FloatArray

# Fewest common changes of phase for the offset of a clock, and for its drift.
ENOUGH, FOR_DRIFT = 3, 6
# A clock is corrected if it is off by more than this many intervals, and by more than this factor of the remaining
# error.
INTERVALS, TIMES = 1.0, 4.0
# A rank starts late if it starts later than most by this many seconds, by an interval, and by this factor of the usual
# spread.
LATE_S, LATE_TIMES = 1.0, 8.0


def starts(summaries: Sequence[RankSummary]) -> FloatArray:
    """Return the start of each rank, (r,) seconds after the first, by their nodes' clocks; 0 if unknown."""
    known = [summary.start_unix_ns for summary in summaries if summary.start_unix_ns is not None]
    first = min(known, default=0)
    return np.array([0.0 if s.start_unix_ns is None else (s.start_unix_ns - first) * 1e-9 for s in summaries])


def borders_of(labels: RankLabels) -> dict[tuple[int, int, int], float]:
    """Return the times at which a rank changes phase, seconds: by the two phases, and the number of the occurrence."""
    out: dict[tuple[int, int, int], float] = {}
    use = np.flatnonzero(labels.label >= 0)
    count: dict[tuple[int, int], int] = {}
    for one, other in zip(use[:-1].tolist(), use[1:].tolist(), strict=True):
        before, after = int(labels.label[one]), int(labels.label[other])
        if before != after:
            number = count[before, after] = count.get((before, after), -1) + 1
            out[before, after, number] = float(labels.end_s[one] + labels.start_s[other]) / 2.0
    return out


def aligned(
    summaries: Sequence[RankSummary], labels: Sequence[RankLabels], interval_s: float
) -> tuple[FloatArray, FloatArray, tuple[Clock, ...]]:
    """Correct the clocks of nodes.

    Args:
        summaries: of the ranks.
        labels: the same ranks in the phases of all.
        interval_s: resolution of changes of phase.

    Returns:
        The start of each rank, (r,) seconds after the first, the length of a second of its clock, (r,), and the
        corrected
        clocks.
    """
    offset, rate = starts(summaries), np.ones(len(summaries))
    hosts = sorted({summary.host for summary in summaries if summary.start_unix_ns is not None})
    if len(hosts) < 2:
        return offset, rate, ()
    times = [{key: at + offset[r] for key, at in borders_of(own).items()} for r, own in enumerate(labels)]
    of_host = {host: [r for r, s in enumerate(summaries) if s.host == host] for host in hosts}
    middle = {host: _middle([times[r] for r in ranks]) for host, ranks in of_host.items()}
    # Of two nodes it is unknown which is wrong: the clock of the first rank's node is assumed to be right.
    usual = middle[summaries[0].host] if len(hosts) == 2 else _middle(list(middle.values()))
    clocks = []
    for host in hosts:
        shared = sorted(set(middle[host]) & set(usual), key=lambda key: usual[key])
        everywhere, here = (np.array([table[key] for key in shared]) for table in (usual, middle[host]))
        clock = _clock(host, everywhere, here, interval_s)
        if clock is not None:
            clocks.append(clock)
            rate[of_host[host]] = 1.0 / (1.0 + clock.drift)
            offset[of_host[host]] = (offset[of_host[host]] - clock.late_s) * rate[of_host[host]]
    return offset - offset.min(initial=np.inf), rate, tuple(clocks)


def _middle(tables: Sequence[dict[tuple[int, int, int], float]]) -> dict[tuple[int, int, int], float]:
    """Return the median time of each change of phase that most have."""
    every: dict[tuple[int, int, int], list[float]] = {}
    for table in tables:
        for key, at in table.items():
            every.setdefault(key, []).append(at)
    return {key: float(np.median(found)) for key, found in every.items() if 2 * len(found) > len(tables)}


def _clock(host: str, usual: FloatArray, own: FloatArray, interval_s: float) -> Clock | None:
    """Return the error of a node's clock; None if there is none.

    usual, own: (m,) times of changes of phase, of all nodes and its own.
    """
    apart = own - usual
    if len(apart) < ENOUGH:
        return None
    before = float(np.median(np.abs(apart)))
    late, drift = float(np.median(apart)), 0.0
    rest = apart - late
    if len(apart) >= FOR_DRIFT:
        # The median of the slopes of all pairs (Theil 1950, Sen 1968).
        one, other = np.triu_indices(len(apart), 1)
        far = np.abs(usual[other] - usual[one]) > interval_s
        slopes = (apart[other] - apart[one])[far] / (usual[other] - usual[one])[far]
        slope = float(np.median(slopes)) if far.any() else 0.0
        level = float(np.median(apart - slope * usual))
        if np.median(np.abs(apart - level - slope * usual)) < 0.5 * np.median(np.abs(rest)):
            late, drift, rest = level, slope, apart - level - slope * usual
    after = float(np.median(np.abs(rest)))
    if before < INTERVALS * interval_s or before < TIMES * after:
        return None
    return Clock(host, late, drift, len(apart), before, after)


def late_ranks(
    summaries: Sequence[RankSummary], offset_s: FloatArray, interval_s: float
) -> tuple[tuple[int, float], ...]:
    """Return the ranks that started late, with their delay, seconds after most. offset_s: (r,) clocks corrected."""
    if not len(offset_s):
        return ()
    usual = float(np.median(offset_s))
    limit = max(LATE_S, interval_s, LATE_TIMES * float(np.median(np.abs(offset_s - usual))))
    return tuple(
        (summary.rank, float(at) - usual) for summary, at in zip(summaries, offset_s, strict=True) if at - usual > limit
    )
