"""The contents of a run directory, and the profile of one of its processes."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import FloatArray, IntervalProfile, Metadata, Module, Process, Program, Run
from incprof.readers.gmon_directory import Snapshot, read_gmon_files
from incprof.readers.stream.collect import (
    DEFAULT_INTERVAL_S,
    DEFAULT_RATE_HZ,
    MAX_NS,
    MOST_BYTES,
    collect,
    end_of,
    first_metadata,
    parse_metadata,
)
from incprof.readers.stream.inlined import with_code_loops, with_inlined
from incprof.readers.stream.library_functions import with_library_functions
from incprof.readers.stream.records import Libs
from incprof.readers.stream.stream_files import NODE, Source, node_file
from incprof.readers.stream.stream_profile import read_stream
from incprof.readers.stream.waits import WORKS
from incprof.safe.inputs import open_input, read_input, record_input
from incprof.symbols.modules import SymbolLoader

Progress = Callable[[int, int], object]

# MPI calls (incprof trace): not a profile, but a part of the run.
TRACE = re.compile(r"rank-(\d{1,9})(?:\.(\d{1,9})(?:-(\d{1,9}))?)?\.mpi")
STREAM = re.compile(r"rank-(\d{1,9})(?:\.(\d{1,9})(?:-(\d{1,9}))?)?\.gmon")
SERIES = re.compile(r"gmon-(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9})(?:-(\d{1,9}))?)?")
CLASSIC = re.compile(r"gmon(?:\.out)?[-_.](\d{1,9})(?:\.out)?|gmon\.out()")


def open_run(directory: str | os.PathLike[str], *, exe: str | None = None, program: str | None = None) -> Run:
    """List the processes of a run directory, in order of (rank, children last, file).

    For a job of several programs, list those of `program`, or of the one with the most CPU time. `exe` is required for
    directories of files that glibc's own runtime wrote.

    Raises: NoDataError if there is no readable directory, or nothing in it; UsageError if `exe` is missing or there is
    no such program.
    """
    return of_program(open_all(directory, exe=exe), program)


def open_all(directory: str | os.PathLike[str], *, exe: str | None = None) -> Run:
    """List the processes of a run directory, of all programs."""
    root = Path(directory)
    record_input(root)
    if not root.is_dir():
        what = "is a file: give the directory that holds it" if root.exists() else "no such directory"
        raise NoDataError(f"{root}: {what}")
    try:
        names = sorted(os.listdir(root))
    except OSError as error:
        raise NoDataError(f"{root}: {error.strerror}") from error
    processes = streams(root, names) or _series(root, names)
    if not processes:
        raise NoDataError(f"{root}: no profile in it: record one with incprof record -o {root} -- PROGRAM")
    processes.sort(key=lambda p: (p.rank, not p.primary, p.pid or 0, p.life, p.path))
    return Run(str(root), _app_name(processes, exe), tuple(processes))


def read_profile(
    run: Run,
    *,
    rank: int | None = None,
    process: Process | int | None = None,
    libs: Libs = "caller",
    exe: str | None = None,
    arcs: bool = True,
    inlined: bool = False,
    nameless: bool = False,
    waits: bool = True,
    progress: Progress | None = None,
) -> IntervalProfile:
    """Read one process: that of `rank` (the lowest by default), or `process`, given as such or by its pid.

    libs: time in libraries counts for the library function that was called ("named", if that is a visible part of an
    interval), for the application function that called ("caller"), for a function named after the library ("separate"),
    or is left out ("drop"). arcs: False omits them from a stream's profile, which halves the size of a long run's;
    functions that only call are then missing too. inlined: look up inlined functions on the call paths of a stream, in
    the program's debug information. nameless: a stream's program without symbols becomes one nameless function, not an
    error. waits: False omits what a program waits for that hardly uses a processor. progress: called with (done,
    total).

    Raises: UsageError for an invalid rank, process or `libs`; NoDataError if nothing can be read.
    """
    if libs not in ("named", "caller", "separate", "drop"):
        raise UsageError(f"libs is {libs!r}: use named, caller, separate or drop")
    selected = process if isinstance(process, Process) else choose_process(run, rank, process)
    if not selected.series:
        if progress:
            progress(0, 1)
        profile = read_stream(
            selected.path, run.directory, libs=libs, exe=exe, arcs=arcs, nameless=nameless, waits=waits
        )
        profile = with_library_functions(profile, libs, SymbolLoader(run.directory, exe).machine_code)
        if inlined:
            profile = with_code_loops(run, with_inlined(run, profile, libs, exe=exe), exe=exe)
        if profile.metadata.rank != selected.rank:  # a directory joined from others
            profile = replace(profile, metadata=replace(profile.metadata, rank=selected.rank))
        if progress:
            progress(1, 1)
        return profile
    return read_gmon_files(
        files_of(selected), _series_metadata(selected, exe), run.directory, exe=exe, progress=progress
    )


def modules_of(process: Process) -> tuple[Module, ...]:
    """Return the modules of a process.

    Raises: NoDataError if it cannot be read.
    """
    if process.series:
        return _series_metadata(process, "").modules
    with Source(process.path) as source:
        collected = collect(source)
    return (*collected.metadata.modules, *collected.modules.values())


def choose_process(run: Run, rank: int | None = None, pid: int | None = None) -> Process:
    """Return the requested process; by default, that of the lowest rank.

    Raises: UsageError if there is none.
    """
    rank = run.ranks[0] if rank is None and pid is None else rank
    matching = [p for p in run.processes if rank in (None, p.rank) and pid in (None, p.pid)]
    if not matching and rank is None:
        matching = [
            p for program in run.programs for p, own in zip(program.processes, program.pids, strict=True) if own == pid
        ]
    if matching:
        return matching[0]
    if rank is not None and rank not in run.ranks:
        raise UsageError(f"{run.directory}: no rank {rank}, only {listed(run.ranks)}")
    known_pids = {pid for program in run.programs for pid in program.pids} or {p.pid for p in run.processes}
    pids = listed(sorted(pid for pid in known_pids if pid is not None))
    raise UsageError(f"{run.directory}: no process {pid}, only {pids}")


def listed(numbers: Iterable[int], limit: int = 16) -> str:
    """Format numbers for a message, at most a line of them."""
    shown = [str(number) for number in numbers]
    return ", ".join(shown[:limit] + ["..."] * (len(shown) > limit)) or "none"


def streams(directory: str | os.PathLike[str], names: list[str]) -> list[Process]:
    """Return processes recorded as streams, each in a file of its own or in one that the ranks of a node share.

    Raises: NoDataError if such a file cannot be read.
    """
    processes: list[Process] = []
    for name in names:
        path = Path(directory) / name
        paths = [path / member for member in _gathered(path)] if NODE.fullmatch(name) else [path]
        processes += [_process(match.groups(), each) for each in paths if (match := STREAM.fullmatch(each.name))]
    return _with_primaries(processes)


def _gathered(path: Path) -> list[str]:
    """Return the names of the streams in a shared file.

    Raises: NoDataError if it cannot be read.
    """
    file = node_file(str(path))
    try:
        with open_input(path, within=path.parent) as source:
            file.read(source.fileno())
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror}: move it away to see the other ranks") from error
    return sorted(file.streams)


def _series(root: Path, names: list[str]) -> list[Process]:
    """Return processes recorded as one file per interval."""
    processes: set[Process] = set()
    for name in names:
        if match := SERIES.fullmatch(name):
            processes.add(_process(match.groups()[1:], root, series=True))
        elif CLASSIC.fullmatch(name):
            processes.add(Process(0, None, str(root), series=True))
    return _with_primaries(sorted(processes, key=lambda p: (p.rank, p.pid or 0, p.life)))


def _process(numbers: Sequence[str | None], path: Path, *, series: bool = False) -> Process:
    """Parse a process from a name: rank, and except for a rank's first process, pid and life."""
    rank, pid, life = (int(number) if number else None for number in numbers)
    return Process(rank or 0, pid, str(path), primary=pid is None, series=series, life=life or 1)


