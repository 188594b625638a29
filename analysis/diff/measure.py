"""A run measured for comparison: seconds and calls of functions under common numbers, and its phases.

n intervals, m functions of all compared runs, k phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.compare.match_names import same_functions
from incprof.analysis.features import Features, build_features
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.segment_sums import episodes_of
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.time_use import tree_ticks

# A program that wants a CPU gets its share of it, within tens of milliseconds from the scheduler and within its period
# of 100 ms from a quota. A program that had less than IDLE of a CPU for STILL_S did not want more: competition that
# leaves it no more would need a hundred programs per CPU.
IDLE, STILL_S = 0.01, 0.5


@dataclass(frozen=True)
class Measured:
    """A run with phases.

    Attributes:
        profile: n intervals.
        result: k phases.
        place: (f,) common number of each of its own functions.
        clock_s: (n,) wall or CPU seconds, whichever phases are compared by.
        self_s: sparse (n, m), self time, seconds.
        calls: sparse (n, m).
        stack_s: sparse (n, m), CPU seconds with a function on the stack; None without call paths.
        place_s: sparse (n, m), CPU seconds by the innermost function on the stack that belongs to the program and that
            all runs have; None where a run is without call paths.
        members: share of each interval in each phase.
        tick_s: CPU seconds per sample.
        features: that the phases were found from.
    """

    profile: IntervalProfile
    result: PhaseResult
    place: IntArray
    clock_s: FloatArray
    self_s: csr_array
    calls: csr_array
    stack_s: csr_array | None
    place_s: csr_array | None
    members: Membership
    tick_s: float
    features: Features

    @property
    def duration_s(self) -> float:
        """Time of all intervals, seconds."""
        return float(self.clock_s.sum())

    @property
    def time_s(self) -> csr_array:
        """Inclusive time where available, else self time: sparse (n, m)."""
        return self.self_s if self.stack_s is None else self.stack_s

    def by_cpu(self) -> Measured:
        """Return the run measured by CPU time; by wall time in intervals in which the program waits by itself."""
        clock_s = np.where(self.stands_still, self.wall_s, cpu_seconds(self.profile))
        return replace(self, clock_s=clock_s, members=share_borders(self.features, self.result, clock_s))

    def by_wall(self) -> Measured:
        """Return the run measured by wall time."""
        return replace(self, clock_s=self.wall_s, members=share_borders(self.features, self.result, self.wall_s))

    @property
    def wall_s(self) -> FloatArray:
        """Length of each interval, seconds, (n,)."""
        return np.maximum(self.profile.end_s - self.profile.start_s, 0.0)

    @property
    def off_cpu_s(self) -> FloatArray:
        """Wall time in which no thread can have been on a CPU, seconds, (n,)."""
        return np.maximum(self.wall_s - cpu_seconds(self.profile), 0.0)

    @property
    def stands_still(self) -> BoolArray:
        """Whether the program waits by itself in each interval, (n,).

        Competing programs cannot keep it off the CPU for so long.
        """
        idle = cpu_seconds(self.profile) < IDLE * self.wall_s
        segment = np.cumsum(np.diff(idle, prepend=idle[:1]) != 0)
        found: BoolArray = idle & (np.bincount(segment, weights=self.wall_s)[segment] >= STILL_S)
        return found

    def intervals(self, phases: Sequence[int]) -> IntArray:
        """Return the intervals of some phases, ascending."""
        return np.flatnonzero(np.isin(self.result.labels, np.array(phases, dtype=np.int64)))

    def column(self, table: csr_array, function: int) -> FloatArray:
        """Return a column of one of the tables, (n,)."""
        return np.asarray(table[:, [function]].toarray(), dtype=np.float64).ravel()

    def weight(self, phases: Sequence[int]) -> FloatArray:
        """Return the share of each interval in some phases, (n,); -1 stands for no phase."""
        total: FloatArray = self.members.weight[:, list(phases)].sum(axis=1)
        return total

    def within(self, values: FloatArray, phases: Sequence[int]) -> FloatArray:
        """Return the part of a function's time or calls that belongs to some phases, (n,).

        An interval shared by several phases is divided in proportion to the function's usual amount in each of them.
        """
        weight = np.maximum(self.members.weight, 0.0)
        pure, k = self.result.labels, self.result.k
        inside = np.bincount(pure + 1, weights=values, minlength=k + 1)
        often = np.bincount(pure + 1, minlength=k + 1)
        usual = np.append(inside[1:], inside[0]) / np.maximum(np.append(often[1:], often[0]), 1)
        shared = np.flatnonzero(weight.max(axis=1) < 1.0)
        part = weight[shared] * usual
        nowhere = part.sum(axis=1) <= 0
        part[nowhere] = weight[shared][nowhere]
        part /= np.maximum(part.sum(axis=1), 1e-300)[:, None]
        mine: FloatArray = values * weight[:, list(phases)].sum(axis=1)
        mine[shared] = values[shared] * part[:, list(phases)].sum(axis=1)
        return mine


def measure(
    profiles: Sequence[IntervalProfile], results: Sequence[PhaseResult], *, cpu: bool = False
) -> tuple[tuple[tuple[str, str], ...], list[Measured]]:
    """Return the names of m functions, as from same_functions, and the runs.

    cpu: whether phases are measured by CPU time, not wall time.
    """
    names, places = same_functions(profiles)
    found = [_measured(*run, len(names), cpu) for run in zip(profiles, results, places, strict=True)]
    stacks = [run.stack_s for run in found if run.stack_s is not None]
    if len(stacks) == len(found):
        common = np.all([np.asarray(stack.sum(axis=0)).ravel() > 0 for stack in stacks], axis=0)
        found = [replace(run, place_s=_place_seconds(run, common)) for run in found]
    return names, found


def _measured(profile: IntervalProfile, result: PhaseResult, place: IntArray, m: int, cpu: bool) -> Measured:
    """Measure one run."""
    f = len(place)
    move = csr_array((np.ones(f), (np.arange(f), place)), shape=(f, m))
    clock_s = cpu_seconds(profile) if cpu else np.maximum(profile.end_s - profile.start_s, 0.0)
    features = build_features(profile, share=True)
    return Measured(
        profile=profile,
        result=result,
        place=place,
        clock_s=clock_s,
        self_s=csr_array(csr_array(profile.self_s) @ move),
        calls=csr_array(csr_array(profile.calls, dtype=np.float64) @ move),
        stack_s=_stack_seconds(profile, move),
        place_s=None,
        members=share_borders(features, result, clock_s),
        tick_s=1.0 / profile.metadata.rate_hz,
        features=features,
    )


def cpu_seconds(profile: IntervalProfile) -> FloatArray:
    """Return the CPU time of each interval without the profiler's own, (n,): from counters, else from samples."""
    counters = profile.counters
    if counters.cpu_s.sum() > 0:
        return np.maximum(counters.cpu_s - counters.own_s, 0.0)
    return np.asarray(profile.self_s.sum(axis=1), dtype=np.float64).ravel()


