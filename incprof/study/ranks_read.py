"""What is read of each rank, wherever that is done, and which ranks can be held against one another."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from incprof.analysis.callgraph.paths import with_estimated_paths
from incprof.analysis.ranks.results import RankSummary
from incprof.analysis.ranks.summary import summarised
from incprof.errors import IncprofError
from incprof.model import IntervalProfile, Process, Run
from incprof.readers import read_profile
from incprof.readers.run import listed
from incprof.study.listener import Listener
from incprof.study.options import Libs, StudyOptions
from incprof.study.pooling import with_samples

# Ranks of a larger job than this are not asked for one by one.
MOST_RANKS = 10_000_000


@dataclass(frozen=True)
class Together:
    """Ranks of a run that are looked at together, and how. shown: the one that the answer is for, if that was said."""

    run: Run
    ranks: tuple[int, ...]
    shown: int | None
    libs: Libs
    exe: str | None
    options: StudyOptions
    listener: Listener


@dataclass(frozen=True)
class RankJob:
    """What is done for a rank, wherever: run: nothing but that rank. cwd: where its paths lead from."""

    run: Run
    rank: int
    libs: Libs
    exe: str | None
    options: StudyOptions
    cwd: str

    def anywhere(self) -> RankJob:
        """Return the same with absolute paths: who does it may be in another directory."""
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
    """What came of it. summary: None where the rank could not be read, and problem says why.

    lost: the process that should have read it was killed.
    program: what it ran, and the build-id of that. launch: with which other processes. world: ranks that there were.
    selected: some were not to be recorded.
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
    """Return what is to be done for each rank."""
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
    """Read a rank and sum it up. This is what engines run: it takes little, and gives back little."""
    try:
        profile = pooled_profile(job.anywhere())
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
        interval_s=meta.interval_s / meta.pooled,
        rate_hz=meta.rate_hz,
    )


def lost_rank(job: RankJob) -> RankRead:
    """Return what is known of a rank that nobody lived to read."""
    return RankRead(job.rank, None, "the process that read it was killed", lost=True)


def recorded_profile(job: RankJob) -> IntervalProfile:
    """Read a rank, interval by interval."""
    paper = job.options.method == "paper"
    return read_profile(job.run, rank=job.rank, libs=job.libs, exe=job.exe, inlined=not paper, nameless=True)


def pooled_profile(job: RankJob) -> IntervalProfile:
    """Read a rank in intervals that hold samples enough, as for its own answer."""
    options = job.options
    profile = with_samples(recorded_profile(job), options.thresholds.phases, pool=options.method != "paper")
    return profile if options.method == "paper" else with_estimated_paths(profile)


def usable(read: Sequence[RankRead], elsewhere: Container[int] | None) -> tuple[list[RankRead], list[str]]:
    """Return the ranks that take part, and what is wrong with the others, a line each.

    elsewhere: ranks that ran other programs of the job; None where not all ranks are wanted, and none is missing.
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
    """Tell whether a rank is none of the job's: it ran another program, and was not launched with the others as one."""
    together = bool(one.launch) and one.launch == usual.launch and one.program[0] != usual.program[0]
    return one.program != usual.program and not together


def _missing(read: Sequence[RankRead]) -> list[int]:
    """Return the ranks that should have been recorded, and have no file."""
    if any(one.selected for one in read):
        return []
    world = max((one.world for one in read if one.world is not None), default=0)
    there = {one.rank for one in read}
    # Where numbers of ranks are not those of a job of this size, nobody knows who is missing.
    if max(there) >= world:
        return []
    return [rank for rank in range(min(world, MOST_RANKS)) if rank not in there]
