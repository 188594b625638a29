"""Roles of threads. Reports read these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.model import Function


@dataclass(frozen=True)
class RolePhase:
    """A role in a phase. cpu_s: of all its threads. busy: part of the phase's time that each of them was on the CPU."""

    id: int
    cpu_s: float
    busy: float


@dataclass(frozen=True)
class Role:
    """What some threads are for. name: "main", "workers", "I/O", "MPI", "waiting", or "other" where nobody can say.

    threads: numbers as in the recording.

    share: of the CPU time of all threads. functions: those with most of the role's self time, and their part of it.
    """

    name: str
    threads: tuple[int, ...]
    cpu_s: float
    share: float
    phases: tuple[RolePhase, ...]
    functions: tuple[tuple[Function, float], ...]


@dataclass(frozen=True)
class Difference:
    """A thread that has more to do than its peers, or less. more: part of their mean."""

    thread: int
    more: float


@dataclass(frozen=True)
class Imbalance:
    """Threads that should have the same to do, in a phase. imbalance: largest CPU time over their mean, less one."""

    phase: int
    threads: tuple[int, ...]
    imbalance: float
    differ: tuple[Difference, ...]


@dataclass(frozen=True)
class ThreadRoles:
    """The threads of a process, `count` of them."""

    count: int
    roles: tuple[Role, ...]
    imbalances: tuple[Imbalance, ...]
