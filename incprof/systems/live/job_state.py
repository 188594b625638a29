"""The state of a running job: its intervals' profiles, and the phases of the last fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.features import WORKS, shares
from incprof.analysis.phase_result import Phase
from incprof.model import PROFILER, FloatArray, Function, Inlined, IntArray, IntervalProfile, Metadata


@dataclass(frozen=True)
class LiveFunction:
    """A function, and its shares of the recent time and of the whole run (0..1)."""

    function: Function
    share: float
    run_share: float


@dataclass(frozen=True)
class LivePhase:
    """A phase with a stable number.

    Attributes:
        id: Stable number.
        intervals: Number of its intervals in the lead, over the whole run.
        description: Result of the last fit that contained it; its id and intervals are those of that fit.
    """

    id: int
    intervals: int
    description: Phase


@dataclass(frozen=True)
class LiveProcess:
    """State of a process.

    Attributes:
        rank: Rank of the process.
        pid: Process id; None if unknown.
        primary: Whether it is the rank's main process, not a child.
        metadata: Metadata of the recording.
        intervals: Number of intervals.
        elapsed_s: End of the last interval, in seconds since the start.
        label: Phase of the last interval, or BETWEEN or NEW.
        since_s: Duration of the current label, in seconds.
        labels: (m,) labels of the run so far, thinned out if it is long.
        cpus: CPU seconds per second in the last interval.
        behind_s: Delay of its data relative to the most recent rank's, in seconds.
        samples: Number of samples.
        lost: Number of lost samples.
        overhead_pct: Increase of CPU time by recording, in percent; None if not measured.
        own_s: The same in seconds if the process has hardly used a processor, else 0.
        ended: Whether the process has ended.
        killed: Whether it left without an end record.
        step: The phase's step with the greatest share of the last interval, and that share.
        functions: Functions with most recent self time.
        now_s: Length of the recent time that `functions` covers, in seconds.
        wait: What the main thread waits for, if the process hardly uses a processor: the library function called, if
            known, and the program's function that calls it.
    """

    rank: int
    pid: int | None
    primary: bool
    metadata: Metadata
    intervals: int
    elapsed_s: float
    label: int
    since_s: float
    labels: IntArray
    cpus: float
    behind_s: float
    samples: int
    lost: int
    overhead_pct: float | None
    own_s: float
    ended: bool
    killed: bool
    step: tuple[Function, float] | None
    functions: tuple[LiveFunction, ...]
    now_s: float
    wait: tuple[Function, ...] = ()


@dataclass(frozen=True)
class LiveView:
    """State of the job.

    Attributes:
        processes: By rank, children last.
        lead: Index of the process that phases are fitted to.
        phases: The phases.
        fitted: Number of intervals at the last fit, 0 before the first.
    """

    processes: tuple[LiveProcess, ...]
    lead: int
    phases: tuple[LivePhase, ...]
    fitted: int

    @property
    def front(self) -> LiveProcess:
        """The lead, which phases are fitted to."""
        return self.processes[self.lead]


# The phases of a running job according to the last fit, and the assignment of new intervals to them.


# Labels of intervals in no phase: transitions or too short, and unlike anything before.
BETWEEN, NEW = -1, -2
# An interval fits a phase if its distance from the center is not much greater than that of nearly all its intervals,
WIDTH, MEMBERS = 1.5, 0.95
# or than explained by counting samples, or is very small.
NOISE, CLOSE = 3.0, 0.1
# An interval is a transition if it is a mixture of two phases, with at least this share of each.
MIXED = 0.1


@dataclass(frozen=True)
class PhaseModel:
    """k phases.

    Attributes:
        ids: (k,) numbers shown to the user.
        centers: (k, d) mean shares, by the columns of a Mix.
        reach: (k,) radius of each phase around its center.
        scatter: (k,) expected squared distance for one sample.
        off_cpu: Id of the phase in which the program waits.
        yardstick: Ticks of a usual interval.
    """

    ids: IntArray
    centers: FloatArray
    reach: FloatArray
    scatter: FloatArray
    off_cpu: int | None
    yardstick: float

    def label(self, mix: Mix) -> int:
        """Return the id of an interval's phase, BETWEEN or NEW."""
        if mix.ticks <= 0 or mix.ticks < WORKS * self.yardstick:
            return BETWEEN if self.off_cpu is None else self.off_cpu
        if not len(self.ids):
            return NEW
        in_range = mix.columns < self.centers.shape[1]
        dots = self.centers[:, mix.columns[in_range]] @ mix.shares[in_range]
        squares = np.einsum("kd,kd->k", self.centers, self.centers)
        distance = np.maximum(float(mix.shares @ mix.shares) - 2 * dots + squares, 0.0)
        limit = self._limit(mix.ticks)
        nearest = int(np.argmin(distance))
        if distance[nearest] <= limit[nearest]:
            return int(self.ids[nearest])
        return BETWEEN if self._mixed(nearest, distance, dots, limit) else NEW

    def _limit(self, ticks: float) -> FloatArray:
        """Return the greatest squared distance at which an interval fits each phase, (k,)."""
        noise = NOISE**2 * self.scatter / max(ticks, 1.0)
        limit: FloatArray = np.maximum(np.maximum(noise, (WIDTH * self.reach) ** 2), CLOSE**2)
        return limit

    def _mixed(self, a: int, distance: FloatArray, dots: FloatArray, limit: FloatArray) -> bool:
        """Return whether an interval is a mixture of its nearest phase and another one."""
        gram = self.centers @ self.centers[a]
        squared_distance = np.einsum("kd,kd->k", self.centers, self.centers) + gram[a] - 2 * gram
        position = np.divide(
            dots - dots[a] - gram + gram[a],
            squared_distance,
            out=np.zeros_like(squared_distance),
            where=squared_distance > 0,
        )
        off = distance[a] - position**2 * squared_distance
        return bool(((position >= MIXED) & (position <= 1 - MIXED) & (off <= limit[a])).any())


