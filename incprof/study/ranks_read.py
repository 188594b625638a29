"""Read and summarise each rank, in any process, and decide which ranks are comparable."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from incprof.analysis.call_paths import with_estimated_paths
from incprof.analysis.phase_result import ENOUGH
from incprof.analysis.phases.kmeans import KMeansRuns
from incprof.analysis.phases.levels import in_bins
from incprof.analysis.ranks.ranks_result import RanksResult, RankSummary
from incprof.analysis.ranks.summary import summarised
from incprof.analysis.segment_sums import pooled_by, ticks_of
from incprof.errors import IncprofError
from incprof.model import UNKNOWN, FloatArray, IntArray, IntervalProfile, Process, Run
from incprof.model.time_use import missed_seconds, not_sampled
from incprof.readers.run import listed, read_profile
from incprof.safe.jsonstore import JsonStore
from incprof.study.phase_options import Libs, Listener, Method, StudyOptions

# Ranks of a larger job are not searched for one by one.
MOST_RANKS = 10_000_000


@dataclass(frozen=True)
class SharedRequest:
    """A selection of ranks to analyse together, and the options.

    Attributes:
        run: the run.
        ranks: the ranks.
        shown: the rank that the answer is for, if one was given.
        libs: how library time is counted.
        exe: the program, if it is not where it was recorded.
        options: how phases are found.
        listener: receives warnings and progress.
    """

    run: Run
    ranks: tuple[int, ...]
    shown: int | None
    libs: Libs
    exe: str | None
    options: StudyOptions
    listener: Listener


@dataclass(frozen=True)
class RankJob:
    """The work for one rank, in any process.

    Attributes:
        run: nothing but that rank.
        rank: its number.
        libs: how library time is counted.
        exe: the program, if it is not where it was recorded.
        options: how phases are found.
        cwd: the directory of its relative paths.
    """

    run: Run
    rank: int
    libs: Libs
    exe: str | None
    options: StudyOptions
    cwd: str

    def anywhere(self) -> RankJob:
        """Return the same with absolute paths, for a process in another directory."""
        run, at = self.run, self._at
        processes = tuple(replace(process, path=at(process.path)) for process in run.processes)
        exe = None if self.exe is None else at(self.exe)
        return replace(self, run=replace(run, directory=at(run.directory), processes=processes), exe=exe)

    def as_given(self, text: str) -> str:
        """Return a message with paths as they were given."""
        for path in (*(process.path for process in self.run.processes), self.run.directory, self.exe or ""):
            text = text.replace(self._at(path), path) if path else text
        return text

    def _at(self, path: str) -> str:
        return os.path.join(self.cwd, path)


@dataclass(frozen=True)
class RankRead:
    """A rank that was read.

    Attributes:
        rank: its number.
        summary: None where the rank could not be read.
        problem: the reason why it could not be read.
        lost: whether the process that read it was killed.
        program: the program, and its build-id.
        launch: identity of the launch.
        world: number of ranks of the launch.
        selected: whether some ranks were excluded from recording.
        interval_s: length of its intervals, seconds.
        rate_hz: sampling rate.
    """

    rank: int
    summary: RankSummary | None
    problem: str | None = None
    lost: bool = False
    program: tuple[str, str] = ("", "")
    launch: str = ""
    world: int | None = None
    selected: bool = False
    interval_s: float = 1.0
    rate_hz: float = 100.0


def jobs_of(request: SharedRequest) -> list[RankJob]:
    """Return the work for each rank."""
    processes: dict[int, list[Process]] = {rank: [] for rank in request.ranks}
    for process in request.run.processes:
        if process.rank in processes:
            processes[process.rank].append(process)
    options, cwd = replace(request.options, jobs=1, dask=None), os.getcwd()
    return [
        RankJob(replace(request.run, processes=tuple(own)), rank, request.libs, request.exe, options, cwd)
        for rank, own in processes.items()
    ]


def read_rank(job: RankJob) -> RankRead:
    """Read a rank and summarise it. Engines run this function: its argument and its result are small."""
    try:
        profile = binned_profile(job.anywhere())
        summary = summarised(profile, job.options.k if job.options.method == "robust" else None, job.options.thresholds)
    except IncprofError as error:
        return RankRead(job.rank, None, job.as_given(str(error)))
    meta = profile.metadata
    # Of an interpreter, the program's own modules are those that the process happened to load.
    own = [module for module in meta.modules if module.path == meta.exe] or [m for m in meta.modules if m.app]
    program = (os.path.basename(meta.exe or meta.app), (own[0].build_id if own else None) or "")
    return RankRead(
        rank=job.rank,
        summary=replace(summary, warnings=tuple(map(job.as_given, summary.warnings))),
        program=program,
        launch=str(meta.raw.get("launch") or ""),
        world=meta.ranks,
        selected=meta.raw.get("selected") is True,
        interval_s=meta.interval_s,
        rate_hz=meta.rate_hz,
    )


def lost_rank(job: RankJob) -> RankRead:
    """Return the result for a rank whose process was killed each time."""
    return RankRead(job.rank, None, "the process that read it was killed", lost=True)


def recorded_profile(job: RankJob) -> IntervalProfile:
    """Read a rank in its recorded intervals."""
    paper = job.options.method == "paper"
    return read_profile(
        job.run, rank=job.rank, libs=job.libs, exe=job.exe, inlined=not paper, nameless=True,
        waits=job.options.reads_waits,
    )  # fmt: skip


def binned_profile(job: RankJob) -> IntervalProfile:
    """Read a rank in the intervals of its own answer."""
    profile = binned(recorded_profile(job), job.options)
    return profile if job.options.method == "paper" else with_estimated_paths(profile)


def usable(read: Sequence[RankRead], other_programs: Container[int] | None) -> tuple[list[RankRead], list[str]]:
    """Return the usable ranks, and the problems of the others, a line each.

    other_programs: ranks of other programs of the job; None where only some ranks are requested, and none is missing.
    """
    good = [one for one in read if one.summary is not None]
    problems = [f"rank {one.rank} is left out: {one.problem}" for one in read if one.summary is None]
    missing = [] if other_programs is None else [rank for rank in _missing(read) if rank not in other_programs]
    if missing:
        are = "rank {} has" if len(missing) == 1 else "ranks {} have"
        problems.append(f"{are.format(listed(missing))} no file: recorded elsewhere, or lost")
    number = Counter(one.program for one in good)
    most = max(number, key=lambda program: number[program], default=("", ""))
    usual = next((one for one in good if one.program == most), None)
    taken = [one for one in good if usual is not None and not _foreign(one, usual)]
    for one in good:
        assert one.summary is not None
        if all(one is not other for other in taken):
            what = one.program[0] if one.program[0] != most[0] else f"another build of {most[0]}"
            problems.append(
                f"rank {one.rank} is left out: it ran {what}, and most ranks {most[0]}; --ranks {one.rank} analyses it"
            )
        elif one.summary.damaged:
            problems.append(f"rank {one.rank}: {'; '.join(one.summary.warnings)}")
    return taken, problems


def _foreign(one: RankRead, usual: RankRead) -> bool:
    """Return whether a rank is foreign: it ran another program, and was not launched with the others."""
    together = bool(one.launch) and one.launch == usual.launch and one.program[0] != usual.program[0]
    return one.program != usual.program and not together


def _missing(read: Sequence[RankRead]) -> list[int]:
    """Return the ranks that should have been recorded, but have no file."""
    if any(one.selected for one in read):
        return []
    world = max((one.world for one in read if one.world is not None), default=0)
    recorded = {one.rank for one in read}
    # If the rank numbers do not fit the size of the job, missing ranks are unknown.
    if max(recorded) >= world:
        return []
    return [rank for rank in range(min(world, MOST_RANKS)) if rank not in recorded]


# Cache of the shared phases of all ranks beside the run: the next answer reads only the ranks they were found in.


STORE, VERSION = "ranks.json", 3


@dataclasses.dataclass(frozen=True)
class Kept:
    """A cached result.

    Attributes:
        ranks: all ranks relabelled with the phases.
        problems: missing or omitted input, a line each.
        phases: which phases these were, as returned by `digest`.
    """

    ranks: RanksResult
    problems: tuple[str, ...]
    phases: str


class RanksStore:
    """The cached result for some ranks of a run, valid while files and options are the same."""

    def __init__(self, request: SharedRequest):
        self._key = _key(request)
        self._store = JsonStore(request.run.directory, STORE, VERSION)

    def load(self) -> Kept | None:
        """Return the cached result; None if there is none for these files and options."""
        return self._store.load(lambda stored: decoded(Kept, stored["kept"]) if stored["key"] == self._key else None)

    def save(self, kept: Kept) -> None:
        """Store the result, if the directory is writable."""
        if self._key is not None:
            self._store.save({"key": self._key, "kept": encoded(kept)})


def _key(request: SharedRequest) -> str | None:
    """Return the identity of these files and options; None where it cannot be determined."""
    ranks, options = set(request.ranks), request.options
    files = []
    for process in request.run.processes:
        if process.rank in ranks:
            # A series has many files.
            paths = sorted(Path(process.path).iterdir()) if process.series else [Path(process.path)]
            try:
                states = [(path.name, os.stat(path)) for path in paths if path.is_file() and path.suffix != ".json"]
            except OSError:
                return None
            files += [(name, state.st_size, state.st_mtime_ns) for name, state in states]
    first = request.shown if options.method == "paper" else None
    how = (options.method, options.k, options.level, options.seed, options.settings, options.waits, request.libs,
           request.exe, first)  # fmt: skip
    return hashlib.sha256(json.dumps([request.ranks, files, how]).encode()).hexdigest()


def encoded(value: Any) -> Any:
    """Convert dataclasses, tuples and arrays to values of JSON."""
    if dataclasses.is_dataclass(value):
        return {field.name: encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [encoded(one) for one in value] if isinstance(value, tuple) else value


def decoded(kind: Any, value: Any) -> Any:
    """Convert the output of `encoded` back to a value of this type.

    Raises:
        KeyError, TypeError, ValueError: the value is not of this type.
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{field.name: decoded(hints[field.name], value[field.name]) for field in dataclasses.fields(kind)})
    if kind in (FloatArray, IntArray):
        return np.array(value, dtype=np.float64 if kind == FloatArray else np.int64)
    if get_origin(kind) is UnionType:
        return None if value is None else decoded(get_args(kind)[0], value)
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(decoded(one, part) for one, part in zip(kinds, value, strict=True))
    if kind is float and isinstance(value, int | float):
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind}")
    return value


