"""Ranks for people: which are alike, how phases are spread over ranks, and which work longer than their peers."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incprof.analysis.ranks.balance import PEERS, worked_s
from incprof.analysis.ranks.results import PhaseBalance, RanksResult
from incprof.analysis.views.ribbon import badge
from incprof.model.spent import MPI
from incprof.report.text.folding import print_folded
from incprof.report.words.colours import style
from incprof.report.words.figures import count, duration
from incprof.report.words.ranks import (
    agree_line,
    group_lines,
    late_lines,
    outlier_lines,
    straggler_lines,
    unlike_lines,
)

# Standard errors below which an imbalance may be none.
SURE = 3.0
# Before what is folded.
HANG = "  "


def write_ranks_line(console: Console, found: RanksResult) -> None:
    """Print whether all ranks do the same, and how many do not."""
    console.print()
    numbers = {"straggler": len(found.stragglers), "outlier": len(found.outliers)}
    odd = [count(number, noun) for noun, number in numbers.items() if number]
    line = agree_line(found) + (f"; {', '.join(odd)}: --details" if odd else "")
    print_folded(console, "ranks: ", [line, *unlike_lines(found)], HANG)


def write_ranks(console: Console, found: RanksResult, *, per_rank: bool) -> None:
    """Print what ranks are like; a row for each of them as well, if asked for."""
    console.print()
    console.print(_phase_table(found))
    console.print()
    print_folded(console, "stragglers: ", straggler_lines(found) or [_no_stragglers(found)], HANG)
    if 1 < len(found.groups) < len(found.ranks):
        print_folded(console, "groups: ", group_lines(found), HANG)
    print_folded(console, "outliers: ", outlier_lines(found), HANG)
    print_folded(console, "time: ", late_lines(found), HANG)
    if per_rank:
        console.print()
        console.print(_rank_table(found))


def _no_stragglers(found: RanksResult) -> str:
    """Return that there are none, or that there are too few ranks to tell."""
    return "none" if max((phase.ranks for phase in found.phases), default=0) >= PEERS else "too few ranks to tell"


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