NOTHING_KNOWN = PhaseModel(
    np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros(0), np.zeros(0), None, 0.0
)  # fmt: skip


def fit_model(
    rows: Sequence[Mix], labels: IntArray, off_cpu: int | None, expected_ticks: float, dispersion: float
) -> PhaseModel:
    """Return the model of labelled intervals.

    labels: (n,) ids, negative for none. expected_ticks: of an interval of one busy thread. dispersion: scatter of the
    intervals relative to that of tick counting; 1: no more than that.
    """
    ids = np.array([i for i in np.unique(labels).tolist() if i >= 0 and i != off_cpu], dtype=np.int64)
    width = max((int(row.columns.max(initial=-1)) + 1 for row in rows), default=0)
    centers, reach = np.zeros((len(ids), width)), np.zeros(len(ids))
    for place, number in enumerate(ids.tolist()):
        members = [rows[i] for i in np.flatnonzero(labels == number).tolist() if rows[i].ticks > 0]
        for row in members:
            centers[place, row.columns] += row.shares / len(members)
        reach[place] = _reach(centers[place], members)
    scatter = max(dispersion, 1.0) * (centers * (1 - centers)).sum(axis=1)
    busy = np.array([row.ticks for row in rows if row.ticks > 0])
    yardstick = min(expected_ticks, float(np.median(busy))) if len(busy) else 0.0
    return PhaseModel(ids, centers, reach, scatter, off_cpu, yardstick)


def with_retired(model: PhaseModel, before: PhaseModel, recent: frozenset[int]) -> PhaseModel:
    """Return the model with the phases of an earlier one that did not occur recently, but may recur.

    recent: ids that intervals still have.
    """
    retired = [i for i, number in enumerate(before.ids.tolist()) if number in recent and number not in model.ids]
    width = max(model.centers.shape[1], before.centers.shape[1])
    centers = np.concatenate([_widened(model.centers, width), _widened(before.centers[retired], width)])
    off_cpu = before.off_cpu if model.off_cpu is None and before.off_cpu in recent else model.off_cpu
    return PhaseModel(
        np.concatenate([model.ids, before.ids[retired]]),
        centers,
        np.concatenate([model.reach, before.reach[retired]]),
        np.concatenate([model.scatter, before.scatter[retired]]),
        off_cpu,
        model.yardstick,
    )


def _reach(center: FloatArray, members: Sequence[Mix]) -> float:
    """Return the radius around the center that contains nearly all members."""
    if not members:
        return 0.0
    square = float(center @ center)
    distance = [float(r.shares @ r.shares) - 2 * float(center[r.columns] @ r.shares) + square for r in members]
    return float(np.sqrt(max(np.quantile(distance, MEMBERS), 0.0)))


def _widened(centers: FloatArray, width: int) -> FloatArray:
    """Return the centers, padded with zeros to `width` columns."""
    return np.pad(centers, ((0, 0), (0, width - centers.shape[1])))


# Profiles of a running job's intervals, with function numbers that are stable while the job runs.


