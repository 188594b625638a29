"""Waiting by phase, cause and call path. m spans, n intervals, k phases, w distinct waits, b bins.

The time off the processors of every span is exact. Half of it belongs to the wait in which the thread was at its
beginning, half to that at its end. Where the thread ran at one of them, that half belongs to the wait at the other, but
only the part that the thread waited for in the span. What remains is of short waits, between which threads run. It is
divided so that each wait has, on average over random moments, the time between samples that begins or ends in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.phase_result import PhaseResult
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.intervals import suspensions
from incprof.model.time_use import SPENT, kind_of_time
from incprof.systems.waiting.causes import CAUSES, Cause, Kinds, functions_to
from incprof.systems.waiting.read import ONE_WAIT, Waits

# Threads with less of the busiest one's CPU time are not part of a phase's main role.
BUSY = 0.5
# With less CPU time of a phase than this, no thread is busy: the main thread shows what the phase waits for.
IDLE = 0.01
# Paths of a cause, and those of a phase from which they are named.
MOST_PATHS = 5
MAIN_THREAD = 0
# Classes of CPU samples that are waiting: of libraries that poll.
SPINNING: dict[str, Cause] = {"mpi": "mpi", "openmp": "openmp", "device": "device"}
# Causes whose time needs no samples.
MEASURED: tuple[Cause, ...] = ("run-queue", "suspended")


@dataclass(frozen=True)
class Holder:
    """The thread that held a lock most of the time in which others waited.

    Attributes:
        thread: its number.
        share: of this waiting, as far as the holder is known.
        node: of the path at which it was most of that time; 0: unknown.
        called: library function that it waited in itself; "": it ran.
    """

    thread: int
    share: float
    node: int = 0
    called: str = ""


@dataclass(frozen=True)
class WaitPath:
    """Waits on one call path.

    Attributes:
        seconds: of all threads.
        busy_s: of these, those of the phase's busy threads.
        kind: of the cause: "mutex", "pipe"; "": no more is known.
        node: of the innermost application frame; 0: none.
        called: library function that the application called; "": unknown.
        threads: numbers of the threads, longest waiting first.
        holder: of the lock, if known.
    """

    seconds: float
    busy_s: float
    kind: str
    node: int
    called: str
    threads: tuple[int, ...]
    holder: Holder | None = None


@dataclass(frozen=True)
class CauseWaits:
    """Waiting for one cause in a phase.

    Attributes:
        cause: one of CAUSES.
        seconds: of all threads, off the processors.
        error_s: standard error of these seconds, because waits are sampled.
        share: of the time of the phase's busy threads.
        share_error: standard error of that.
        spinning_s: CPU seconds of all threads in library functions that poll for the same cause.
        threads: numbers of the threads that wait, longest first.
        paths: those in which the busy threads wait longest first.
    """

    cause: Cause
    seconds: float
    share: float
    error_s: float = 0.0
    share_error: float = 0.0
    spinning_s: float = 0.0
    threads: tuple[int, ...] = ()
    paths: tuple[WaitPath, ...] = ()


@dataclass(frozen=True)
class PhaseWaits:
    """Waiting in a phase.

    Attributes:
        id: of the phase.
        seconds: its length.
        busy: threads with most CPU time, whose shares are given; the main thread where none has any.
        threads: number of threads with samples.
        share: of the time of the busy threads, waiting for any cause.
        causes: those with a share first, largest first.
        has_short: whether one of the threads stands for several short ones (read.py).
    """

    id: int
    seconds: float
    busy: tuple[int, ...]
    threads: int
    share: float
    causes: tuple[CauseWaits, ...]
    has_short: bool = False


def waits_by_phase(waits: Waits, kinds: Kinds, profile: IntervalProfile, result: PhaseResult) -> list[PhaseWaits]:
    """Sum waiting by phase.

    Args:
        waits: of the process.
        kinds: its distinct waits.
        profile: n intervals of the same process.
        result: its phases.
    """
    inside = overlaps(waits.begin_s, waits.end_s, profile.start_s, profile.end_s, result.labels, result.k)
    spinning = _spinning(profile, result)
    suspended = _suspended(profile, result)
    return [
        _of_phase(waits, kinds, inside[phase.id], phase.id, phase.seconds, spinning.get(phase.id, {}),
                  suspended.get(phase.id, 0.0), profile)
        for phase in result.present
    ]  # fmt: skip


@dataclass(frozen=True)
class ThreadWaits:
    """Seconds of waits in a phase by thread, (t, w + 1); the last column is of waits that no sample found.

    Attributes:
        threads: (t,) their numbers.
        seconds: (t, w + 1) of each wait.
        estimated: (t, w + 1) those of spans that are not one wait.
        delayed: (t,) ready to run, without a processor.
        wall: (t,) observed.
        waited: (t,) in any wait.
        spans: (t,) number of spans that are not one wait.
        squares: (t,) sum of the squares of the seconds waited in them.
    """

    threads: IntArray
    seconds: FloatArray
    estimated: FloatArray
    delayed: FloatArray
    wall: FloatArray
    waited: FloatArray
    spans: FloatArray
    squares: FloatArray

    def variance(self, members: BoolArray) -> FloatArray:
        """Return the variance of the seconds in some waits, (t,): each span is in them or not, as if drawn.

        Args:
            members: (w + 1,) marks them.
        """
        total = np.maximum(self.estimated.sum(axis=1), 1e-9)
        part = np.clip(self.estimated[:, members].sum(axis=1) / total, 0.0, 1.0)
        likely = (part * self.spans + 1) / (self.spans + 2)  # no sample of a wait does not prove that there is none
        variance: FloatArray = likely * (1 - likely) * self.squares
        return variance

    @property
    def busy(self) -> BoolArray:
        """Mark the threads of the phase's main role, (t,)."""
        cpu = np.maximum(self.wall - self.waited - self.delayed, 0.0)
        if not len(cpu):
            return np.zeros(0, dtype=np.bool_)
        if cpu.max() < IDLE * self.wall.max() and MAIN_THREAD in self.threads:
            main: BoolArray = self.threads == MAIN_THREAD
            return main
        busy: BoolArray = cpu >= BUSY * cpu.max()
        return busy


