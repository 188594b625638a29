"""Summarise all ranks after relabelling each with the shared phases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.ranks.awaited import awaited, beyond_counting
from incprof.analysis.ranks.ranks_result import (
    TIMES,
    Clock,
    Part,
    PhaseBalance,
    RankLabels,
    RanksResult,
    RankSummary,
    Spread,
    Straggler,
)
from incprof.analysis.ranks.summary import agreement, bins_of, groups_of, on_bins
from incprof.analysis.segment_sums import evenly
from incprof.model import BoolArray, FloatArray, IntArray
from incprof.model.time_use import IO, MPI, WORK


def compare_ranks(
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
    seconds_by_kind, wall = times_of(summaries, labels, k)
    offset, rate, clocks = aligned(summaries, labels, interval_s)
    slow = stragglers(summaries, labels, seconds_by_kind, wall, rate_hz)
    slow += awaited(
        summaries, labels, worked_s(seconds_by_kind)[:, :-1], list(zip(offset.tolist(), rate.tolist(), strict=True)),
        rate_hz,
        {(one.rank, one.phase) for one in slow},
    )  # fmt: skip
    groups, outliers = groups_of(summaries, labels, wall)
    return RanksResult(
        ranks=ranks,
        labels=tuple(labels),
        parts=tuple(parts),
        offset_s=offset,
        rate=rate,
        agreement=agreement(on_bins(labels, offset, rate, bins_of(labels, offset, rate))),
        spent=seconds_by_kind,
        wall_s=wall,
        phases=balance(ranks, seconds_by_kind, wall, rate_hz),
        stragglers=tuple(sorted(slow, key=lambda one: (one.usual_s - one.seconds, one.rank, one.phase))),
        groups=groups,
        outliers=outliers,
        clocks=clocks,
        late=late_ranks(summaries, offset, interval_s),
    )


# Balance of each phase over ranks: work, waiting and stragglers. r ranks, k phases.


# Work: on the CPU, and not waiting for others.
WORKS = (WORK, IO)
# A straggler is this many standard deviations of its peers, or of counting samples, beyond their median. The scatter of
# few ranks is not well known: in one of 1 000 normal runs some rank is at 13 with 8 ranks, 7 with 16, 5 with 64.
SIGMAS, OF_FEW = 6.0, 60.0
# Also by this share of the median; more than FEW of the ranks are a group, not stragglers.
LEAST, FEW = 0.1, 0.25
# With fewer ranks, none is typical.
PEERS = 3
# A rank with less than this share of the usual time in a phase does other work.
HALF = 0.5
# Number of peers that a straggler's functions are compared with.
TELL = 64
# Median absolute deviation of a normal variable over its standard deviation.
NORMAL = 0.6745


def times_of(summaries: Sequence[RankSummary], labels: Sequence[RankLabels], k: int) -> tuple[FloatArray, FloatArray]:
    """Sum the seconds of every rank by phase, no phase last: (r, k + 1, len(TIMES)); wall time (r, k + 1)."""
    seconds_by_kind, wall = np.zeros((len(summaries), k + 1, len(TIMES))), np.zeros((len(summaries), k + 1))
    for place, (summary, own) in enumerate(zip(summaries, labels, strict=True)):
        np.add.at(seconds_by_kind[place], own.label, summary.pieces.seconds_by_kind)
        np.add.at(wall[place], own.label, own.end_s - own.start_s)
    return seconds_by_kind, wall


def worked_s(seconds_by_kind: FloatArray) -> FloatArray:
    """Return the seconds of work, (r, k). seconds_by_kind: (r, k, len(TIMES))."""
    result: FloatArray = seconds_by_kind[:, :, list(WORKS)].sum(axis=2)
    return result


def balance(
    ranks: Sequence[int], seconds_by_kind: FloatArray, wall_s: FloatArray, rate_hz: float
) -> tuple[PhaseBalance, ...]:
    """Compute the balance of each phase over the ranks that enter it. spent, wall_s: as times_of returns them."""
    work, mpi, out = worked_s(seconds_by_kind), seconds_by_kind[:, :, MPI], []
    for phase in range(seconds_by_kind.shape[1] - 1):
        present = wall_s[:, phase] > 0
        wall, busy, waiting = (_spread(times[present, phase]) for times in (wall_s, work, mpi))
        slowest = ranks[int(np.argmax(work[:, phase]))]
        # A rank's work is a number of samples.
        error = float(np.sqrt(busy.most / rate_hz)) / busy.mean if busy.mean > 0 else None
        out.append(PhaseBalance(phase, int(present.sum()), wall, busy, waiting, slowest, error))
    return tuple(out)


def _spread(values: FloatArray) -> Spread:
    if not len(values):
        return Spread(0.0, 0.0, 0.0, 0.0)
    return Spread(float(values.min()), float(np.median(values)), float(values.max()), float(values.mean()))


def stragglers(
    summaries: Sequence[RankSummary],
    labels: Sequence[RankLabels],
    seconds_by_kind: FloatArray,
    wall_s: FloatArray,
    rate_hz: float,
) -> list[Straggler]:
    """Return the ranks that work longer in a phase than their peers.

    Args:
        summaries: of the ranks.
        labels: the same ranks in the phases of all.
        seconds_by_kind: as times_of returns it.
        wall_s: likewise.
        rate_hz: samples per second.
    """
    out, work = [], worked_s(seconds_by_kind)
    for phase in range(work.shape[1] - 1):
        peers = _peers(wall_s[:, phase])
        is_outlier, usual, sigma = _outliers(work[peers, phase], rate_hz)
        for place in peers[is_outlier].tolist():
            seconds = float(work[place, phase])
            others = peers[~is_outlier]
            why = _more_in(summaries, labels, phase, place, others[evenly(len(others), TELL)], rate_hz)
            out.append(Straggler(summaries[place].rank, phase, seconds, usual, (seconds - usual) / sigma, why))
    return out


def _peers(wall_s: FloatArray) -> IntArray:
    """Return the ranks with about the usual time in a phase, or more, ascending. wall_s: (r,) in it."""
    present = wall_s > 0
    usual = float(np.median(wall_s[present])) if present.any() else 0.0
    return np.flatnonzero(present & (wall_s >= HALF * usual))


def _outliers(seconds: FloatArray, rate_hz: float) -> tuple[BoolArray, float, float]:
    """Return the ranks beyond their peers, (r,), none if there are many; the usual value and its scatter, seconds."""
    none = np.zeros(len(seconds), dtype=np.bool_)
    usual = float(np.median(seconds)) if len(seconds) else 0.0  # no rank goes through some shared phases
    if len(seconds) < PEERS or not usual > 0:
        return none, usual, 1.0
    spread = float(np.median(np.abs(seconds - usual))) / NORMAL
    counting = float(np.sqrt(usual / rate_hz + 1.0 / rate_hz**2))
    sigma, more = max(spread, counting), seconds - usual
    is_outlier: BoolArray = (more > (SIGMAS + OF_FEW / len(seconds)) * sigma) & (more > LEAST * usual)
    return (is_outlier if is_outlier.sum() <= max(1, int(FEW * len(seconds))) else none), usual, sigma


def _more_in(
    summaries: Sequence[RankSummary],
    labels: Sequence[RankLabels],
    phase: int,
    place: int,
    others: IntArray,
    rate_hz: float,
) -> tuple[tuple[str, float], ...]:
    """Return the functions in which a rank spends more self time in a phase than its peers do on average."""
    own = _seconds_in(summaries[place], labels[place], phase, rate_hz)
    mean: dict[tuple[str, str], float] = {}
    for other in others.tolist():
        for key, (_, seconds) in _seconds_in(summaries[other], labels[other], phase, rate_hz).items():
            mean[key] = mean.get(key, 0.0) + seconds / len(others)
    return beyond_counting(((name, seconds, mean.get(key, 0.0)) for key, (name, seconds) in own.items()), rate_hz)


def _seconds_in(
    summary: RankSummary, labels: RankLabels, phase: int, rate_hz: float
) -> dict[tuple[str, str], tuple[str, float]]:
    """Return the seconds of each function in a phase of a rank, by its key, with its name."""
    segments = np.unique(summary.pieces.segment[(labels.label == phase) & (summary.pieces.segment >= 0)])
    seconds = summary.mix.own[segments].sum(axis=0) / rate_hz
    rows = zip(summary.mix.keys, summary.mix.names, seconds.tolist(), strict=True)
    return {key: (name, value) for key, name, value in rows}


# Align the time of all ranks: their starts, and wrong clocks of nodes, detected from changes of phase.
#
# Ranks of a parallel program reach the same change of phase at about the same time, since they wait for each other.
# If a node's ranks reach all of them too early or too late, by the same amount, its clock is wrong; ranks that are
# late at some changes only are late. r ranks, m changes.


# Fewest common changes of phase for the offset of a clock, and for its drift.
ENOUGH, FOR_DRIFT = 3, 6
# A clock is corrected if it is off by more than this many intervals, and by more than this factor of the remaining
# error.
INTERVALS, IMPROVED = 1.0, 4.0
# A rank starts late if it starts later than most by this many seconds, by an interval, and by this factor of the usual
# spread.
LATE_S, LATE_TIMES = 1.0, 8.0


def starts(summaries: Sequence[RankSummary]) -> FloatArray:
    """Return the start of each rank, (r,) seconds after the first, by their nodes' clocks; 0 if unknown."""
    start_times = [summary.start_unix_ns for summary in summaries if summary.start_unix_ns is not None]
    first = min(start_times, default=0)
    return np.array([0.0 if s.start_unix_ns is None else (s.start_unix_ns - first) * 1e-9 for s in summaries])


