"""Every rank of a run over time, for the heat map of a page."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

from incprof.analysis.views.rankmap import (
    MOST_BINS,
    PhaseMixes,
    RankRow,
    agreement,
    grouped,
    own_row,
    phase_mixes,
    rank_row,
)
from incprof.analysis.views.timebins import time_bins
from incprof.errors import IncprofError
from incprof.model import Run
from incprof.report.page.parts import RankMap
from incprof.study.options import Libs, StudyOptions
from incprof.study.study import Study


def rank_map(study: Study, *, whole: bool = False) -> RankMap | None:
    """Read all ranks and find each one's phases; None where there is one rank only. whole: a row for each."""
    if len(study.run.ranks) < 2:
        return None
    profile, result = study.profile, study.result
    bins = time_bins(profile, result.labels, MOST_BINS)
    mixes = phase_mixes(profile, result, bins)
    own = own_row(profile, mixes, bins)
    work = partial(_row, study.run, mixes=mixes, libs=study.libs, exe=study.exe, options=study.options)
    others = [rank for rank in study.run.ranks if rank != own.rank]
    rows, unread = {own.rank: own}, []
    for rank, row in zip(others, _read(study, work, others), strict=True):
        if row is None:
            unread.append(rank)
        else:
            rows[rank] = row
    if unread:
        are = "is" if len(unread) == 1 else "are"
        study.listener.warn([f"{_listed(unread)} could not be read and {are} not in the map of ranks"])
    found = [rows[rank] for rank in sorted(rows)]
    ordered = tuple(found if whole else grouped(found))
    agreements = tuple(agreement(row, own) for row in ordered)
    return RankMap(ordered, agreements, bins.start_s, bins.end_s, own.rank, len(found), tuple(unread))


def _listed(ranks: list[int]) -> str:
    """Name ranks, the first few of many."""
    first = ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {first}"


def _read(study: Study, work: Callable[[int], RankRow | None], ranks: list[int]) -> list[RankRow | None]:
    """Read ranks one after the other, or in several processes; None for what cannot be read."""
    rows: list[RankRow | None] = []
    with study.listener.progress("reading ranks") as report:
        if study.options.jobs == 1:
            for done, rank in enumerate(ranks):
                report(done, len(ranks))
                rows.append(work(rank))
            return rows
        with ProcessPoolExecutor(study.options.jobs) as pool:
            for done, row in enumerate(pool.map(work, ranks, chunksize=4)):
                report(done, len(ranks))
                rows.append(row)
    return rows


def of_rank(run: Run, rank: int, *, libs: Libs, exe: str | None, options: StudyOptions) -> Study:
    """Return the study of another rank, in which phases are found as in the first one."""
    return Study(run, rank=rank, libs=libs, exe=exe, nameless=True, options=replace(options, jobs=1))


def _row(
    run: Run, rank: int, *, mixes: PhaseMixes, libs: Libs, exe: str | None, options: StudyOptions
) -> RankRow | None:
    """Read one rank and keep no more of it than its row."""
    try:
        study = of_rank(run, rank, libs=libs, exe=exe, options=options)
        return rank_row(study.profile, study.clustered, mixes)
    except IncprofError:
        return None