def inclusive_shares(profile: IntervalProfile) -> csr_array:
    """Return the share of each interval's samples that have a function on their stack: sparse (n, f).

    Resolved inlined functions count as on the stack.
    """
    n, f, tree = profile.n_intervals, len(profile.functions), profile.paths
    use = profile.samples.kind != PROFILER
    p = len(tree.parent)
    key = profile.interval_of_samples()[use] * p + profile.samples.node[use]
    distinct, place = np.unique(key, return_inverse=True)
    ticks = np.bincount(place, weights=profile.samples.weight[use], minlength=len(distinct))
    total = np.bincount(distinct // p, weights=ticks, minlength=n)
    node, pair = distinct % p, np.arange(len(distinct))
    keys = [np.empty(0, dtype=np.int64)]
    while len(node):
        function = tree.function[node].astype(np.int64)
        keys.append((pair * f + function)[function >= 0])
        if profile.inlined is not None:
            keys.append(_inlined(profile.inlined, node, pair, f))
        up = node > 0
        pair, node = pair[up], tree.parent[node[up]]
    # A recursive function counts once for each stack.
    once = np.unique(np.concatenate(keys))
    pair, function = (once // f, once % f) if f else (once, once)
    interval = distinct[pair] // p
    matrix = csr_array((ticks[pair] / total[interval], (interval, function)), shape=(n, f))
    matrix.sum_duplicates()
    return matrix


def _inlined(inlined: Inlined, node: IntArray, pair: IntArray, f: int) -> IntArray:
    """Return pair * f + function for each function inlined at the node of each pair."""
    many = np.diff(inlined.first)[node]
    begins = np.cumsum(many) - many
    place = np.arange(many.sum()) - np.repeat(begins - inlined.first[node], many)
    keys: IntArray = np.repeat(pair, many) * f + inlined.function[place]
    return keys


class FunctionNumbers:
    """Numbers functions from 0 in order of first occurrence, in any process."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self._numbers: dict[tuple[str, str, int], int] = {}

    def of(self, functions: Sequence[Function]) -> IntArray:
        """Return the number of each function, shape (f,); new ones get the next."""
        numbers = []
        for function in functions:
            key = (function.module, function.mangled, function.address)
            if key not in self._numbers:
                self._numbers[key] = len(self.functions)
                self.functions.append(function)
            numbers.append(self._numbers[key])
        return np.array(numbers, dtype=np.int64)


@dataclass(frozen=True)
class Mix:
    """Profile of one interval.

    Attributes:
        start_s: Start, in seconds since the start of the process.
        end_s: End, in seconds since the start of the process.
        ticks: Total weight of its samples.
        self_s: Total self time, in seconds.
        columns: (m,) 2 i for the inclusive time of function i, 2 i + 1 for its self time.
        shares: (m,) share of the interval for each column.
    """

    start_s: float
    end_s: float
    ticks: float
    self_s: float
    columns: IntArray
    shares: FloatArray

    def own(self) -> tuple[IntArray, FloatArray]:
        """Return functions and their self time in seconds, both (o,)."""
        is_self = self.columns % 2 == 1
        return self.columns[is_self] // 2, self.shares[is_self] * self.self_s

    def inclusive(self, function: int) -> float:
        """Return the inclusive share of a function in the interval."""
        return float(self.shares[self.columns == 2 * function].sum())


def mixes(profile: IntervalProfile, numbers: FunctionNumbers) -> list[Mix]:
    """Return the profile of each interval, (n,)."""
    number = numbers.of(profile.functions)
    self_s = profile.self_s
    own = shares(self_s)
    below = inclusive_shares(profile)
    seconds = np.add.reduceat(np.append(self_s.data, 0.0), self_s.indptr[:-1]) * (np.diff(self_s.indptr) > 0)
    out = []
    for i in range(profile.n_intervals):
        own_part = slice(own.indptr[i], own.indptr[i + 1])
        inclusive_part = slice(below.indptr[i], below.indptr[i + 1])
        # Without call paths only the function that runs is known of the stack.
        stack, part = (below, inclusive_part) if inclusive_part.stop > inclusive_part.start else (own, own_part)
        columns = np.concatenate([2 * number[stack.indices[part]], 2 * number[own.indices[own_part]] + 1])
        parts = np.concatenate([stack.data[part], own.data[own_part]])
        ticks = float(seconds[i]) * profile.metadata.rate_hz
        out.append(Mix(float(profile.start_s[i]), float(profile.end_s[i]), ticks, float(seconds[i]), columns, parts))
    return out


@dataclass(frozen=True)
class IntervalProfiles:
    """Interval profiles with function numbers of their own: positions in `functions`."""

    rows: Sequence[Mix]
    functions: Sequence[Function]


def interval_profiles(profile: IntervalProfile) -> IntervalProfiles:
    """Return the profiles of a profile's intervals; independent of other state, so it may run in any thread."""
    numbers = FunctionNumbers()
    return IntervalProfiles(mixes(profile, numbers), numbers.functions)


def renumbered(rows: Sequence[Mix], number: IntArray) -> list[Mix]:
    """Return interval profiles with other function numbers. number: (f,) new numbers, by the old ones."""
    return [replace(row, columns=2 * number[row.columns // 2] + row.columns % 2) for row in rows]
