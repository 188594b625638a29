"""Balance of each phase over ranks: work, waiting and stragglers. r ranks, k phases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.composition.separation import evenly
from incprof.analysis.ranks.ranks_result import TIMES, PhaseBalance, RankLabels, RankSummary, Spread, Straggler
from incprof.model import BoolArray, FloatArray, IntArray
from incprof.model.time_use import IO, MPI, WORK

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
MOST_WHY = 3


def times_of(summaries: Sequence[RankSummary], labels: Sequence[RankLabels], k: int) -> tuple[FloatArray, FloatArray]:
    """Sum the seconds of every rank by phase, no phase last: (r, k + 1, len(TIMES)); wall time (r, k + 1)."""
    spent, wall = np.zeros((len(summaries), k + 1, len(TIMES))), np.zeros((len(summaries), k + 1))
    for place, (summary, own) in enumerate(zip(summaries, labels, strict=True)):
        np.add.at(spent[place], own.label, summary.pieces.spent)
        np.add.at(wall[place], own.label, own.end_s - own.start_s)
    return spent, wall


def worked_s(spent: FloatArray) -> FloatArray:
    """Return the seconds of work, (r, k). spent: (r, k, len(TIMES))."""
    result: FloatArray = spent[:, :, list(WORKS)].sum(axis=2)
    return result


def balance(ranks: Sequence[int], spent: FloatArray, wall_s: FloatArray, rate_hz: float) -> tuple[PhaseBalance, ...]:
    """Compute the balance of each phase over the ranks that enter it. spent, wall_s: as times_of returns them."""
    work, mpi, out = worked_s(spent), spent[:, :, MPI], []
    for phase in range(spent.shape[1] - 1):
        there = wall_s[:, phase] > 0
        wall, busy, waiting = (_spread(times[there, phase]) for times in (wall_s, work, mpi))
        slowest = ranks[int(np.argmax(work[:, phase]))]
        # A rank's work is a number of samples.
        error = float(np.sqrt(busy.most / rate_hz)) / busy.mean if busy.mean > 0 else None
        out.append(PhaseBalance(phase, int(there.sum()), wall, busy, waiting, slowest, error))
    return tuple(out)


def _spread(values: FloatArray) -> Spread:
    if not len(values):
        return Spread(0.0, 0.0, 0.0, 0.0)
    return Spread(float(values.min()), float(np.median(values)), float(values.max()), float(values.mean()))


def stragglers(
    summaries: Sequence[RankSummary],
    labels: Sequence[RankLabels],
    spent: FloatArray,
    wall_s: FloatArray,
    rate_hz: float,
) -> tuple[Straggler, ...]:
    """Return the ranks that work longer in a phase than their peers, the worst first.

    Args:
        summaries: of the ranks.
        labels: the same ranks in the phases of all.
        spent: as times_of returns it.
        wall_s: likewise.
        rate_hz: samples per second.
    """
    found, work = [], worked_s(spent)
    for phase in range(work.shape[1] - 1):
        peers = _peers(wall_s[:, phase])
        beyond, usual, sigma = _beyond(work[peers, phase], rate_hz)
        for place in peers[beyond].tolist():
            seconds = float(work[place, phase])
            others = peers[~beyond]
            why = _more_in(summaries, labels, phase, place, others[evenly(len(others), TELL)], rate_hz)
            found.append(Straggler(summaries[place].rank, phase, seconds, usual, (seconds - usual) / sigma, why))
    return tuple(sorted(found, key=lambda one: (-(one.seconds - one.usual_s), one.rank, one.phase)))


def _peers(wall_s: FloatArray) -> IntArray:
    """Return the ranks with about the usual time in a phase, or more, ascending. wall_s: (r,) in it."""
    there = wall_s > 0
    usual = float(np.median(wall_s[there])) if there.any() else 0.0
    return np.flatnonzero(there & (wall_s >= HALF * usual))


def _beyond(seconds: FloatArray, rate_hz: float) -> tuple[BoolArray, float, float]:
    """Return the ranks beyond their peers, (r,), none if there are many; the usual value and its scatter, seconds."""
    nobody, usual = np.zeros(len(seconds), dtype=np.bool_), float(np.median(seconds))
    if len(seconds) < PEERS or not usual > 0:
        return nobody, usual, 1.0
    spread = float(np.median(np.abs(seconds - usual))) / NORMAL
    counting = float(np.sqrt(usual / rate_hz + 1.0 / rate_hz**2))
    sigma, more = max(spread, counting), seconds - usual
    beyond: BoolArray = (more > (SIGMAS + OF_FEW / len(seconds)) * sigma) & (more > LEAST * usual)
    return (beyond if beyond.sum() <= max(1, int(FEW * len(seconds))) else nobody), usual, sigma


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
    more = [(name, seconds - mean.get(key, 0.0)) for key, (name, seconds) in own.items()]
    more = sorted((one for one in more if one[1] > 0), key=lambda one: (-round(one[1], 9), one[0]))
    return tuple(more[:MOST_WHY])


def _seconds_in(
    summary: RankSummary, labels: RankLabels, phase: int, rate_hz: float
) -> dict[tuple[str, str], tuple[str, float]]:
    """Return the seconds of each function in a phase of a rank, by its key, with its name."""
    stretches = np.unique(summary.pieces.stretch[(labels.label == phase) & (summary.pieces.stretch >= 0)])
    seconds = summary.mix.own[stretches].sum(axis=0) / rate_hz
    rows = zip(summary.mix.keys, summary.mix.names, seconds.tolist(), strict=True)
    return {key: (name, value) for key, name, value in rows}