# Intervals of the analysis: the recorded ones for the paper's method, else parts of the segments of the run.


# A common kernel's CPU-time clock ticks at most this often.
MOST_HZ = 250.0


def binned(profile: IntervalProfile, options: StudyOptions) -> IntervalProfile:
    """Return a recorded profile in the intervals of the analysis; warns if it has too few samples."""
    if warning := few_samples(profile, options):
        profile = replace(profile, warnings=(*profile.warnings, warning))
    if options.method == "paper":
        return profile
    return in_bins(profile, options.thresholds.phases, options.k or options.level)


def few_samples(profile: IntervalProfile, options: StudyOptions) -> str | None:
    """Return a remedy for too few samples: in the run, or in the intervals that the paper's method takes."""
    meta, ticks, least = profile.metadata, ticks_of(profile), options.thresholds.phases.samples
    if not ticks.sum() > 0:
        return None
    if meta.has_waits and ticks.sum() >= least * ENOUGH:
        return "the program waits nearly all the time: its phases and functions are by what it waits for"
    missed_s, samples = missed_seconds(profile), profile.samples
    nowhere = float(samples.weight[samples.kind == UNKNOWN].sum())
    if ticks.sum() - nowhere < least * ENOUGH <= ticks.sum():
        seconds = f"{nowhere / meta.rate_hz:.2g} of {ticks.sum() / meta.rate_hz:.2g} s of CPU time"
        return (
            f"few samples ({ticks.sum() - nowhere:.0f}): {seconds} is in no function, as that of threads that end soon"
        )
    if ticks.sum() < least * ENOUGH and missed_s is not None:
        return f"few samples ({ticks.sum():.0f}): {not_sampled(missed_s)}"
    if ticks.sum() < least * ENOUGH:
        more = f", or with -r {MOST_HZ:g}" if meta.rate_hz < MOST_HZ else ""
        return f"few samples ({ticks.sum():.0f}): record for longer{more}"
    by = pooled_by(profile, options.thresholds.phases) if options.method == "paper" else 1
    return (
        None if by == 1 else f"few samples per interval ({ticks.mean():.2g}): record with -i {meta.interval_s * by:g}"
    )


# Cache of the k-means runs of the paper's method beside the recorded run: later answers import no library.


KMEANS_STORE, KMEANS_VERSION = "kmeans.json", 1
# An answer takes one run of k-means, and up to twelve of resampled intervals.
MOST_RUNS = 64


@contextmanager
def kmeans_runs(directory: str, method: Method) -> Iterator[KMeansRuns | None]:
    """Open the cached k-means runs of a recording, and store what was computed; None for other methods."""
    if method != "paper":
        yield None
        return
    store = JsonStore(directory, KMEANS_STORE, KMEANS_VERSION)
    runs = KMeansRuns(_runs_in(store))
    yield runs
    # Another process may have stored its runs meanwhile.
    stored = _runs_in(store)
    if any(stored.get(key) != value for key, value in runs.used.items()):
        kept = {key: value for key, value in stored.items() if key not in runs.used} | runs.used
        store.save({"runs": dict(list(kept.items())[-MOST_RUNS:])})


def _runs_in(store: JsonStore) -> dict[str, object]:
    """Return the cached runs; empty where the file is missing or damaged."""
    return store.load(lambda kept: dict(kept["runs"])) or {}
