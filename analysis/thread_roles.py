"""Roles of a process's threads: groups of threads that run the same functions, and imbalance within them.

A thread's CPU time is counted in samples, accurate to a tick for each time that it runs, since each thread has its
own timer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.model import PROFILER, FloatArray, Function, IntArray, IntervalProfile
from incprof.model.time_use import IO, MPI, SPENT, WAITING, kind_of_time

# With fewer samples, a thread's role is unknown.
FEWEST = 5
# A role is named after the kind of time that has more than this share of it.
MOST = 0.5
# A thread differs from its peers by this share of their mean, and by more samples than the boundaries of a phase may
# cost.
DIFFERENT, TICKS = 0.1, 5
TOP = 3
NAMES = {MPI: "MPI", IO: "I/O", WAITING: "waiting"}


def thread_roles(profile: IntervalProfile, result: PhaseResult) -> ThreadRoles | None:
    """Return the roles of the threads of a process; None where the recording does not distinguish threads.

    Args:
        profile: n intervals, with samples.
        result: its phases.
    """
    samples = profile.samples
    if not len(samples.time_s):
        return None
    many = max(int(samples.thread.max()) + 1, int(profile.counters.threads.max(initial=0)))
    cpu = _cpu_s(profile, result, many)
    ticks = np.rint(cpu.sum(axis=1) * profile.metadata.rate_hz)
    threads = np.flatnonzero(ticks >= FEWEST).tolist()
    # Without the main thread: it is alone in its work before and after the others.
    own = [t for t in threads if t != 0]
    groups = [[own[i] for i in group] for group in similar_rows(_on_stack(profile, own))]
    named = [("main", [0])] if 0 in threads else []
    named += [(_name(profile, group), group) for group in groups]
    named += [
        (name, few)
        for name, few in (
            ("other", np.flatnonzero((ticks > 0) & (ticks < FEWEST)).tolist()),
            ("waiting", np.flatnonzero(ticks == 0).tolist()),
        )
        if few
    ]
    roles = tuple(_role(profile, result, cpu, *one) for one in _joined(named))
    peers = _peers(profile, roles)
    return ThreadRoles(many, roles, tuple(_imbalances(profile, result, cpu, peers)))


def _cpu_s(profile: IntervalProfile, result: PhaseResult, many: int) -> FloatArray:
    """Return CPU seconds by thread and phase, (many, k + 1): the last column is of no phase."""
    use = profile.samples.kind != PROFILER
    label = result.labels[profile.interval_of_samples()[use]]
    column = np.where(label < 0, result.k, label)
    cell = profile.samples.thread[use].astype(np.int64) * (result.k + 1) + column
    ticks = np.bincount(cell, weights=profile.samples.weight[use], minlength=many * (result.k + 1))
    seconds: FloatArray = ticks.reshape(many, result.k + 1) / profile.metadata.rate_hz
    return seconds


def _on_stack(profile: IntervalProfile, threads: list[int]) -> FloatArray:
    """Return the share of each thread's samples with a function on their stack, (t, f)."""
    tree, f = profile.tree, len(profile.functions)
    out = np.zeros((len(threads), f))
    use = profile.samples.kind != PROFILER
    # Call paths of the call tree include inlined functions; each function of a stack counts once.
    sets = [frozenset[int]()]
    for parent, function in zip(tree.parent.tolist()[1:], tree.function.tolist()[1:], strict=True):
        sets.append(sets[parent] | {function} if function >= 0 else sets[parent])
    chain = tree.of_node[profile.samples.node]
    for row, thread in enumerate(threads):
        selected = use & (profile.samples.thread == thread)
        ticks = np.bincount(chain[selected], weights=profile.samples.weight[selected])
        for at in np.flatnonzero(ticks).tolist():
            out[row, list(sets[at])] += ticks[at] / ticks.sum()
    return out


def _name(profile: IntervalProfile, threads: list[int]) -> str:
    """Return the name of a role, from the kind of time with most of its threads' CPU time."""
    selected = np.isin(profile.samples.thread, threads)
    kind = kind_of_time(profile)[selected]
    ticks = np.bincount(kind + 1, weights=profile.samples.weight[selected], minlength=len(SPENT) + 1)[1:]
    most = int(np.argmax(ticks))
    return NAMES.get(most, "workers") if ticks[most] > MOST * ticks.sum() else "workers"


