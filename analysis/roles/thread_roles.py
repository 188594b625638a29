"""Roles of threads. Reports read nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.model import Function


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