def _with_primaries(processes: list[Process]) -> list[Process]:
    """Make the first process of a rank its primary one if the file without a pid is missing."""
    led = {p.rank for p in processes if p.primary}
    result: list[Process] = []
    for process in processes:
        result.append(process if process.rank in led else replace(process, primary=True))
        led.add(process.rank)
    return result


def files_of(process: Process) -> list[Snapshot]:
    """Return the files of a series in order of their numbers."""
    snapshots: list[Snapshot] = []
    for entry in Path(process.path).iterdir():
        if match := SERIES.fullmatch(entry.name):
            if (
                replace(_process(match.groups()[1:], Path(process.path), series=True), primary=process.primary)
                == process
            ):
                snapshots.append(Snapshot(int(match[1]), str(entry)))
        elif process.rank == 0 and process.pid is None and (classic := CLASSIC.fullmatch(entry.name)):
            # The program writes a bare gmon.out at its end: after all numbered ones.
            snapshots.append(Snapshot(int(classic[1]) if classic[1] else 10**9, str(entry)))
    snapshots.sort(key=lambda snapshot: (snapshot.number, snapshot.path))
    last = snapshots[-1] if snapshots else None
    if last and last.number == 10**9:
        snapshots[-1] = Snapshot(snapshots[-2].number + 1 if len(snapshots) > 1 else 0, last.path)
    return snapshots


