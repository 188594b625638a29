"""Read and summarise each rank, in any process, and decide which ranks are comparable."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from incprof.analysis.call_paths import with_estimated_paths
from incprof.analysis.ranks.ranks_result import RankSummary
from incprof.analysis.ranks.summary import summarised
from incprof.errors import IncprofError
from incprof.model import IntervalProfile, Process, Run
from incprof.readers import read_profile
from incprof.readers.run import listed
from incprof.study.binning import binned
from incprof.study.listener import Listener
from incprof.study.options import Libs, StudyOptions

# Ranks of a larger job are not searched for one by one.
MOST_RANKS = 10_000_000


@dataclass(frozen=True)
class Together:
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


def jobs_of(asked: Together) -> list[RankJob]:
    """Return the work for each rank."""
    processes: dict[int, list[Process]] = {rank: [] for rank in asked.ranks}
    for process in asked.run.processes:
        if process.rank in processes:
            processes[process.rank].append(process)
    options, cwd = replace(asked.options, jobs=1, dask=None), os.getcwd()
    return [
        RankJob(replace(asked.run, processes=tuple(own)), rank, asked.libs, asked.exe, options, cwd)
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
    module = next((module for module in meta.modules if module.app), None)
    program = (os.path.basename(meta.exe or meta.app), (module.build_id if module else None) or "")
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
    return read_profile(job.run, rank=job.rank, libs=job.libs, exe=job.exe, inlined=not paper, nameless=True)


def binned_profile(job: RankJob) -> IntervalProfile:
    """Read a rank in the intervals of its own answer."""
    profile = binned(recorded_profile(job), job.options)
    return profile if job.options.method == "paper" else with_estimated_paths(profile)


def usable(read: Sequence[RankRead], elsewhere: Container[int] | None) -> tuple[list[RankRead], list[str]]:
    """Return the usable ranks, and the problems of the others, a line each.

    elsewhere: ranks of other programs of the job; None where only some ranks are requested, and none is missing.
    """
    good = [one for one in read if one.summary is not None]
    problems = [f"rank {one.rank} is left out: {one.problem}" for one in read if one.summary is None]
    missing = [] if elsewhere is None else [rank for rank in _missing(read) if rank not in elsewhere]
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
                f"rank {one.rank} is left out: it ran {what}, and most ranks {most[0]}; --ranks {one.rank} is about it"
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
    there = {one.rank for one in read}
    # If the rank numbers do not fit the size of the job, missing ranks are unknown.
    if max(there) >= world:
        return []
    return [rank for rank in range(min(world, MOST_RANKS)) if rank not in there]