def waits_by_thread(waits: Waits, kinds: Kinds, inside: FloatArray) -> ThreadWaits:
    """Return the waits of a phase by thread; inside: (m,) seconds of the spans in it."""
    use = np.flatnonzero(inside > 0)
    part = inside[use] / np.maximum(waits.end_s[use] - waits.begin_s[use], 1e-9)
    threads, row = np.unique(waits.thread[use], return_inverse=True)
    shape = (len(threads), len(kinds.reason) + 1)
    last, first, waited = kinds.of_span[use], kinds.before[use], waits.waited_s[use] * part
    is_one_wait = waits.state[use] == ONE_WAIT
    first = np.where(is_one_wait, last, first)
    ran = np.where(is_one_wait, 0.0, np.maximum(inside[use] - waited, 0.0))
    half = waited / 2
    lent = np.where((first < 0) != (last < 0), half * waited / inside[use], 0.0)
    seconds, missing = np.zeros(shape), np.zeros(shape)
    undecided = np.zeros(len(threads))
    for what in (first, last):
        has_cause = what >= 0
        at = (row[has_cause], what[has_cause])
        np.add.at(seconds, at, (half + lent)[has_cause])
        np.add.at(missing, at, (ran / 2 - lent)[has_cause])
        undecided += np.bincount(row[~has_cause], weights=(half - lent)[~has_cause], minlength=len(threads))
    seconds += _divided(undecided, np.maximum(missing, 0.0), seconds, np.append(kinds.brief, 0.0))
    known = np.zeros(shape)
    np.add.at(known, (row[is_one_wait], last[is_one_wait]), waited[is_one_wait])

    def by_thread(values: FloatArray) -> FloatArray:
        return np.bincount(row, weights=values, minlength=len(threads)).astype(np.float64)

    return ThreadWaits(
        threads=threads,
        seconds=seconds,
        estimated=np.maximum(seconds - known, 0.0),
        delayed=by_thread(waits.delayed_s[use] * part),
        wall=by_thread(inside[use]),
        waited=seconds.sum(axis=1),
        spans=by_thread(np.where(is_one_wait, 0.0, 1.0)),
        squares=by_thread(np.where(is_one_wait, 0.0, waited**2)),
    )


def _divided(undecided: FloatArray, missing: FloatArray, seconds: FloatArray, brief: FloatArray) -> FloatArray:
    """Divide the time of waits between samples that found none, (t, w + 1).

    The thread that takes samples needs a moment from its waking up to the first one. On a processor that it shares,
    waits end in this moment, and none begins. So samples find too few of the waits that are not much longer: what is
    undecided beyond the missing time belongs to those that end while they are sampled.

    Args:
        undecided: (t,) seconds to divide.
        missing: (t, w + 1) seconds that each wait lacks, if samples found all waits equally well.
        seconds: (t, w + 1) of each wait so far.
        brief: (w + 1,) share of the samples in which a wait ended meanwhile.
    """
    shorter = missing * brief
    beyond, own = undecided - missing.sum(axis=1), shorter.sum(axis=1)
    if own.any():
        missing = missing + shorter * max(float(beyond @ own / (own @ own)), -1.0)  # least squares over the threads
    missing = missing + (missing.sum(axis=1, keepdims=True) <= 0) * seconds
    missing[missing.sum(axis=1) <= 0, -1] = 1.0
    divided: FloatArray = missing * (undecided / missing.sum(axis=1))[:, None]
    return divided


