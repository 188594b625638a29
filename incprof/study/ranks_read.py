"""What is read of each rank, wherever that is done, and which ranks can be held against one another."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from incprof.analysis.ranks.results import RankSummary
from incprof.analysis.ranks.summary import summarised
from incprof.errors import IncprofError
from incprof.model import Run
from incprof.study.options import Libs, StudyOptions
from incprof.study.study import Study, listed

# Ranks of a larger job than this are not asked for one by one.
MOST_RANKS = 10_000_000


@dataclass(frozen=True)
class RankJob:
    """What is done for a rank, wherever: run: nothing but that rank."""

    run: Run
    rank: int
    libs: Libs
    exe: str | None
    options: StudyOptions


@dataclass(frozen=True)
class RankRead:
    """What came of it. summary: None where the rank could not be read, and problem says why.

    program: what it ran, and the build-id of that. launch: with which other processes. world: ranks that there were.
    selected: some were not to be recorded.
    """

    rank: int
    summary: RankSummary | None
    problem: str | None = None
    program: tuple[str, str] = ("", "")
    launch: str = ""
    world: int | None = None
    selected: bool = False
    interval_s: float = 1.0
    rate_hz: float = 100.0


def jobs_of(study: Study, ranks: Sequence[int]) -> list[RankJob]:
    """Return what is to be done for some ranks of a study."""
    processes = {rank: [p for p in study.run.processes if p.rank == rank] for rank in ranks}
    options = replace(study.options, jobs=1)
    return [
        RankJob(replace(study.run, processes=tuple(processes[rank])), rank, study.libs, study.exe, options)
        for rank in ranks
    ]


def read_rank(job: RankJob) -> RankRead:
    """Read a rank and sum it up. This is what engines run: it takes little, and gives back little."""
    try:
        profile = alone(job).profile
        summary = summarised(profile, job.options.k if job.options.method == "robust" else None, job.options.thresholds)
    except IncprofError as error:
        return RankRead(job.rank, None, str(error))
    meta = profile.metadata
    module = next((module for module in meta.modules if module.app), None)
    program = (os.path.basename(meta.exe or meta.app), (module.build_id if module else None) or "")
    return RankRead(
        rank=job.rank,
        summary=summary,
        program=program,
        launch=str(meta.raw.get("launch") or ""),
        world=meta.ranks,
        selected=meta.raw.get("selected") is True,
        interval_s=meta.interval_s / meta.pooled,
        rate_hz=meta.rate_hz,
    )


def alone(job: RankJob) -> Study:
    """Return a rank as a study of itself."""
    return Study(
        job.run, rank=job.rank, libs=job.libs, exe=job.exe, nameless=True, options=job.options, ranks=(job.rank,)
    )


def usable(read: Sequence[RankRead], *, all_wanted: bool) -> tuple[list[RankRead], list[str]]:
    """Return the ranks that take part, and say what is wrong with the others, or not there, a line each.

    all_wanted: all ranks were asked for, so that those without a file are missing.
    """
    good = [one for one in read if one.summary is not None]
    problems = [f"rank {one.rank} is left out: {one.problem}" for one in read if one.summary is None]
    if all_wanted and (missing := _missing(read)):
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
    return [rank for rank in range(min(world, MOST_RANKS)) if rank not in there]
