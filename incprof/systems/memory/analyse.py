"""What each phase allocates, frees and keeps, and whether its memory grows. a allocations, n intervals, k phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, Step
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.systems.memory.read import Allocations

# Growth is estimated from so many points at least, and tested in so many blocks at most.
LEAST_POINTS, MOST_BLOCKS = 8, 16
# A phase of so many seconds is long enough for these blocks, whatever the interval of the recording. Shorter programs
# build up their data for most of their run: of 9 phases of 0.2 to 0.6 s without a leak, 3 were called one.
ENOUGH_S = 2.0
# Bytes beyond so many standard errors are certain.
CLEARLY = 3.0
# The run ends with its last allocation if this part of what is alive there is freed later: that only tidies up.
TIDIED = 0.5
# Chance of one false verdict in a run, and the confidence of intervals.
FALSE_VERDICTS, CONFIDENCE = 0.005, 0.95
# After a warm-up growth ends: the last third of a leak grows at least so fast in relation to the time before it.
STEADY = 0.5
# Blocks outlive their call path if they are older than this share of its freed bytes became. So are at least so many
# bytes of a leak: the others may be freed as soon as blocks before them were.
USUAL_LIFETIME, LEAST_OUTLIVED = 0.95, 0.25
# What a phase builds up that ends in the first half of the run is its data: it cannot be told from a leak.
BUILD_UP = 0.5
# A phase that occurs at least so often is measured per occurrence.
LEAST_OCCURRENCES = 10
MOST_PATHS = 5
# A step with at least this share of a phase is one of its iterations.
LEAST_STEP_SHARE = 0.25
# A call path with at least this share of its bytes in one phase belongs to it.
USUAL = 0.9
# On a busy machine, a change of phase is found up to two intervals from where it was.
NEAR = 2


@dataclass(frozen=True)
class Growth:
    """How fast the memory grows that a phase has allocated.

    Attributes:
        low: bytes per second, or per occurrence of the phase; the lower end of the confidence interval.
        value: the estimate.
        high: the upper end.
        per_occurrence: whether it is per occurrence.
        p_value: probability of such a growth without a trend, before the correction for several phases.
        is_leak: whether it is significant, and not merely a warm-up.
        is_freed: whether the run frees it at its end.
        iterations: of the phase's loop in the phase, by its steps; None: unknown, or it is per occurrence.
        seconds: of the phase.
        step: the function that each iteration calls; None: unknown.
    """

    low: float
    value: float
    high: float
    per_occurrence: bool
    p_value: float
    is_leak: bool = False
    is_freed: bool = False
    iterations: float | None = None
    seconds: float = 0.0
    step: str | None = None

    def per_iteration(self) -> tuple[float, float, float] | None:
        """Return the bytes per iteration, lower end, estimate and upper end; None where there are no iterations."""
        if self.per_occurrence:
            return self.low, self.value, self.high
        if self.iterations is None:
            return None
        period_s = self.seconds / self.iterations
        return self.low * period_s, self.value * period_s, self.high * period_s


@dataclass(frozen=True)
class NodeBytes:
    """Bytes by call path: its node in the stream, the bytes, and their share."""

    node: int
    bytes: float
    share: float


@dataclass(frozen=True)
class PhaseMemory:
    """The memory of a phase; bytes are estimates.

    Attributes:
        id: of the phase.
        seconds: of the phase.
        allocated_b: bytes allocated in it.
        freed_b: bytes freed in it, whenever they were allocated.
        alive_begin_b: bytes alive at its first beginning.
        alive_end_b: bytes alive at its last end.
        peak_b: most bytes alive in it.
        peak_error_b: standard error of that, because allocations are sampled.
        growth: None: too few intervals.
        undecided_b: bytes that it keeps and that may be a leak, if it is too short to tell; else 0.
        allocating: paths with most of the allocated bytes.
        at_peak: paths with most of the bytes alive at the peak.
    """

    id: int
    seconds: float
    allocated_b: float
    freed_b: float
    alive_begin_b: float
    alive_end_b: float
    peak_b: float
    peak_error_b: float
    growth: Growth | None
    allocating: tuple[NodeBytes, ...]
    at_peak: tuple[NodeBytes, ...]
    undecided_b: float = 0.0


@dataclass(frozen=True)
class Curve:
    """Bytes alive over time: `values[i]` from `times[i]` on, 0 before."""

    times: FloatArray
    values: FloatArray

    def at(self, time_s: FloatArray) -> FloatArray:
        """Return the bytes alive at times, what happens at them included."""
        place = np.searchsorted(self.times, time_s, side="right")
        return np.concatenate([[0.0], self.values])[place]


def curve_of(allocations: Allocations, use: BoolArray | None = None) -> Curve:
    """Return the bytes alive of some of the allocations."""
    selected = np.ones(len(allocations), dtype=bool) if use is None else use
    ends = selected & np.isfinite(allocations.freed_s)
    times = np.concatenate([allocations.freed_s[ends], allocations.time_s[selected]])
    change = np.concatenate([-allocations.weight[ends], allocations.weight[selected]])
    order = np.argsort(times, kind="stable")
    # Sums of floats leave a rest where nothing is alive.
    return Curve(times[order], np.maximum(np.cumsum(change[order]), 0.0).round(3))


def labels_at(time_s: FloatArray, profile: IntervalProfile, labels: IntArray) -> IntArray:
    """Return the phases at times: those of the intervals that contain them, or end before them."""
    if not len(labels):
        return np.full(len(time_s), -1)
    place = np.searchsorted(profile.start_s, np.where(np.isfinite(time_s), time_s, 0.0), side="right") - 1
    at_times: IntArray = np.where(np.isfinite(time_s), labels[np.maximum(place, 0)], -1)
    return at_times


def memory_by_phase(allocations: Allocations, profile: IntervalProfile, result: PhaseResult) -> list[PhaseMemory]:
    """Return the memory of each phase."""
    made_in = _allocated_in(allocations, profile, result.labels)
    carried, carried_in = carried_over(allocations, made_in)
    consumed = allocations.consumed - carried
    freed_in = labels_at(allocations.freed_s, profile, result.labels)
    curve = curve_of(allocations)
    curve_in = labels_at(curve.times, profile, result.labels)
    tidied_s = tidied_from(allocations, curve)
    last = int(labels_at(allocations.end_s[-1:], profile, result.labels)[0]) if len(allocations.end_s) else -1
    phases = []
    for phase in result.present:
        intervals = np.flatnonzero(result.labels == phase.id)
        if not len(intervals):
            continue
        allocated_in = made_in == phase.id
        allocated = float(consumed[allocated_in].sum() + carried[carried_in == phase.id].sum()) + (
            float(allocations.outstanding[-1:].sum()) if last == phase.id else 0.0
        )
        freed = float(
            allocations.weight[freed_in == phase.id].sum()
            - allocations.weight[allocated_in & allocations.is_remainder].sum()
        )
        starts, ends = profile.start_s[intervals], profile.end_s[intervals]
        times = np.concatenate([starts, curve.times[curve_in == phase.id]])
        bytes_in_use = curve.at(times)
        peak_at = float(times[int(bytes_in_use.argmax())])
        at_peak = (allocations.time_s <= peak_at) & (allocations.freed_s > peak_at)
        growth = _growth_in(
            phase, curve_of(allocations, allocated_in), curve, allocations.end_s, starts, ends, tidied_s
        )
        until_s = min(float(ends[-1]), tidied_s)
        may_leak = may_be_leak(allocations, allocated_in, until_s, float(profile.end_s[-1]))
        if growth and not may_leak:
            growth = replace(growth, p_value=1.0)
        is_short = growth is None and may_leak and phase.seconds < ENOUGH_S
        phases.append(
            PhaseMemory(
                id=phase.id,
                seconds=phase.seconds,
                allocated_b=allocated,
                freed_b=max(freed, 0.0),
                alive_begin_b=float(curve.at(starts[:1])[0]),
                alive_end_b=float(curve.at(ends[-1:])[0]),
                peak_b=float(bytes_in_use.max()),
                peak_error_b=_standard_error(allocations, at_peak),
                growth=growth,
                allocating=_by_node(allocations, allocated_in & ~allocations.is_remainder),
                at_peak=_by_node(allocations, at_peak),
                undecided_b=_kept(allocations, allocated_in, until_s) if is_short else 0.0,
            )
        )
    return with_verdicts(phases)


def tidied_from(allocations: Allocations, curve: Curve) -> float:
    """Return the time of the last allocation if most of what is alive there is freed after it, else infinity."""
    if not len(allocations):
        return np.inf
    last_s = float(allocations.time_s[-1])
    alive = float(curve.at(np.array([last_s]))[0])
    return last_s if float(curve.values[-1]) <= (1.0 - TIDIED) * alive else np.inf


def _allocated_in(allocations: Allocations, profile: IntervalProfile, labels: IntArray) -> IntArray:
    """Return the phase of each allocation, (a,): that of its interval.

    In the intervals beside a change of phase, NEAR on either side, a call path that otherwise allocates in one of the
    phases there belongs to that one: the phase begins somewhere within these intervals.
    """
    phases = labels_at(allocations.time_s, profile, labels)
    if not len(allocations) or not len(labels):
        return phases
    place = np.maximum(np.searchsorted(profile.start_s, allocations.time_s, side="right") - 1, 0)
    around = labels[np.clip(place[:, None] + np.arange(-NEAR, NEAR + 1), 0, len(labels) - 1)]
    is_at_boundary = (around != labels[place][:, None]).any(axis=1)
    nodes, which = np.unique(allocations.node, return_inverse=True)
    kinds = int(labels.max()) + 2
    cells = (which * kinds + phases + 1)[~is_at_boundary]
    weights = allocations.weight[~is_at_boundary]
    bytes_in = np.bincount(cells, weights=weights, minlength=len(nodes) * kinds).reshape(-1, kinds)
    is_usual = bytes_in.max(axis=1) >= np.maximum(USUAL * bytes_in.sum(axis=1), 1)
    usual = np.where(is_usual, bytes_in.argmax(axis=1) - 1, -1)[which]
    is_near = (around == usual[:, None]).any(axis=1)
    return np.where(is_at_boundary & is_near & (usual >= 0), usual, phases)


def carried_over(allocations: Allocations, made_in: IntArray) -> tuple[FloatArray, IntArray]:
    """Return (a,) the bytes of each allocation's `consumed` that belong to the phase before its own, and that phase.

    The first allocation that a thread records in a phase has consumed what the thread had left of the phase before,
    and what it allocated in this one: either is as likely to be the larger, so each gets half.
    """
    by_thread = np.lexsort((allocations.time_s, allocations.thread))
    previous = np.full(len(allocations), -1)
    is_same_thread = np.diff(allocations.thread[by_thread]) == 0
    previous[by_thread[1:][is_same_thread]] = made_in[by_thread[:-1][is_same_thread]]
    is_change = (previous >= 0) & (previous != made_in)
    others = np.maximum(allocations.consumed - allocations.size, 0.0)
    return np.where(is_change, others / 2, 0.0), previous


def may_be_leak(allocations: Allocations, use: BoolArray, until_s: float, run_s: float) -> bool:
    """Return whether what a phase keeps can be told from its data, and from memory that is freed all at once.

    Args:
        allocations: all of them.
        use: (a,) those of the phase.
        until_s: the phase's end.
        run_s: the run's end.
    """
    return until_s >= BUILD_UP * run_s and outlived(allocations, use, until_s) >= LEAST_OUTLIVED


def outlived(allocations: Allocations, use: BoolArray, until_s: float) -> float:
    """Return how much of the bytes alive of some allocations is older than freed blocks of its call path became.

    Memory that is freed all at once from time to time grows meanwhile, and a phase may see no more of it than that.

    Args:
        allocations: all of them.
        use: (a,) which of them; the freed blocks of the same paths need not be among them.
        until_s: the time of the question; later releases are unknown.
    """
    is_made = allocations.time_s <= until_s
    is_freed = is_made & (allocations.freed_s <= until_s)
    is_alive = use & is_made & ~is_freed & ~allocations.is_remainder
    alive_b = float(allocations.weight[is_alive].sum())
    if alive_b <= 0:
        return 1.0
    nodes, which = np.unique(allocations.node, return_inverse=True)
    lifetimes = np.where(is_freed, allocations.freed_s - allocations.time_s, 0.0)
    order = np.lexsort((lifetimes, which))
    freed_b = np.cumsum(np.where(is_freed, allocations.weight, 0.0)[order])
    ends = np.cumsum(np.bincount(which, minlength=len(nodes)))
    before = np.concatenate([[0.0], freed_b[ends[:-1] - 1]])
    place = np.searchsorted(freed_b, before + USUAL_LIFETIME * (freed_b[ends - 1] - before))
    usual_s = np.where(freed_b[ends - 1] > before, lifetimes[order][np.minimum(place, ends - 1)], 0.0)
    is_older = is_alive & (until_s - allocations.time_s > usual_s[which])
    return float(allocations.weight[is_older].sum()) / alive_b


def _standard_error(allocations: Allocations, use: BoolArray) -> float:
    """Return the standard error of the bytes of some allocations, because allocations are sampled."""
    passed = np.exp(
        -np.divide(
            allocations.size, allocations.mean, out=np.full(len(allocations), np.inf), where=allocations.mean > 0
        )
    )
    variance = allocations.weight**2 * passed
    # All of a calibrated group together have no error.
    groups = int(allocations.group.max(initial=-1)) + 2
    whole = np.bincount(allocations.group + 1, weights=allocations.weight, minlength=groups)
    part = np.bincount(allocations.group[use] + 1, weights=allocations.weight[use], minlength=groups)
    share = np.divide(part, whole, out=np.zeros(groups), where=whole > 0)
    share[0] = 0.0
    return float(np.sqrt((variance * (1 - share[allocations.group + 1]))[use].sum()))


def _kept(allocations: Allocations, use: BoolArray, until_s: float) -> float:
    """Return the bytes of some allocations that are alive at a time; 0 if these are few samples."""
    is_alive = use & (allocations.freed_s > until_s)
    kept_b = float(allocations.weight[is_alive].sum())
    return kept_b if kept_b > CLEARLY * _standard_error(allocations, is_alive) else 0.0


def _by_node(allocations: Allocations, use: BoolArray) -> tuple[NodeBytes, ...]:
    """Return the call paths with most bytes."""
    nodes, which = np.unique(allocations.node[use], return_inverse=True)
    sums = np.bincount(which, weights=allocations.weight[use], minlength=len(nodes))
    total = float(sums.sum())
    order = np.argsort(-sums, kind="stable")[:MOST_PATHS]
    return tuple(NodeBytes(int(nodes[at]), float(sums[at]), float(sums[at]) / total) for at in order if sums[at] > 0)


def iterations_of(phase: Phase) -> tuple[float, Step] | None:
    """Return how often a phase's loop iterates in it, and the step that shows it; None where that is unknown.

    Calls that were counted give the number exactly; else it follows from the duration of an iteration.
    """
    steps = [step for step in phase.steps if step.share >= LEAST_STEP_SHARE]
    for step in sorted(steps, key=lambda each: -each.share):
        calls = step.per_iteration
        if calls is None and step.times is not None and step.every is not None:
            calls = step.times / step.every
        iterations = 0.0
        if step.estimated is None and step.calls > 0 and step.driver is not None:
            iterations = step.calls / (calls or 1.0)
        elif step.period_s is not None and step.period_s > 0:
            iterations = phase.seconds / step.period_s
        if iterations >= LEAST_OCCURRENCES:
            return iterations, step
    return None


def _growth_in(
    phase: Phase, own: Curve, total: Curve, recorded_s: FloatArray, start_s: FloatArray, end_s: FloatArray,
    until_s: float = np.inf,
) -> Growth | None:  # fmt: skip
    """Return the growth of a phase's memory over the ends of its occurrences or, if these are few, its time.

    Args:
        phase: the phase.
        own: bytes alive that it has allocated.
        total: bytes alive of all phases. If they do not grow as well, the phase merely replaces what others allocated.
        recorded_s: (r,) ends of the intervals that were recorded; those of few samples are pooled for the phases.
        start_s: (n,) starts of the phase's intervals.
        end_s: (n,) their ends.
        until_s: what is freed from then on is no sign of the phase.
    """
    is_freed = bool(end_s[-1] > until_s)
    begins = start_s < until_s
    start_s, end_s = start_s[begins], np.minimum(end_s[begins], until_s)
    if not len(start_s):
        return None
    is_last = np.append(start_s[1:] > end_s[:-1] + 1e-9, True)
    if is_last.sum() >= LEAST_OCCURRENCES:
        number, times = np.arange(float(is_last.sum())), end_s[is_last]
        growth = _of_both(number, own.at(times), total.at(times), per_occurrence=True)
        return growth and replace(growth, is_freed=is_freed)
    inside = np.maximum(np.searchsorted(start_s, recorded_s) - 1, 0)
    times = recorded_s[(recorded_s > start_s[inside]) & (recorded_s < end_s[inside])]
    times = np.unique(np.concatenate([times, end_s]))
    before_s = np.concatenate([[0.0], np.cumsum(end_s - start_s)[:-1]])
    whole_s = float((end_s - start_s).sum())
    if len(times) <= MOST_BLOCKS and whole_s >= ENOUGH_S:
        even_s = np.linspace(0.0, whole_s, MOST_BLOCKS + 2)[1:-1]
        inside = np.searchsorted(before_s, even_s) - 1
        times = np.unique(np.concatenate([start_s[inside] + even_s - before_s[inside], end_s[-1:]]))
    inside = np.searchsorted(start_s, times) - 1
    grown_before = np.concatenate([[0.0], np.cumsum(total.at(end_s) - total.at(start_s))[:-1]])
    place = before_s[inside] + times - start_s[inside]
    grown = grown_before[inside] + total.at(times) - total.at(start_s)[inside]
    growth = _of_both(place, own.at(times), grown, per_occurrence=False)
    loop = iterations_of(phase)
    growth = growth and replace(growth, is_freed=is_freed)
    if growth is None or loop is None:
        return growth
    return replace(growth, iterations=loop[0], seconds=whole_s, step=loop[1].function.name)


def _of_both(place: FloatArray, own: FloatArray, total: FloatArray, *, per_occurrence: bool) -> Growth | None:
    """Return the growth of a phase's memory, as significant as that of all memory at most."""
    growth = growth_of(place, own, per_occurrence=per_occurrence)
    of_all = growth_of(place, total, per_occurrence=per_occurrence, may_slow_down=True)
    return growth and of_all and replace(growth, p_value=max(growth.p_value, of_all.p_value))