def _series_metadata(process: Process, exe: str | None) -> Metadata:
    """Return the metadata beside a series; if missing, those of a program given by hand and glibc's usual rate."""
    life = f"-{process.life}" if process.life > 1 else ""
    names = [f"gmon-meta.{process.rank}.{process.pid}{life}.json", f"gmon-meta.{process.rank}.json"]
    for path in (Path(process.path) / name for name in names):
        try:
            return parse_metadata(read_input(path, MOST_BYTES, within=process.path), str(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error
    if exe is None:
        raise UsageError(f"{process.path} holds gmon files that do not name their program: give it with --exe")
    return Metadata(Path(exe).name, exe, process.rank, None, DEFAULT_INTERVAL_S, DEFAULT_RATE_HZ)


def _app_name(processes: list[Process], exe: str | None) -> str:
    """Return the program's name, from the first process that has it."""
    problem: IncprofError | None = None
    for process in processes:
        try:
            if process.series:
                return _series_metadata(process, exe).app
            with Source(process.path) as source:
                return first_metadata(source).app
        except IncprofError as error:
            problem = problem or error
    assert problem is not None
    raise problem


# The programs of a job whose processes share a run directory; and the processes of one program as a run.


# Workers share the work: each used this share of the busiest one's CPU time, or more, ...
LEAST_SHARE = 0.2
# ... and overlapped with it for this share of its own duration.
LEAST_OVERLAP = 0.5


@dataclass(frozen=True, slots=True)
class Use:
    """Identity and resource use of a process.

    Attributes:
        launch: of a rank, the identifier that all ranks of its launcher share.
        start_s: on the monotonic clock of its host, seconds.
        end_s: on the monotonic clock of its host, seconds.
        cpu_s: recorded CPU time, seconds.
        host: its name, and the time of day at 0 of its monotonic clock, seconds since 1970.
    """

    process: Process
    pid: int | None
    name: str
    launch: str
    ranked: bool
    start_s: float
    end_s: float
    cpu_s: float
    host: tuple[str, float] = ("", 0.0)


def of_program(run: Run, program_name: str | None = None) -> Run:
    """Return a run's processes of one program: of `program_name`, or of the one with the most CPU time.

    In a job that waits nearly all the time, of those that last for at least half as long as the longest.

    The first process of each rank becomes the one with the most CPU time. Processes without a launcher's rank that
    worked side by side become ranks in order of their pids.

    Raises: UsageError if no program is called `program_name`.
    """
    is_plain = len(run.processes) == 1 or any(process.series for process in run.processes)
    if is_plain and program_name is None:
        return run
    uses = [use_of(process) for process in run.processes if not process.series]
    groups, unread = defaultdict(list), [use for use in uses if not use.name]
    for use in uses:
        groups[use.name, use.launch if use.ranked else ""].append(use)
    ordered = sorted(groups.values(), key=lambda group: -sum(use.cpu_s for use in group))
    zero_s = _zeros(use for use in uses if use.name)
    programs = tuple(_program(group, zero_s) for group in ordered)
    selected = next((group for group in _lasting_first(ordered) if program_name in (None, group[0].name)), [])
    if not selected:
        names = ", ".join(dict.fromkeys(program.name for program in programs))
        raise UsageError(f"{run.directory}: no program {program_name}, only {names or 'one without a name'}")
    workers = [] if selected[0].ranked else concurrent_workers(selected)
    processes = _numbered(workers) if workers else _led([*selected, *(use for use in unread if use not in selected)])
    return replace(run, app=selected[0].name, processes=processes, programs=programs, workers=bool(workers))


def _lasting_first(groups: list[list[Use]]) -> list[list[Use]]:
    """In a job that waits nearly all the time, put programs that end before half of it last; groups: most CPU first."""
    lasting = [max(use.end_s - use.start_s for use in group) for group in groups]
    longest_s = max(lasting, default=0.0)
    if not groups or sum(use.cpu_s for use in groups[0]) >= WORKS * longest_s:
        return groups
    short = [2 * lasting_s < longest_s for lasting_s in lasting]
    return [group for _, group in sorted(zip(short, groups, strict=True), key=lambda pair: pair[0])]


def _zeros(uses: Iterable[Use]) -> dict[str, float]:
    """Return when the job began, on the monotonic clock of each host; hosts are compared by their time of day."""
    offsets, started = dict[str, float](), list[float]()
    for use in uses:
        name, offset_s = use.host
        started.append(use.start_s + offsets.setdefault(name, offset_s))
    return {name: min(started) - offset_s for name, offset_s in offsets.items()}


def _program(group: Sequence[Use], zero_s: Mapping[str, float]) -> Program:
    """Return the processes of a program, the busiest first. zero_s: the job's start on the clock of each host."""
    ordered = sorted(group, key=lambda use: (-use.cpu_s, use.process.rank, use.pid or 0))
    return Program(
        group[0].name,
        tuple(use.process for use in ordered),
        tuple(use.pid for use in ordered),
        tuple(use.cpu_s for use in ordered),
        tuple((use.start_s - zero, use.end_s - zero) for use in ordered for zero in [zero_s.get(use.host[0], 0.0)]),
        group[0].ranked,
    )


def concurrent_workers(group: Sequence[Use]) -> list[Use]:
    """Return the processes that shared the work of a program; none if one of them did it alone."""
    busiest = max(group, key=lambda use: use.cpu_s)
    least_s = LEAST_SHARE * busiest.cpu_s
    workers = [use for use in group if use.cpu_s > 0 and use.cpu_s >= least_s and _overlaps(use, busiest)]
    return sorted(workers, key=lambda use: (use.pid or 0, use.process.life)) if len(workers) > 1 else []


def _overlaps(use: Use, other: Use) -> bool:
    """Return whether a process overlapped with another one for most of its time."""
    common = min(use.end_s, other.end_s) - max(use.start_s, other.start_s)
    return common >= LEAST_OVERLAP * (use.end_s - use.start_s)


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
    pid, launch = raw.get("pid"), raw.get("launch")
    own = pid if process.pid is None and isinstance(pid, int) else process.pid
    start_s, date_s = (_moment_s(raw.get(key)) for key in ("start_mono_ns", "start_unix_ns"))
    return Use(
        process, own, metadata.app, str(launch), metadata.ranks != 1, start_s,
        start_s + end_ns * 1e-9, cpu_ns * 1e-9, (str(raw.get("host")), date_s - start_s),
    )  # fmt: skip


def _moment_s(recorded_ns: object) -> float:
    """Return a recorded moment in seconds; 0 if it is invalid."""
    return recorded_ns * 1e-9 if isinstance(recorded_ns, int) and 0 <= recorded_ns < MAX_NS else 0.0


# Part of a process's CPU time that is spread over its life: of programs that use none, one that exists is shown.
SHOWS_LIFE = 1e-9


def used_over_time(run: Run, parts: int) -> FloatArray:
    """Return the CPU time that each program of a job had used at the edges of equal parts of the job's time.

    Seconds, shape (programs, parts + 1). A process longer than a part counts by its intervals, others evenly.
    """
    edges = np.linspace(
        0.0, max((end for program in run.programs for _, end in program.spans_s), default=0.0), parts + 1
    )
    used = np.zeros((len(run.programs), parts + 1))
    for row, program in zip(used, run.programs, strict=True):
        for process, cpu_s, (start, end) in zip(program.processes, program.cpu_s, program.spans_s, strict=True):
            times, cumulative = np.array([start, end]), np.array([0.0, 1.0])
            if end - start > edges[1]:
                times, cumulative = _use_in_intervals(process, start, end)
            row += cpu_s * np.interp(edges, times, cumulative)
    return used


def _use_in_intervals(process: Process, start_s: float, end_s: float) -> tuple[FloatArray, FloatArray]:
    """Return moments of a process, and which part of its CPU time it had used at each; evenly if unknown."""
    evenly = np.array([start_s, end_s]), np.array([0.0, 1.0])
    try:
        with Source(process.path) as source:
            counters = collect(source, kinds=()).counters[:, :3].astype(np.float64)
    except IncprofError:
        return evenly
    whole = counters[:, 2].sum()
    if not whole:
        return evenly
    cumulative = np.cumsum(counters[:, 2]) / whole
    # Between intervals, the program was stopped, or nothing was recorded of it.
    times = np.concatenate([[start_s], start_s + 1e-9 * np.ravel(counters[:, :2]), [end_s]])
    cumulative = np.ravel(np.column_stack((np.append(0.0, cumulative[:-1]), cumulative)))
    used = np.concatenate([[0.0], cumulative, [1.0]])
    return times, used + SHOWS_LIFE * ((times - start_s) / (end_s - start_s) - used)


def _at_end(source: Source) -> tuple[int, int] | None:
    """Return nanoseconds of the run and of CPU time from the image that ends a recording, if it has them."""
    end = end_of(source)
    figures = end.get("end_ns"), end.get("cpu_ns")
    return (figures[0], figures[1]) if all(type(n) is int and 0 <= n < MAX_NS for n in figures) else None  # type: ignore[return-value]


def _in_intervals(source: Source, attached: bool) -> tuple[int, int]:
    """Return the same from the intervals of a recording without an end. If `attached`, cost is not the process's."""
    collected = collect(source)
    counters = collected.counters.astype(np.float64)
    cpu_ns = (counters[:, 2] - attached * counters[:, 4]).sum() if collected.n_intervals else 0.0
    return collected.end_ns, int(cpu_ns)