def _of_phase(
    waits: Waits, kinds: Kinds, inside: FloatArray, number: int, length_s: float, spinning: dict[Cause, float],
    suspended_s: float, profile: IntervalProfile,
) -> PhaseWaits:  # fmt: skip
    """Return the waiting of a phase; inside: (m,) seconds of the spans in it."""
    table = waits_by_thread(waits, kinds, inside)
    busy = table.busy
    wall_s = max(float(table.wall[busy].sum()), 1e-9)
    causes = []
    for cause in CAUSES:
        of_cause = np.array([reason.cause == cause for reason in kinds.reason] + [cause == "unknown"], dtype=np.bool_)
        by_thread = table.delayed if cause == "run-queue" else table.seconds[:, of_cause].sum(axis=1)
        spun = spinning.get(cause, 0.0)
        total = suspended_s if cause == "suspended" else float(by_thread.sum())
        if total <= 0 and spun <= 0:
            continue
        order = np.argsort(-by_thread, kind="stable")
        longest = table.threads[order[by_thread[order] > 0]]
        paths = _paths(waits, kinds, table, np.flatnonzero(of_cause[:-1]), inside, profile)
        variance = np.zeros(len(by_thread)) if cause in MEASURED else table.variance(of_cause)
        causes.append(
            CauseWaits(
                cause=cause,
                seconds=total,
                share=float(by_thread[busy].sum()) / wall_s,
                error_s=float(np.sqrt(variance.sum())),
                share_error=float(np.sqrt(variance[busy].sum())) / wall_s,
                spinning_s=spun,
                threads=tuple(longest.tolist()),
                paths=paths,
            )
        )
    causes.sort(key=lambda each: (-each.share, -each.seconds))
    share = float((table.waited + table.delayed)[busy].sum()) / wall_s
    return PhaseWaits(
        number, length_s, tuple(table.threads[busy].tolist()), len(table.threads), min(share, 1.0), tuple(causes),
        bool(np.isin(table.threads, waits.short[:1]).any()),
    )  # fmt: skip


def _paths(
    waits: Waits, kinds: Kinds, table: ThreadWaits, members: IntArray, inside: FloatArray, profile: IntervalProfile
) -> tuple[WaitPath, ...]:
    """Return the call paths of a cause in which the busy threads wait longest, then the others; members: its waits."""
    groups: dict[tuple[tuple[int, ...], str, str], list[int]] = {}
    for one in members.tolist():
        if table.seconds[:, one].sum() > 0:
            key = (functions_to(waits, int(kinds.node[one])), kinds.called[one], kinds.reason[one].kind)
            groups.setdefault(key, []).append(one)
    by_thread_of = {key: table.seconds[:, each].sum(axis=1) for key, each in groups.items()}
    total = {key: (float(each[table.busy].sum()), float(each.sum())) for key, each in by_thread_of.items()}
    paths = []
    for key in sorted(groups, key=total.__getitem__, reverse=True)[:MOST_PATHS]:
        same = groups[key]
        by_thread = by_thread_of[key]
        order = np.argsort(-by_thread, kind="stable")
        longest = max(same, key=lambda one: float(table.seconds[:, one].sum()))
        paths.append(
            WaitPath(
                seconds=total[key][1],
                busy_s=total[key][0],
                kind=key[2],
                node=int(kinds.node[longest]),
                called=key[1],
                threads=tuple(table.threads[order[by_thread[order] > 0]].tolist()),
                holder=_holder(waits, kinds, same, inside, profile),
            )
        )
    return tuple(paths)


def _holder(
    waits: Waits, kinds: Kinds, same: Sequence[int], inside: FloatArray, profile: IntervalProfile
) -> Holder | None:
    """Return the holder of the lock that some waits of a phase are for; None if no memory showed it."""
    spans = np.flatnonzero(np.isin(kinds.of_span, same) & (inside > 0))
    with_holder = spans[waits.holder[spans] >= 0]
    if not len(with_holder):
        return None
    holders, row = np.unique(waits.holder[with_holder], return_inverse=True)
    seconds = np.bincount(row, weights=inside[with_holder])
    thread = int(holders[seconds.argmax()])
    held_by_it = with_holder[waits.holder[with_holder] == thread]
    share = float(inside[held_by_it].sum() / inside[spans].sum())
    if thread in waits.short[:1]:  # where it was is not known of one of many
        return Holder(thread, share)
    low, high = _union(waits.begin_s[held_by_it], waits.end_s[held_by_it])
    own = np.flatnonzero((waits.thread == thread) & (kinds.of_span >= 0))
    together = _covered(low, high, waits.end_s[own]) - _covered(low, high, waits.begin_s[own])
    waiting = np.bincount(kinds.of_span[own], weights=together, minlength=len(kinds.reason))
    samples = profile.samples
    sample = np.flatnonzero((samples.thread == thread) & _in_spans(low, high, samples.time_s))
    ran_s = float(samples.weight[sample].sum()) / profile.metadata.rate_hz
    if not len(waiting) or waiting.sum() <= ran_s:
        return Holder(thread, share)
    longest = int(waiting.argmax())
    return Holder(thread, share, int(kinds.node[longest]), kinds.called[longest])