def change_times(labels: RankLabels) -> dict[tuple[int, int, int], float]:
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
    times = [{key: at + offset[r] for key, at in change_times(own).items()} for r, own in enumerate(labels)]
    of_host = {host: [r for r, s in enumerate(summaries) if s.host == host] for host in hosts}
    middle = {host: _middle([times[r] for r in ranks]) for host, ranks in of_host.items()}
    # Of two nodes it is unknown which is wrong: the clock of the first rank's node is assumed to be right.
    usual = middle[summaries[0].host] if len(hosts) == 2 else _middle(list(middle.values()))
    clocks = []
    for host in hosts:
        shared = sorted(set(middle[host]) & set(usual), key=lambda key: usual[key])
        everywhere, host_times = (np.array([table[key] for key in shared]) for table in (usual, middle[host]))
        clock = _clock(host, everywhere, host_times, interval_s)
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
    return {key: float(np.median(times)) for key, times in every.items() if 2 * len(times) > len(tables)}


def _clock(host: str, usual: FloatArray, own: FloatArray, interval_s: float) -> Clock | None:
    """Return the error of a node's clock; None if there is none.

    usual, own: (m,) times of changes of phase, of all nodes and its own.
    """
    difference = own - usual
    if len(difference) < ENOUGH:
        return None
    before = float(np.median(np.abs(difference)))
    late, drift = float(np.median(difference)), 0.0
    residual = difference - late
    if len(difference) >= FOR_DRIFT:
        # The median of the slopes of all pairs (Theil 1950, Sen 1968).
        one, other = np.triu_indices(len(difference), 1)
        is_far = np.abs(usual[other] - usual[one]) > interval_s
        slopes = (difference[other] - difference[one])[is_far] / (usual[other] - usual[one])[is_far]
        slope = float(np.median(slopes)) if is_far.any() else 0.0
        level = float(np.median(difference - slope * usual))
        if np.median(np.abs(difference - level - slope * usual)) < 0.5 * np.median(np.abs(residual)):
            late, drift, residual = level, slope, difference - level - slope * usual
    after = float(np.median(np.abs(residual)))
    if before < INTERVALS * interval_s or before < IMPROVED * after:
        return None
    return Clock(host, late, drift, len(difference), before, after)


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