def _joined(named: list[tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
    """Merge all roles of waiting threads into one, which is last."""
    waiting = sorted(t for name, group in named if name == "waiting" for t in group)
    others = [(name, group) for name, group in named if name != "waiting"]
    return [*others, ("waiting", waiting)] if waiting else others


def _role(profile: IntervalProfile, result: PhaseResult, cpu: FloatArray, name: str, threads: list[int]) -> Role:
    """Describe a role."""
    seconds = cpu[threads].sum(axis=0)
    phases = tuple(
        RolePhase(phase.id, float(seconds[phase.id]), float(seconds[phase.id]) / (phase.seconds * len(threads)))
        for phase in result.phases
        if seconds[phase.id] > 0 and phase.seconds > 0
    )
    total = float(cpu.sum())
    share = float(seconds.sum()) / total if total else 0.0
    return Role(name, tuple(threads), float(seconds.sum()), share, phases, _functions(profile, threads))


def _functions(profile: IntervalProfile, threads: list[int]) -> tuple[tuple[Function, float], ...]:
    """Return the functions with most of the self time of threads, with their share of it."""
    selected = np.isin(profile.samples.thread, threads) & (profile.samples.kind != PROFILER)
    function = _innermost(profile)[profile.samples.node[selected]]
    ticks = np.bincount(
        function[function >= 0], profile.samples.weight[selected][function >= 0], len(profile.functions)
    )
    order = np.lexsort((np.arange(len(ticks)), -ticks))[:TOP]
    total = float(profile.samples.weight[selected].sum())
    return tuple((profile.functions[i], float(ticks[i]) / total) for i in order.tolist() if ticks[i] > 0)


def _innermost(profile: IntervalProfile) -> IntArray:
    """Return the function with the self time of each path node, (p,); negative if unknown."""
    function = profile.paths.function.astype(np.int64)
    if profile.inlined is not None:
        some = np.diff(profile.inlined.first) > 0
        function[some] = profile.inlined.function[profile.inlined.first[1:][some] - 1]
    return function


def _peers(profile: IntervalProfile, roles: tuple[Role, ...]) -> list[tuple[int, ...]]:
    """Return groups of threads that should have equal work: those of a role, with main if it does the same work."""
    groups = []
    main = next((role for role in roles if role.name == "main"), None)
    for role in roles:
        if role.name != "workers":
            continue
        if main is None:
            groups.append(role.threads)
            continue
        both = _on_stack(profile, [*main.threads, role.threads[0]])
        groups.append((*main.threads, *role.threads) if overlap(both)[0, 1] >= MOST else role.threads)
    return groups


def _presence(profile: IntervalProfile, result: PhaseResult, many: int) -> FloatArray:
    """Return the share of each phase's intervals between the first and the last sample of a thread, (many, k)."""
    interval, thread = profile.interval_of_samples(), profile.samples.thread
    first, end = np.full(many, profile.n_intervals), np.zeros(many, dtype=np.int64)
    np.minimum.at(first, thread, interval)
    np.maximum.at(end, thread, interval + 1)
    members = np.cumsum(result.labels[:, None] == np.arange(result.k), axis=0)
    until = np.concatenate([np.zeros((1, result.k), dtype=np.int64), members])
    part: FloatArray = (until[end] - until[np.minimum(first, end)]) / np.maximum(until[-1], 1)
    return part


def _imbalances(
    profile: IntervalProfile, result: PhaseResult, cpu: FloatArray, peers: list[tuple[int, ...]]
) -> list[Imbalance]:
    """Return the imbalance of peers in each phase, among those that are present for most of it."""
    presence, rate_hz = _presence(profile, result, len(cpu)), profile.metadata.rate_hz
    imbalances = []
    for threads in peers:
        for phase in result.phases:
            present = tuple(t for t in threads if presence[t, phase.id] >= MOST)
            seconds = cpu[list(present), phase.id]
            if len(present) < 2 or seconds.sum() * rate_hz < FEWEST * len(present):
                continue
            mean = float(seconds.mean())
            differ = tuple(
                Difference(thread, float(own) / mean - 1)
                for thread, own in zip(present, seconds.tolist(), strict=True)
                if abs(own - mean) >= max(DIFFERENT * mean, TICKS / rate_hz)
            )
            imbalances.append(Imbalance(phase.id, present, float(seconds.max()) / mean - 1, differ))
    return imbalances


# Roles of threads. Reports read nothing else.


@dataclass(frozen=True)
class RolePhase:
    """A role in a phase.

    Attributes:
        id: of the phase.
        cpu_s: CPU time of all its threads, seconds.
        busy: share of the phase's time that each of them was on a CPU.
    """

    id: int
    cpu_s: float
    busy: float


@dataclass(frozen=True)
class Role:
    """The role of some threads.

    Attributes:
        name: "main", "workers", "I/O", "MPI", "waiting", or "other" if unknown.
        threads: numbers as in the recording.
        cpu_s: CPU time, seconds.
        share: of the CPU time of all threads.
        phases: the role in each phase.
        functions: those with most of the role's self time, with their share of it.
    """

    name: str
    threads: tuple[int, ...]
    cpu_s: float
    share: float
    phases: tuple[RolePhase, ...]
    functions: tuple[tuple[Function, float], ...]


@dataclass(frozen=True)
class Difference:
    """A thread with more work than its peers, or less.

    Attributes:
        thread: number of the thread.
        more: excess over the mean of its peers, as a share of it.
    """

    thread: int
    more: float


@dataclass(frozen=True)
class Imbalance:
    """Threads that should have equal work in a phase.

    Attributes:
        phase: id of the phase.
        threads: the threads.
        imbalance: largest CPU time over their mean, less one.
        differ: threads that differ significantly.
    """

    phase: int
    threads: tuple[int, ...]
    imbalance: float
    differ: tuple[Difference, ...]


@dataclass(frozen=True)
class ThreadRoles:
    """The threads of a process.

    Attributes:
        count: number of threads.
        roles: their roles.
        imbalances: within roles, by phase.
    """

    count: int
    roles: tuple[Role, ...]
    imbalances: tuple[Imbalance, ...]


# Group threads by the functions on their stacks.


# Threads are alike if their stacks overlap by this share.
ALIKE = 0.5
# Functions always on the stack of all threads do not distinguish them: a pool's start, a thread's first function.
ALWAYS = 0.95
# Most rows that are compared with each other; further rows are compared with the resulting groups.
MOST_COMPARED = 256


def similar_rows(shares: FloatArray) -> list[list[int]]:
    """Return the rows of each group, the largest group first. shares: (t, f) of each row's samples with a function."""
    t = len(shares)
    if t < 2:
        return [[i] for i in range(t)]
    if t > MOST_COMPARED:
        return _grown(similar_rows(shares[:MOST_COMPARED]), shares)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distance = squareform(1.0 - overlap(_distinguishing_columns(shares)), checks=False)
    label = fcluster(linkage(distance, "average"), 1.0 - ALIKE, "distance")
    groups = [np.flatnonzero(label == one).tolist() for one in np.unique(label)]
    return sorted(groups, key=lambda group: (-len(group), group))


def _grown(groups: list[list[int]], shares: FloatArray) -> list[list[int]]:
    """Add the other rows to groups: each to the group whose first row is most similar, or to a new one."""
    for row in range(MOST_COMPARED, len(shares)):
        like = overlap(shares[[row, *(group[0] for group in groups)]])[0, 1:]
        if like.max() >= ALIKE:
            groups[int(np.argmax(like))].append(row)
        else:
            groups.append([row])
    return sorted(groups, key=lambda group: (-len(group), group))


def overlap(shares: FloatArray) -> FloatArray:
    """Return the overlap of each two rows, (t, t): 0 for nothing in common, 1 for equal rows, also for empty ones."""
    low = np.array([np.minimum(row, shares).sum(axis=1) for row in shares])
    high = np.array([np.maximum(row, shares).sum(axis=1) for row in shares])
    ratio: FloatArray = np.divide(low, high, out=np.ones_like(low), where=high > 0)
    return ratio


def _distinguishing_columns(shares: FloatArray) -> FloatArray:
    """Return the columns that distinguish rows; all if none does."""
    distinguishing = shares[:, (shares < ALWAYS).any(axis=0) & (shares > 0).any(axis=0)]
    return distinguishing if distinguishing.shape[1] else shares