def _union(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return disjoint stretches that cover the same time, in order."""
    order = np.argsort(low, kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    first = np.concatenate([[True], low[1:] > high[:-1]])
    return low[first], high[np.append(np.flatnonzero(first)[1:] - 1, len(low) - 1)]


def _covered(low: FloatArray, high: FloatArray, time_s: FloatArray) -> FloatArray:
    """Return how many seconds of disjoint stretches lie before each time, same shape."""
    edges = np.stack([low, high], axis=1).ravel()
    until = np.stack([np.cumsum(high - low) - (high - low), np.cumsum(high - low)], axis=1).ravel()
    covered: FloatArray = np.interp(time_s, edges, until)
    return covered


def _in_spans(low: FloatArray, high: FloatArray, time_s: FloatArray) -> BoolArray:
    """Mark the times that lie in one of disjoint stretches, same shape."""
    place = np.searchsorted(low, time_s, side="right") - 1
    inside: BoolArray = (place >= 0) & (time_s <= high[np.maximum(place, 0)])
    return inside


def _spinning(profile: IntervalProfile, result: PhaseResult) -> dict[int, dict[Cause, float]]:
    """Return the CPU seconds in library functions that poll, by phase and cause."""
    samples = profile.samples
    if not len(samples.time_s):
        return {}
    kind, phase = kind_of_time(profile), result.labels[profile.interval_of_samples()]
    seconds = samples.weight / profile.metadata.rate_hz
    seconds_of: dict[int, dict[Cause, float]] = {}
    for name, cause in SPINNING.items():
        use = (kind == SPENT.index(name)) & (phase >= 0) if name in SPENT else np.zeros(len(kind), dtype=np.bool_)
        total = np.bincount(phase[use], weights=seconds[use], minlength=result.k)
        for number in np.flatnonzero(total > 0).tolist():
            seconds_of.setdefault(number, {})[cause] = float(total[number])
    return seconds_of


def _suspended(profile: IntervalProfile, result: PhaseResult) -> dict[int, float]:
    """Return the seconds in which the process was stopped, by the phase before it, else the one after it."""
    seconds_of: dict[int, float] = {}
    for start, end in suspensions(profile).tolist():
        after = int(np.searchsorted(profile.start_s, end - 1e-6))
        around = [int(result.labels[i]) for i in (after - 1, after) if 0 <= i < len(result.labels)]
        phase = next((label for label in around if label >= 0), None)
        if phase is not None:
            seconds_of[phase] = seconds_of.get(phase, 0.0) + end - start
    return seconds_of


def waiting_over_time(
    waits: Waits, kinds: Kinds, threads: Sequence[int], start_s: FloatArray, end_s: FloatArray
) -> dict[Cause, FloatArray]:
    """Return the share of their time that threads wait for each cause, over bins, (b,) from 0 to 1."""
    of_threads = np.isin(waits.thread, list(threads))
    wall = _integral(waits, of_threads, waits.end_s - waits.begin_s, start_s, end_s)
    cause = np.array([CAUSES.index(reason.cause) for reason in kinds.reason] + [-1], dtype=np.int64)[kinds.of_span]
    shares: dict[Cause, FloatArray] = {}
    for number, name in enumerate(CAUSES):
        own = of_threads & (cause == number)
        seconds = waits.delayed_s if name == "run-queue" else waits.waited_s
        values = _integral(waits, of_threads if name == "run-queue" else own, seconds, start_s, end_s)
        if values.sum() > 0:
            share = np.divide(values, wall, out=np.full(len(wall), np.nan), where=wall > 0)
            shares[name] = np.minimum(share, 1.0)
    return shares


def _integral(waits: Waits, use: BoolArray, seconds: FloatArray, start_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """Return the seconds of spans in each bin, (b,), spread evenly over their length."""
    begin, end = waits.begin_s[use], np.maximum(waits.end_s[use], waits.begin_s[use] + 1e-9)
    if not len(begin):
        return np.zeros(len(start_s))
    density = seconds[use] / (end - begin)
    time = np.concatenate([begin, end])
    order = np.argsort(time, kind="stable")
    time, slope = time[order], np.cumsum(np.concatenate([density, -density])[order])
    until = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(time))])
    seconds_in: FloatArray = np.interp(end_s, time, until) - np.interp(start_s, time, until)
    return np.maximum(seconds_in, 0.0, dtype=np.float64)
