"""The samples of a phase by step, on the threads that run the driver, in order of time.

m steps, s samples of the phase.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations

import numpy as np

from incprof.analysis.thresholds import STEPS, StepOptions
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile

# Number of iterations on each side from which the length of one is computed.
AROUND = 16


@dataclass(frozen=True)
class SampleSequence:
    """Samples in order of thread and time.

    Attributes:
        step: (s,) from 0, or -1 for none.
        time_s: (s,) seconds.
        weight: (s,) ticks.
        segment: (s,) number that changes with the thread and the episode of the phase.
        interval: (s,) of each sample.
        sample: (s,) index in the profile.
    """

    step: IntArray
    time_s: FloatArray
    weight: IntArray
    segment: IntArray
    interval: IntArray
    sample: IntArray


def driving_threads(profile: IntervalProfile, use: IntArray, step: IntArray, busiest: float = STEPS.busy) -> IntArray:
    """Return the threads that run the driver's loop: the first one if it does, else all that do.

    Workers of a parallel region have its caller's path, down from main: they help with a step. Threads with loops of
    their own do not include the program's first thread.

    Args:
        profile: the run.
        use: samples of the phase.
        step: (s,) of each sample.
        busiest: least share of the busiest thread's samples.
    """
    inside = step >= 0
    thread, weight = profile.samples.thread[use][inside], profile.samples.weight[use][inside]
    number, place = np.unique(thread, return_inverse=True)
    if not len(number):
        return number
    ticks = np.bincount(place, weights=weight)
    busy = number[ticks >= busiest * ticks.max()]
    return np.asarray(busy[:1] if busy[0] == 0 else busy, dtype=np.int64)


def sequence_of(
    profile: IntervalProfile, use: IntArray, step: IntArray, threads: IntArray, interval: IntArray
) -> SampleSequence:
    """Return the samples of some threads. use, step: see driving_threads; `use` is ascending. interval: (s,)."""
    samples = profile.samples
    selected = np.flatnonzero(np.isin(samples.thread[use], threads))
    if len(threads) > 1:
        selected = selected[np.argsort(samples.thread[use[selected]], kind="stable")]
    use, step, interval = use[selected], step[selected], interval[selected]
    new = (np.diff(samples.thread[use], prepend=-1) != 0) | (np.diff(interval, prepend=0) > 1)
    return SampleSequence(step, samples.time_s[use], samples.weight[use], np.cumsum(new), interval, use)


def pairs_of(sequence: SampleSequence, calls: IntArray, rate_hz: float, lanes: int, late: float = STEPS.late) -> Pairs:
    """Return pairs of neighbouring samples, and their distance in iterations.

    Distances are in CPU time: a thread that waits for its processor does not advance in its iteration.

    Args:
        sequence: samples.
        calls: (n,) iterations that began in each interval, of all lanes.
        rate_hz: ticks per second of CPU time.
        lanes: number of threads that run the loop.
        late: ticks by which a sample may be late without the thread having waited.
    """
    busy = np.bincount(sequence.interval, weights=sequence.weight, minlength=len(calls)) / rate_hz
    # Intervals of other phases have no data here.
    length, error = _iteration_s(busy / lanes, np.where(busy > 0, calls, 0) / lanes)
    together = (np.diff(sequence.segment) == 0) & (sequence.step[:-1] >= 0) & (sequence.step[1:] >= 0)
    at = np.flatnonzero(together)
    wall, used = np.diff(sequence.time_s)[at], sequence.weight[at + 1] / rate_hz
    # Ticks are late by up to one of the kernel's. Wall time is more exact, if the thread was running.
    ran = np.abs(wall - used) <= late / rate_hz
    interval = sequence.interval[at]
    lag, unsure = (
        np.where(ran, wall, used) / length[interval],
        np.where(ran, 0.0, late / 2 / rate_hz) / length[interval],
    )
    is_finite = np.isfinite(lag) & (length[interval] > 0)
    error = lag * error[interval] + unsure
    return Pairs(sequence.step[at][is_finite], sequence.step[at + 1][is_finite], lag[is_finite], error[is_finite])


def neighbours_of(sequence: SampleSequence, step: int) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Return the neighbours of each visit of a step: the step before, seconds to it, the step after, and seconds.

    A step is -1 where the visit has no neighbouring sample.
    """
    inside = sequence.step == step
    first = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    last = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]]))
    back, following = np.maximum(first - 1, 0), np.minimum(last + 1, len(inside) - 1)
    has_back = (back < first) & (sequence.segment[back] == sequence.segment[first])
    has_following = (following > last) & (sequence.segment[following] == sequence.segment[last])
    before = np.where(has_back, sequence.step[back], -1)
    after = np.where(has_following, sequence.step[following], -1)
    gap_before, gap_after = (
        sequence.time_s[first] - sequence.time_s[back],
        sequence.time_s[following] - sequence.time_s[last],
    )
    return before, gap_before, after, gap_after


