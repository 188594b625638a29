"""A run directory: its programs and processes, and how each was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

from incprof.model.functions import Module


@dataclass(frozen=True, slots=True)
class Process:
    """One recorded process of a run: a rank, or a child of one.

    Attributes:
        path: its stream.
        series: it left a gmon file per interval instead, and `path` is their directory.
        life: which program it is of those that the process ran by exec and whose files carry its pid, from 1.
    """

    rank: int
    pid: int | None
    path: str
    primary: bool = True
    series: bool = False
    life: int = 1


@dataclass(frozen=True, slots=True)
class Metadata:
    """How a process was recorded.

    Attributes:
        raw: the metadata object as written (docs/reference/formats.md, kind 1).
        pooled: number of recorded intervals merged into one of `interval_s`.
        call_s: cost of counting a call, seconds, as measured at the start of the recording; None if it was not
            measured.
        ordered: the samples of an interval are in the order in which they were taken; imported profiles may lack an
            order.
    """

    app: str
    exe: str | None
    rank: int
    ranks: int | None
    interval_s: float
    rate_hz: float
    modules: tuple[Module, ...] = ()
    raw: dict[str, object] = field(default_factory=dict)
    pooled: int = 1
    call_s: float | None = None
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """Processes of a job that ran the same program, of one launcher if they are ranks.

    Attributes:
        name: of the program, as it was started.
        processes: the one with the most CPU time first.
        pids: of each, None if not recorded.
        cpu_s: recorded CPU time of each, seconds.
        ranked: a launcher numbered them.
    """

    name: str
    processes: tuple[Process, ...]
    pids: tuple[int | None, ...]
    cpu_s: tuple[float, ...]
    ranked: bool = False

    @property
    def is_crowded(self) -> bool:
        """True if one of its ranks has several processes."""
        return len(self.processes) > len({process.rank for process in self.processes})


@dataclass(frozen=True)
class Run:
    """A run directory: its processes in order of (rank, children last).

    Attributes:
        programs: all programs in the directory, the one with the most CPU time first, if there are several processes;
            `processes` are those of one of them.
        workers: `processes` are not a launcher's ranks, but ran side by side, and were numbered by their pids.
    """

    directory: str
    app: str
    processes: tuple[Process, ...]
    programs: tuple[Program, ...] = ()
    workers: bool = False

    @property
    def is_job(self) -> bool:
        """True if there are several programs, or a rank of one has several processes."""
        return len(self.programs) > 1 or any(program.is_crowded for program in self.programs)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The distinct ranks, ascending."""
        return tuple(sorted({p.rank for p in self.processes}))