def _stack_seconds(profile: IntervalProfile, move: csr_array) -> csr_array | None:
    """Return the CPU time with each function on the stack, sparse (n, m); None if paths cover less than half."""
    if not len(profile.samples.time_s):
        return None
    chains, _ = profile.tree.without_recursion()
    ticks = tree_ticks(profile, chains)
    covered = float(ticks[:, np.flatnonzero(chains.function >= 0)].sum())
    if 2.0 * covered < float(profile.self_s.sum()) * profile.metadata.rate_hz:
        return None
    named = np.flatnonzero(chains.function >= 0)
    shape = (len(chains.parent), move.shape[0])
    own = csr_array((np.ones(len(named)), (named, chains.function[named])), shape=shape)
    above = csr_array(chains.ancestors() @ csr_array(own @ move))
    above.data = np.minimum(above.data, 1.0)
    return csr_array(ticks @ above) / profile.metadata.rate_hz


def _place_seconds(run: Measured, common: BoolArray) -> csr_array:
    """Return the CPU time by the innermost function on the stack that is the program's own and common, sparse (n, m).

    It is the place of a phase in the program, whichever functions of libraries it calls, or new versions of its own.
    """
    profile = run.profile
    other = [function.is_library or not common[at] for function, at in zip(profile.functions, run.place, strict=True)]
    tree = profile.tree.without(other)
    nodes = np.flatnonzero(tree.function >= 0)
    nodes = nodes[~np.array(other, dtype=np.bool_)[tree.function[nodes]]]
    shape = (len(tree.parent), len(common))
    own = csr_array((np.ones(len(nodes)), (nodes, run.place[tree.function[nodes]])), shape=shape)
    return csr_array(tree_ticks(profile, tree) @ own) / profile.metadata.rate_hz


# Length of phases to fractions of an interval: an interval in which the phase changes is shared between both phases.
#
# With whole intervals, the length of a phase of ten of them is uncertain by a tenth or more. The composition of the
# interval at a change shows how much of it belongs to each phase. n intervals, k phases.


# Episodes of this length or more are compared with the interval at their end.
CORE = 3
# How far a share may lie outside 0..1 by chance, in standard errors. A smaller value would bias all boundaries.
BEYOND = 3.0
UNIFORM = 1.0 / 12.0


@dataclass(frozen=True)
class Membership:
    """Membership of intervals in phases.

    Attributes:
        weight: (n, k + 1) share of each interval in each phase, the last column for none; rows sum to 1.
        variance: (k,) of the seconds in each phase, s^2.
    """

    weight: FloatArray
    variance: FloatArray


