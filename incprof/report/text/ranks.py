"""Ranks for people: who is alike, how phases are spread over ranks, who works longer than its peers."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incprof.analysis.ranks.balance import worked_s
from incprof.analysis.ranks.results import PhaseBalance, RanksResult
from incprof.analysis.views.ribbon import badge
from incprof.model.spent import MPI
from incprof.report.text.folding import folded
from incprof.report.words.colours import style
from incprof.report.words.figures import duration
from incprof.report.words.ranks import (
    agree_lines,
    found_in,
    group_lines,
    late_lines,
    outlier_lines,
    straggler_lines,
    unlike_lines,
)

# Standard errors below which an imbalance may be none.
SURE = 3.0


def write_ranks(console: Console, found: RanksResult, *, per_rank: bool) -> None:
    """Print what ranks are like; a row for each of them as well, if asked for."""
    _told(console, "ranks: ", [found_in(found), *agree_lines(found), *unlike_lines(found)])
    console.print()
    console.print(_phase_table(found))
    console.print()
    _told(console, "stragglers: ", straggler_lines(found) or ["none"])
    if 1 < len(found.groups) < len(found.ranks):
        _told(console, "groups: ", group_lines(found))
    _told(console, "outliers: ", outlier_lines(found))
    _told(console, "time: ", late_lines(found))
    if per_rank:
        console.print()
        console.print(_rank_table(found))
    console.print()


def _phase_table(found: RanksResult) -> Table:
    """Return the phases over ranks."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("Phase", "Ranks", "Work: least", "median", "most", "Imbalance", "In MPI", "most", "Slowest"):
        table.add_column(name, justify="right", no_wrap=True)
    for phase in found.phases:
        table.add_row(
            Text(f" {badge(phase.id)} ", style=style(phase.id)),
            str(phase.ranks),
            *(duration(seconds) for seconds in (phase.work.least, phase.work.median, phase.work.most)),
            _imbalance(phase),
            duration(phase.mpi.median),
            duration(phase.mpi.most),
            str(phase.slowest) if phase.ranks > 1 else "",
        )
    return table


def _imbalance(phase: PhaseBalance) -> str:
    """Return the imbalance of work; with a question mark where counting samples may explain it."""
    value = phase.work.imbalance
    if value is None or phase.error is None or phase.ranks < 2:
        return ""
    return f"{100 * value:.0f} %" + (" ?" if value < SURE * phase.error else "")


def _rank_table(found: RanksResult) -> Table:
    """Return a row for each rank: how it agrees, and its work in each phase."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    phases = [phase.id for phase in found.phases]
    for name in ("Rank", "Agrees", "Start", "Wall", "In MPI", *(f"Phase {phase}" for phase in phases)):
        table.add_column(name, justify="right", no_wrap=True)
    work = worked_s(found.spent)
    for place, (rank, agreement) in enumerate(zip(found.ranks, found.agreement, strict=True)):
        table.add_row(
            str(rank),
            "" if agreement is None else f"{agreement:.2f}",
            duration(float(found.offset_s[place])),
            duration(float(found.wall_s[place].sum())),
            duration(float(found.spent[place, :, MPI].sum())),
            *(duration(float(work[place, phase])) for phase in phases),
        )
    return table


def _told(console: Console, head: str, lines: Sequence[str]) -> None:
    """Print sentences below one another, with a head before the first."""
    rest = " " * len(head)
    for number, line in enumerate(lines):
        for part in folded(line, console.width, rest if number else head, rest + "  "):
            console.print(part, soft_wrap=True)
