"""The programs of a job whose processes share a run directory; and the processes of one program as a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.errors import IncprofError, UsageError
from incprof.model import Process, Program, Run
from incprof.readers.stream import images
from incprof.readers.stream.collect import MAX_NS, collect, first_metadata
from incprof.readers.stream.window import Source
from incprof.safe.jsontext import parse_json

# Size of an END image.
TAIL_BYTES = 512
# Workers share the work: each used this share of the busiest one's CPU time, or more, ...
LEAST_SHARE = 0.2
# ... and overlapped with it for this share of its own duration.
LEAST_BESIDE = 0.5


@dataclass(frozen=True, slots=True)
class Use:
    """Identity and resource use of a process.

    Attributes:
        launch: of a rank, the identifier that all ranks of its launcher share.
        start_s: on the clock of its host, seconds.
        end_s: on the clock of its host, seconds.
        cpu_s: recorded CPU time, seconds.
    """

    process: Process
    pid: int | None
    name: str
    launch: str
    ranked: bool
    start_s: float
    end_s: float
    cpu_s: float


def of_program(run: Run, wanted: str | None = None) -> Run:
    """Return a run's processes of one program: of `wanted`, or of the one with the most CPU time.

    The first process of each rank becomes the one with the most CPU time. Processes without a launcher's rank that
    worked side by side become ranks in order of their pids.

    Raises: UsageError if no program is called `wanted`.
    """
    is_plain = len(run.processes) == 1 or any(process.series for process in run.processes)
    if is_plain and wanted is None:
        return run
    uses = [use_of(process) for process in run.processes if not process.series]
    groups, unread = defaultdict(list), [use for use in uses if not use.name]
    for use in uses:
        groups[use.name, use.launch if use.ranked else ""].append(use)
    ordered = sorted(groups.values(), key=lambda group: -sum(use.cpu_s for use in group))
    programs = tuple(_program(group) for group in ordered)
    chosen = next((group for group in ordered if wanted in (None, group[0].name)), [])
    if not chosen:
        names = ", ".join(dict.fromkeys(program.name for program in programs))
        raise UsageError(f"{run.directory}: no program {wanted}, only {names or 'one without a name'}")
    workers = [] if chosen[0].ranked else side_by_side(chosen)
    processes = _numbered(workers) if workers else _led([*chosen, *(use for use in unread if use not in chosen)])
    return replace(run, app=chosen[0].name, processes=processes, programs=programs, workers=bool(workers))


def _program(group: Sequence[Use]) -> Program:
    """Return the processes of a program, the busiest first."""
    ordered = sorted(group, key=lambda use: (-use.cpu_s, use.process.rank, use.pid or 0))
    return Program(
        group[0].name,
        tuple(use.process for use in ordered),
        tuple(use.pid for use in ordered),
        tuple(use.cpu_s for use in ordered),
        group[0].ranked,
    )


def side_by_side(group: Sequence[Use]) -> list[Use]:
    """Return the processes that shared the work of a program; none if one of them did it alone."""
    busiest = max(group, key=lambda use: use.cpu_s)
    least_s = LEAST_SHARE * busiest.cpu_s
    found = [use for use in group if use.cpu_s > 0 and use.cpu_s >= least_s and _beside(use, busiest)]
    return sorted(found, key=lambda use: (use.pid or 0, use.process.life)) if len(found) > 1 else []


def _beside(use: Use, other: Use) -> bool:
    """Return whether a process overlapped with another one for most of its time."""
    common = min(use.end_s, other.end_s) - max(use.start_s, other.start_s)
    return common >= LEAST_BESIDE * (use.end_s - use.start_s)


def _numbered(workers: Iterable[Use]) -> tuple[Process, ...]:
    """Number processes as ranks, in their order."""
    return tuple(replace(use.process, rank=rank, primary=True) for rank, use in enumerate(workers))


def _led(group: Sequence[Use]) -> tuple[Process, ...]:
    """Return the processes of a program; first in a rank: the busiest, on a tie the one without a pid in its name."""
    leaders: dict[int, Use] = {}
    for use in sorted(group, key=lambda use: (-use.cpu_s, not use.process.primary)):
        leaders.setdefault(use.process.rank, use)
    others = [replace(use.process, primary=False, pid=use.pid) for use in group if use is not leaders[use.process.rank]]
    processes = [*others, *(replace(use.process, primary=True) for use in leaders.values())]
    return tuple(sorted(processes, key=lambda p: (p.rank, not p.primary, p.pid or 0, p.life, p.path)))


def use_of(process: Process) -> Use:
    """Read identity and resource use of a process; empty if its stream cannot be read."""
    try:
        with Source(process.path) as source:
            metadata = first_metadata(source)
            end_ns, cpu_ns = _at_end(source) or _in_intervals(source, metadata.raw.get("attached") is True)
    except IncprofError:
        return Use(process, process.pid, "", "", False, 0.0, 0.0, 0.0)
    raw = metadata.raw
    start_ns, pid, launch = raw.get("start_mono_ns"), raw.get("pid"), raw.get("launch")
    own = pid if process.pid is None and isinstance(pid, int) else process.pid
    start_s = start_ns * 1e-9 if isinstance(start_ns, int) and 0 <= start_ns < MAX_NS else 0.0
    return Use(
        process, own, metadata.app, str(launch), metadata.ranks != 1, start_s,
        start_s + end_ns * 1e-9, cpu_ns * 1e-9,
    )  # fmt: skip


def _at_end(source: Source) -> tuple[int, int] | None:
    """Return nanoseconds of the run and of CPU time from the image that ends a recording, if it has them."""
    tail = source.bytes_at(max(source.size - TAIL_BYTES, 0), TAIL_BYTES)
    at = tail.rfind(images.MAGIC)
    if at < 0 or len(tail) - at < images.HEADER.size:
        return None
    _, kind, _, _, length, _ = images.HEADER.unpack_from(tail, at)
    begin = at + images.HEADER.size
    if kind != images.END or begin + length != len(tail):
        return None
    try:
        end = parse_json(tail[begin:])
    except ValueError:
        return None
    figures = (end.get("end_ns"), end.get("cpu_ns")) if isinstance(end, dict) else (None, None)
    return (figures[0], figures[1]) if all(type(n) is int and 0 <= n < MAX_NS for n in figures) else None  # type: ignore[return-value]


def _in_intervals(source: Source, attached: bool) -> tuple[int, int]:
    """Return the same from the intervals of a recording without an end. If `attached`, cost is not the process's."""
    found = collect(source)
    counters = found.counters.astype(np.float64)
    cpu_ns = (counters[:, 2] - attached * counters[:, 4]).sum() if found.n_intervals else 0.0
    return found.end_ns, int(cpu_ns)