def share_borders(features: Features, result: PhaseResult, length: FloatArray) -> Membership:
    """Share the intervals at changes between the phases before and after.

    Args:
        features: composition of the intervals.
        result: k phases of the same profile.
        length: (n,) seconds to be shared.
    """
    labels, k, n = result.labels, result.k, len(result.labels)
    weight, variance = np.zeros((n, k + 1)), np.zeros(k)
    weight[np.arange(n), np.where(labels >= 0, labels, k)] = 1.0
    centers = [_center(features, labels == phase) for phase in range(k)]
    visits = episodes_of(labels)
    for at in range(len(visits.group) - 1):
        one, other = int(visits.group[at]), int(visits.group[at + 1])
        gap = np.arange(visits.end[at], visits.first[at + 1])
        # A part that is too short for a phase is none of its neighbours.
        if one == other or (result.clusters[gap] >= 0).any():
            continue
        last, first = int(visits.end[at]) - 1, int(visits.first[at + 1])
        ends = [end for end, visit in ((last, at), (first, at + 1)) if visits.size[visit] >= CORE]
        window = np.sort(np.concatenate([gap, np.array(ends, dtype=np.int64)])).astype(np.int64)
        part, error = _part(features, window, centers[one], centers[other], result.dispersion)
        # Where the share is unknown, an unassigned interval is shared evenly, and any other stays in its phase.
        known = np.isfinite(part)
        part = np.where(known, part, np.where(labels[window] < 0, 0.5, labels[window] == other))
        weight[window] = 0.0
        weight[window, one] += 1.0 - part
        weight[window, other] += part
        border = float((length[window] ** 2 * np.where(known, error**2, UNIFORM)).sum())
        if not len(window):
            border = float(UNIFORM * length[first] ** 2)
        variance[[one, other]] += border
    return Membership(weight, variance)


def _center(features: Features, members: np.ndarray) -> FloatArray | None:
    """Return the mean composition of a phase; None for one that mostly waits."""
    busy = members & ~features.idle
    if busy.sum() * 2 < members.sum() or not busy.any():
        return None
    center: FloatArray = features.x[busy].mean(axis=0)
    return center


def _part(
    features: Features, window: IntArray, start: FloatArray | None, end: FloatArray | None, dispersion: float
) -> tuple[FloatArray, FloatArray]:
    """Return the share of each interval in the phase after, and its standard error; NaN where unknown."""
    unknown = np.full(len(window), np.nan)
    if start is None or end is None:
        return unknown, unknown
    line = end - start
    width = float(line @ line)
    ticks = features.ticks[window]
    if width <= 0:
        return unknown, unknown
    x = features.x[window]
    part = (x - start) @ line / width
    # Error of a mixture at that place, so that a pure interval does not appear free of noise by chance.
    at = np.clip(part, 0.0, 1.0)[:, None]
    mixed = (1 - at) * start + at * end
    spread = np.clip(mixed @ line**2 - (mixed @ line) ** 2, 0.0, None) / width**2
    error = np.sqrt(dispersion * spread / np.maximum(ticks, 1.0))
    part = np.clip(part, -BEYOND * error, 1.0 + BEYOND * error)
    seen = (ticks > 0) & ~features.idle[window]
    return np.where(seen, part, np.nan), error


# Variation from run to run of the same program, which one run of each side cannot show.
#
# Measured on two cores beside 0 to 3 and more busy programs, in 18 runs of loops that only compute and 8 of a program
# that chases pointers through 32 MB. In runs that got 0.2 to 0.6 of a CPU, the CPU time of the loops scattered by 0.9
# to 1.4 %, that of the other program by 5 %, and that of its pointer-chasing function by 7 %: caches and clock rates
# are shared as well.


# Standard deviation of a run that had its CPUs to itself: the constant that diff has always assumed.
ALONE = 0.01
# Added in full for a run that never got a CPU.
SHARED = 0.05


def assumed_noise(runs: Sequence[Measured]) -> float:
    """Return the relative standard deviation from run to run: the fewer of its CPUs a run got, the larger."""
    return ALONE + SHARED * (1.0 - min(cpus_got(run) for run in runs))


def cpus_got(run: Measured) -> float:
    """Return the share of time its threads were on a CPU, outside of phases of waiting, 0..1; 1 if unknown."""
    waits = [phase.id for phase in run.result.phases if phase.off_cpu]
    use = ~np.isin(run.result.labels, waits)
    counters = run.profile.counters
    whole = float(counters.thread_s[use].sum()) if len(counters.thread_s) else 0.0
    return float(np.clip(1.0 - run.profile.off_cpu_s[use].sum() / whole, 0.0, 1.0)) if whole > 0 else 1.0