def _iteration_s(busy_s: FloatArray, calls: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the length of an iteration near each interval, (n,), and its relative error; infinite where unknown."""
    n = len(calls)
    total, time = np.concatenate([[0.0], np.cumsum(calls)]), np.concatenate([[0.0], np.cumsum(busy_s)])
    low = np.maximum(np.searchsorted(total, total[:-1] - AROUND, side="right") - 1, 0)
    high = np.minimum(np.searchsorted(total, total[1:] + AROUND, side="left"), n)
    count = total[high] - total[low]
    length = np.where(count > 0, (time[high] - time[low]) / np.maximum(count, 1), np.inf)
    length_here = busy_s / np.maximum(calls, 1e-9)
    # Counts are whole numbers; and where the loop pauses for a while, its neighbours are not representative.
    ratio = length_here / np.where(length > 0, length, np.inf)
    drift = np.where(calls > 0, np.abs(ratio - 1) - 1 / np.maximum(calls, 1), 1.0)
    return length, 1 / np.maximum(count, 1) + np.clip(drift, 0.0, 1.0)


# The order of the steps that come once in each iteration, inferred from samples and counts.
#
# Two kinds of evidence are combined: pairs of consecutive samples, whose distance in time is compared with the length
# of an iteration; and the ends of intervals, at which some steps have been called in the current iteration and others
# have not. All orders are tried; one is the answer only if it explains the data far better than every other. m steps,
# which share an iteration; e pairs; s interval ends.


# Relative scatter of the length of iterations: each value is tried. The last one leaves no trace of the order.
SCATTER = (0.01, 0.03, 0.1, 0.3)
# Bins of an iteration, and classes of scatter that pairs are counted in.
BINS = 128
CLASSES = (0.02, 0.05, 0.1, 0.2, 0.4)
# Orders of more steps are too many to try: the smallest steps are left out.
MOST = 8


@dataclass(frozen=True)
class Pairs:
    """Pairs of consecutive samples.

    Attributes:
        first: (e,) step of the first sample.
        second: (e,) step of the second.
        lag: (e,) iterations between them.
        error: (e,) standard error of lag, from the uncertain length of an iteration.
    """

    first: IntArray
    second: IntArray
    lag: FloatArray
    error: FloatArray


def order_of(share: FloatArray, pairs: Pairs, called_since: IntArray, options: StepOptions = STEPS) -> list[int]:
    """Return steps in their order, from step 0 on; steps whose order is unknown are left out.

    Args:
        share: (m,) share of an iteration that each step takes. Step 0 is the one that `called_since` refers to.
        pairs: of these steps.
        called_since: (s, m) at ends of intervals: 1 if the step has been called since step 0, 0 if not, -1 unknown.
        options: thresholds.
    """
    steps = np.argsort(-share[1:], kind="stable")[: MOST - 1] + 1
    kept = [0, *np.sort(steps).tolist()]
    while len(kept) > 2:
        order = _best_order(
            share[kept], _of_steps(pairs, kept, len(share), options.furthest), called_since[:, kept], options
        )
        if order is not None:
            return [kept[i] for i in order]
        # Of the steps without an order, drop the smallest, which has the fewest samples.
        kept.remove(min(kept[1:], key=lambda step: (share[step], step)))
    return kept


def _of_steps(pairs: Pairs, kept: list[int], count: int, furthest: float) -> Pairs:
    """Return the pairs of some steps, renumbered from 0."""
    number = np.full(count, -1)
    number[kept] = np.arange(len(kept))
    use = (number[pairs.first] >= 0) & (number[pairs.second] >= 0) & (pairs.lag <= furthest)
    return Pairs(number[pairs.first[use]], number[pairs.second[use]], pairs.lag[use], pairs.error[use])


def _best_order(share: FloatArray, pairs: Pairs, called_since: IntArray, options: StepOptions) -> list[int] | None:
    """Return the order that is far more likely than all others, None if there is none."""
    part = share / share.sum()
    permuted = np.array(list(permutations(range(1, len(part)))))
    orders = np.concatenate([np.zeros((len(permuted), 1), dtype=np.int64), permuted], axis=1)
    ends = _from_ends(orders, part, called_since, options.misread)
    stays, changes = _from_pairs(orders, part, pairs, options.stray)
    likelihood = ends + stays + changes
    probability = np.exp(options.weight * (likelihood - likelihood.max()))
    best = int(np.argmax(probability))
    if probability[best] < options.sure * probability.sum():
        return None
    # Steps whose order varies often contradict every order.
    return orders[best].tolist() if ends[best] >= 0 and changes[best] >= 0 else None


def _from_ends(orders: IntArray, part: FloatArray, called_since: IntArray, misread: float) -> FloatArray:
    """Return the log likelihood of each order, over chance, from the steps called by the ends of intervals."""
    m = len(part)
    bit = 1 << np.arange(m)
    # Steps that have been called while the k-th one runs.
    called = np.cumsum(bit[orders], axis=1)
    out = np.zeros(len(orders))
    patterns, count = np.unique(called_since[:, 1:], axis=0, return_counts=True)
    for pattern, times in zip(patterns, count, strict=True):
        known_bits = int(bit[1:][pattern >= 0].sum())
        if known_bits:
            fits = (called & known_bits) == int(bit[1:][pattern == 1].sum())
            likely = (fits * part[orders]).sum(axis=1)
            chance = 0.5 ** int((pattern >= 0).sum())
            out += times * np.log((1 - misread) * likely / chance + misread)
    return out


def _from_pairs(orders: IntArray, part: FloatArray, pairs: Pairs, stray: float) -> FloatArray:
    """Return the log likelihood of each order, over chance, from pairs of samples: (2, orders).

    The first row is whether the step has changed between them, the second what it has changed to. For the scatter of
    iterations that explains them best.
    """
    start = np.cumsum(part[orders], axis=1) - part[orders]
    offset = np.empty_like(start)
    np.put_along_axis(offset, orders, start, axis=1)
    bins = np.rint(offset * BINS).astype(np.int64)
    counts = _count_pairs(pairs, len(part))
    out = np.zeros((2, len(SCATTER), len(orders)))
    for i, j in np.argwhere(counts.any(axis=(0, 3, 4))).tolist():
        likely = _likelihoods(counts[:, i, j], part[i], part[j], stray)[:, (bins[:, j] - bins[:, i]) % BINS]
        left = _leaving(counts[:, i, j], part[i], stray)[:, None] if i != j else likely
        out[0] += left
        out[1] += likely - left
    best: FloatArray = np.take_along_axis(out, out.sum(axis=0).argmax(axis=0)[None, None, :], axis=1)[:, 0]
    return best


def _count_pairs(pairs: Pairs, m: int) -> IntArray:
    """Count pairs of samples, shape (scatters, m, m, classes, bins): by the shares of an iteration between them."""
    classes = np.array(CLASSES)
    phase = np.floor(np.mod(pairs.lag, 1.0) * BINS).astype(np.int64) % BINS
    out = np.zeros((len(SCATTER), m, m, len(classes), BINS), dtype=np.int64)
    for counts, scatter in zip(out, SCATTER, strict=True):
        width = np.sqrt(scatter**2 * np.maximum(pairs.lag, 0.1) + pairs.error**2)
        use = width <= classes[-1]
        of_class = np.searchsorted(classes, width[use])
        np.add.at(counts, (pairs.first[use], pairs.second[use], of_class, phase[use]), 1)
    return out


def _likelihoods(counts: IntArray, first: float, second: float, stray: float) -> FloatArray:
    """Return the log likelihood of the pairs of two steps over chance, shape (scatters, bins).

    seen: (scatters, classes, bins) pairs. first, second: shares of an iteration that the steps take. Bin d of the
    answer: the second step begins d bins after the first.
    """
    at = np.arange(BINS)
    turned = (at[None, :] - at[:, None]) % BINS
    out = np.zeros((len(counts), BINS))
    for number, width in enumerate(CLASSES):
        if counts[:, number].any():
            out += counts[:, number] @ np.log(_over_chance(first, second, width, stray))[turned].T
    return out


def _leaving(counts: IntArray, first: float, stray: float) -> FloatArray:
    """Return the log likelihood over chance of pairs whose second sample has left the first's step: (scatters,)."""
    out = np.zeros(len(counts))
    for number, width in enumerate(CLASSES):
        stays = _over_chance(first, first, width, stray) * first
        out += counts[:, number] @ np.log(np.maximum(1 - stays, stray * (1 - first)) / (1 - first))
    return out


@lru_cache(maxsize=1024)
def _over_chance(first: float, second: float, width: float, stray: float) -> FloatArray:
    """Return how much more likely than by chance the second step is, by the phase of an iteration since the first."""
    shift = np.mod((np.arange(BINS) + 0.5) / BINS + 0.5, 1.0) - 0.5
    meet = np.clip(_meeting(shift, first, second, width) / first, 0.0, 1.0)
    likely: FloatArray = (1 - stray) * meet / second + stray
    return likely


def _meeting(shift: FloatArray, first: float, second: float, width: float) -> FloatArray:
    """Return the overlap of [0, first), moved by `shift` with an error of this deviation, with [0, second).

    The overlap of two uniform densities is a trapezium, made of four ramps; a ramp with an error is smooth. Everything
    repeats with period 1.
    """
    at = shift + np.array([[-1.0], [0.0], [1.0]])
    ramps = _ramp(at + first, width) - _ramp(at, width) - _ramp(at + first - second, width) + _ramp(at - second, width)
    overlap: FloatArray = ramps.sum(axis=0)
    return overlap


def _ramp(at: FloatArray, width: float) -> FloatArray:
    """Return max(at, 0) with a normal error."""
    from scipy.special import ndtr  # here: few runs have steps whose order must be inferred

    smooth: FloatArray = at * ndtr(at / width) + width * np.exp(-0.5 * (at / width) ** 2) / np.sqrt(2 * np.pi)
    return smooth


# Intervals of a phase that a loop covers, and its period, from the calls of one of its steps in each interval.
#
# n intervals, s intervals of the phase, which come in runs without a gap.


# A loop has ended if no call comes for this many times the mean distance between calls. Of calls at random times, one
# in 20 000 is so late.
LAST_CALL = 10.0
# At most this many intervals of another phase only interrupt a loop.
INTERRUPTED = 2
# Standard deviation of the distance of two calls whose intervals are known, in intervals.
BLUR = 6**-0.5


@dataclass(frozen=True)
class Spans:
    """Recurrence of a step.

    Attributes:
        covered: (s,) intervals from its first call to its last one, without long gaps.
        seconds: wall time of these.
        calls: calls in that time.
        error: relative error of the period, seconds / calls.
    """

    covered: BoolArray
    seconds: float
    calls: int
    error: float


def spans_of(counts: IntArray, members: IntArray, width_s: FloatArray, ticks: FloatArray) -> Spans:
    """Compute the spans of a step.

    Args:
        counts: (n,) its calls in each interval.
        members: (s,) the intervals of the phase, ascending.
        width_s: (n,) length of each interval, seconds.
        ticks: (n,) of the step's driver. A driver that waits, or whose processor others have, has not ended its loop.
    """
    bridged = _bridged(members)
    spans = _spans(counts[bridged], bridged, width_s[bridged], ticks[bridged])
    return replace(spans, covered=spans.covered[np.searchsorted(bridged, members)])


def _bridged(members: IntArray) -> IntArray:
    """Add intervals between two of a phase that are too few for an episode of another one."""
    gap = np.diff(members)
    short = np.flatnonzero((gap > 1) & (gap <= INTERRUPTED + 1))
    between = [np.arange(members[i] + 1, members[i + 1]) for i in short.tolist()]
    return np.sort(np.concatenate([members, *between]))


def _spans(counts: IntArray, members: IntArray, width_s: FloatArray, ticks: FloatArray) -> Spans:
    """Compute the spans of a step in some intervals, members; all other arguments, (s,), are of these."""
    segment = np.cumsum(np.diff(members, prepend=members[:1]) > 1)
    at = np.flatnonzero(counts)
    covered = np.zeros(len(members), dtype=np.bool_)
    if not len(at):
        return Spans(covered, 0.0, 0, np.inf)
    together = np.diff(segment[at]) == 0
    gap, used = np.diff(at), np.diff(np.cumsum(ticks)[at])
    calls = max(int(counts[at[1:]][together].sum()), 1)
    usual = max(float(gap[together].sum()) / calls, 1.0)
    long = (gap > LAST_CALL * usual) & (used > LAST_CALL * max(float(used[together].sum()) / calls, 1.0))
    cut = np.flatnonzero(~together | long) + 1
    elapsed = np.concatenate([[0.0], np.cumsum(width_s)])
    total = np.concatenate([[0], np.cumsum(counts)])
    # The time until the next call is due is covered as well.
    due = float(np.median(gap[together])) if together.any() else 1.0
    reach = int(np.ceil(due)) if due > 1 else 0
    slow, fast = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for run in np.split(at, cut):
        first, last = int(run[0]), int(run[-1])
        own = np.flatnonzero(segment == segment[first])
        covered[max(first - reach, int(own[0])) : min(last + max(reach, 1), int(own[-1])) + 1] = True
        # From one call to another one, each somewhere in its interval; or only the intervals between these.
        for sums, end in ((slow, last), (fast, last - 1)):
            if end > first:
                sums[0] += float(elapsed[end + 1] - elapsed[first + 1])
                sums[1] += float(total[end + 1] - total[first + 1])
                sums[2] += 1
    usual_s = float(width_s.mean())
    by_ends = _sum(slow, BLUR * usual_s / slow[0] if slow[0] else np.inf)
    by_inner = _sum(fast, BLUR / fast[1] if fast[1] else np.inf)
    seconds, calls, error = min(by_inner, by_ends, key=lambda estimate: estimate[2])
    return Spans(covered, seconds, calls, error)


def _sum(sums: list[float], error: float) -> tuple[float, int, float]:
    """Return seconds, calls and relative error of several runs of calls."""
    return sums[0], int(sums[1]), error * max(sums[2], 1.0) ** 0.5 if sums[1] else np.inf
