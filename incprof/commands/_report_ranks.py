"""Every rank of a run over time, for the heat map of a page."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from incprof.commands._common import Libs, progress, warn
from incprof.errors import IncprofError

if TYPE_CHECKING:
    from incprof.analysis.phases.results import PhaseResult
    from incprof.analysis.views.rankmap import PhaseMixes, RankRow
    from incprof.model import IntervalProfile, Run
    from incprof.report.page.parts import RankMap


def rank_map(
    recorded: Run,
    profile: IntervalProfile,
    result: PhaseResult,
    *,
    libs: Libs,
    exe: str | None,
    inlined: bool,
    jobs: int,
    whole: bool = False,
) -> RankMap | None:
    """Read all ranks and give their time to the phases; None where there is one rank only. whole: a row for each."""
    if len(recorded.ranks) < 2:
        return None
    from incprof.analysis.views.rankmap import MOST_BINS, agreement, grouped, own_row, phase_mixes
    from incprof.analysis.views.timebins import time_bins
    from incprof.report.page.parts import RankMap

    bins = time_bins(profile, result.labels, MOST_BINS)
    mixes = phase_mixes(profile, result, bins)
    own = own_row(profile, mixes, bins)
    work = partial(_row, recorded, mixes=mixes, libs=libs, exe=exe, inlined=inlined)
    others = [rank for rank in recorded.ranks if rank != own.rank]
    rows, unread = {own.rank: own}, []
    for rank, row in zip(others, _read(work, others, jobs), strict=True):
        if row is None:
            unread.append(rank)
        else:
            rows[rank] = row
    if unread:
        are = "is" if len(unread) == 1 else "are"
        warn((f"{_listed(unread)} could not be read and {are} not in the map of ranks",))
    found = [rows[rank] for rank in sorted(rows)]
    ordered = tuple(found if whole else grouped(found))
    agreements = tuple(agreement(row, own) for row in ordered)
    return RankMap(ordered, agreements, bins.start_s, bins.end_s, own.rank, len(found), tuple(unread))


def _listed(ranks: list[int]) -> str:
    """Name ranks, the first few of many."""
    first = ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {first}"


def _read(work: Callable[[int], RankRow | None], ranks: list[int], jobs: int) -> list[RankRow | None]:
    """Read ranks one after the other, or in several processes; None for what cannot be read."""
    rows: list[RankRow | None] = []
    with progress("reading ranks") as report:
        if jobs == 1:
            for done, rank in enumerate(ranks):
                report(done, len(ranks))
                rows.append(work(rank))
            return rows
        with ProcessPoolExecutor(jobs) as pool:
            for done, row in enumerate(pool.map(work, ranks, chunksize=4)):
                report(done, len(ranks))
                rows.append(row)
    return rows


def _row(recorded: Run, rank: int, *, mixes: PhaseMixes, libs: Libs, exe: str | None, inlined: bool) -> RankRow | None:
    """Read one rank and keep no more of it than its row."""
    from incprof.analysis.views.rankmap import rank_row
    from incprof.readers import read_profile

    try:
        profile = read_profile(recorded, rank=rank, libs=libs, exe=exe, inlined=inlined, nameless=True)
    except IncprofError:
        return None
    return rank_row(profile, mixes)