def growth_of(
    place: FloatArray, bytes_in_use: FloatArray, *, per_occurrence: bool, may_slow_down: bool = False
) -> Growth | None:
    """Return the growth of bytes alive; None for too few points.

    The growth of each of several blocks is one observation, so that points that depend on each other, as those of a
    random walk do, count for no more than they tell. The first block may be a warm-up and is left out.

    Args:
        place: (m,) ascending: seconds of the phase, or the number of the occurrence.
        bytes_in_use: (m,) bytes.
        per_occurrence: what `place` is.
        may_slow_down: whether a growth is significant that ends after a warm-up.
    """
    if len(place) < LEAST_POINTS:
        return None
    blocks = min(MOST_BLOCKS, len(place) - 1)
    edges = np.linspace(0, len(place) - 1, blocks + 1).round().astype(int)[1:]
    grown, lengths = np.diff(bytes_in_use[edges]), np.diff(place[edges])
    rates = grown / np.maximum(lengths, 1e-9)
    value, error = float(np.average(rates)), float(rates.std(ddof=1)) / np.sqrt(len(rates))
    from scipy import special  # here: few recordings have memory

    reach = float(special.stdtrit(len(rates) - 1, 0.5 + CONFIDENCE / 2)) * error
    # Without any scatter, the sign alone decides.
    p_value = float(special.stdtr(len(rates) - 1, -value / error)) if error > 0 else float(value <= 0)
    third = max(len(rates) // 3, 2)
    before, after = rates[:-third], rates[-third:]
    is_steady = may_slow_down or bool(
        (rates > 0).mean() >= 0.75 and after.mean() >= STEADY * max(float(before.mean()), 0.0)
    )
    return Growth(value - reach, value, value + reach, per_occurrence, p_value if is_steady else 1.0)


def with_verdicts(phases: Sequence[PhaseMemory]) -> list[PhaseMemory]:
    """Return the phases with the significant growths marked (Holm's correction for several phases)."""
    tested = sorted((each.growth.p_value, each.id) for each in phases if each.growth is not None)
    leaks = set[int]()
    for at, (p_value, phase) in enumerate(tested):
        if p_value > FALSE_VERDICTS / (len(tested) - at):
            break
        leaks.add(phase)
    return [
        each if each.id not in leaks or each.growth is None
        else replace(each, growth=replace(each.growth, is_leak=True))
        for each in phases
    ]  # fmt: skip
