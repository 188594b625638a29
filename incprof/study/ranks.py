"""All ranks of a run in the phases of all: each is read and summed up by itself, and the rest is done with the sums."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from incprof.analysis.answer.find import find_phases, site_chooser
from incprof.analysis.phases.results import PhaseResult
from incprof.analysis.ranks.assign import assigned
from incprof.analysis.ranks.found import said_of_ranks
from incprof.analysis.ranks.kinds import MOST_PARTS, first_part, more_parts
from incprof.analysis.ranks.modes import modes_of
from incprof.analysis.ranks.results import Modes, Part, RanksResult, RankSummary
from incprof.analysis.ranks.summary import summarised
from incprof.errors import IncprofError, NoDataError
from incprof.model import IntervalProfile, Run, pooled
from incprof.model.joining import joined, some_intervals
from incprof.study.engine import engine, mapped
from incprof.study.options import Libs, StudyOptions
from incprof.study.study import Study

if TYPE_CHECKING:
    from incprof.analysis.sites.choice import SiteChooser

# Times that phases are found again with what those found before do not explain.
ROUNDS = 3


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
    """What came of it. summary: None where the rank could not be read, and problem says why. program: what it ran."""

    rank: int
    summary: RankSummary | None
    problem: str | None = None
    program: tuple[str, str] = ("", "")
    world: int | None = None
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
    return RankRead(job.rank, summary, None, program, meta.ranks, meta.interval_s / meta.pooled, meta.rate_hz)


def alone(job: RankJob) -> Study:
    """Return a rank as a study of itself."""
    return Study(
        job.run, rank=job.rank, libs=job.libs, exe=job.exe, nameless=True, options=job.options, ranks=(job.rank,)
    )


@dataclass(frozen=True)
class Found:
    """The phases of all ranks. profile: the parts that they were found in, as one run; result: the phases in it.

    problems: what is missing or was left out, a line each. left_out: ranks of which nothing is used.
    """

    profile: IntervalProfile
    chooser: SiteChooser
    result: PhaseResult
    modes: Modes
    ranks: RanksResult
    problems: tuple[str, ...]
    left_out: tuple[int, ...]

    @property
    def partial(self) -> bool:
        """Whether a part of the input is missing in the answer."""
        return bool(self.problems)


class Shared:
    """Finds the phases of some ranks of a study."""

    def __init__(self, study: Study, ranks: Sequence[int]):
        self._study, self._ranks = study, ranks
        self._jobs = dict(zip(ranks, jobs_of(study, ranks), strict=True))

    def found(self) -> Found:
        """Read all ranks, find the phases, and say every rank in them.

        Raises:
            NoDataError: no rank can be read.
        """
        study = self._study
        with study.listener.progress("reading ranks") as report, engine(study.options, len(self._ranks)) as executor:
            read = mapped(executor, read_rank, list(self._jobs.values()), report)
        with study.listener.progress("clustering") as report:
            report(0, 1)
            return self._reduced(read)

    def _reduced(self, read: Sequence[RankRead]) -> Found:
        """Find the phases, and say every rank in them."""
        usable, problems = _usable(read)
        if not usable:
            raise NoDataError(next(one.problem for one in read if one.problem is not None))
        summaries = [one.summary for one in usable if one.summary is not None]
        options = self._study.thresholds.phases
        parts, rounds = [self._first(summaries)], ROUNDS if self._study.options.method == "robust" else 1
        for round_ in range(rounds):
            profile, chooser, result = self._model(parts)
            modes = modes_of(profile, chooser.features, result, self._study.thresholds)
            intervals = int(next(s.pieces.end[-1] for s in summaries if s.rank == parts[0].rank))
            labels, strange = assigned(summaries, modes, options, (parts[0].rank, result.labels[:intervals]))
            more = more_parts(summaries, strange, MOST_PARTS - len(parts), options) if round_ + 1 < rounds else []
            if not more:
                break
            parts += more
        said = said_of_ranks(
            summaries, labels, parts, result.k, rate_hz=usable[0].rate_hz, interval_s=usable[0].interval_s
        )
        left_out = tuple(sorted(set(self._ranks) - set(said.ranks)))
        return Found(profile, chooser, result, modes, said, tuple(problems), left_out)

    def _first(self, summaries: Sequence[RankSummary]) -> Part:
        """Return the rank that phases are found in first: the paper's method is about the one that is looked at."""
        study, ranks = self._study, [summary.rank for summary in summaries]
        if study.options.method == "robust":
            return first_part(summaries, study.thresholds.phases)
        return Part(study.rank if study.rank in ranks and study.rank is not None else ranks[0])

    def _model(self, parts: Sequence[Part]) -> tuple[IntervalProfile, SiteChooser, PhaseResult]:
        """Find the phases of parts of ranks."""
        study, options = self._study, self._study.options
        first = self._whole(parts[0].rank)
        pieces = [first, *(self._piece(part, first.metadata.pooled) for part in parts[1:])]
        profile = joined(pieces)
        thresholds = study.thresholds
        # A phase is long enough if it is in the run of one rank.
        least = thresholds.phases.least * first.n_intervals / profile.n_intervals
        thresholds = replace(thresholds, phases=replace(thresholds.phases, least=least))
        chooser = site_chooser(profile, options.method, thresholds)
        result = find_phases(
            profile, method=options.method, k=options.k, level=options.level, random_state=options.seed, jobs=1,
            options=thresholds, chooser=chooser,
        )  # fmt: skip
        return profile, chooser, replace(result, options=study.thresholds)

    def _whole(self, rank: int) -> IntervalProfile:
        """Read a rank in intervals that hold samples enough."""
        return alone(self._jobs[rank]).profile

    def _piece(self, part: Part, by: int) -> IntervalProfile:
        """Read what a part of phases has of a rank, `by` recorded intervals as one."""
        profile = pooled(alone(self._jobs[part.rank]).recorded, by)
        middle = (profile.start_s + profile.end_s) / 2.0
        use = np.zeros(profile.n_intervals, dtype=np.bool_)
        for start, end in part.spans or ():
            use |= (middle > start) & (middle < end)
        return some_intervals(profile, use)


def _usable(read: Sequence[RankRead]) -> tuple[list[RankRead], list[str]]:
    """Return the ranks that take part, and say of the others why they do not."""
    good, problems = [one for one in read if one.summary is not None], []
    problems += [f"rank {one.rank} is left out: {one.problem}" for one in read if one.summary is None]
    program = Counter(one.program for one in good)
    most = max(program.values(), default=0)
    usual = next((one.program for one in good if program[one.program] == most), ("", ""))
    for one in good:
        if one.program != usual:
            what = one.program[0] if one.program[0] != usual[0] else f"another build of {usual[0]}"
            problems.append(f"rank {one.rank} is left out: it ran {what}, most ranks {usual[0]}; --ranks {one.rank}")
        assert one.summary is not None
        if one.summary.damaged and one.program == usual:
            problems.append(f"rank {one.rank}: {'; '.join(one.summary.warnings)}")
    return [one for one in good if one.program == usual], problems
