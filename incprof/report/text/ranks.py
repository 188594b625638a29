"""Ranks for people: groups of similar ranks, phases over ranks, and stragglers."""

from __future__ import annotations

from rich.console import Console

from incprof.analysis.ranks.all_ranks import PEERS, worked_s
from incprof.analysis.ranks.ranks_result import PhaseBalance, RanksResult
from incprof.model.section import Column, Table
from incprof.model.time_use import MPI
from incprof.report.render.text import text_table
from incprof.report.text.folding import print_folded
from incprof.report.words.formatting import count
from incprof.report.words.ranks import (
    agree_line,
    group_lines,
    late_lines,
    outlier_lines,
    straggler_lines,
    unlike_lines,
)

# An imbalance of fewer standard errors may be noise.
SURE = 3.0
# Begins a continuation line.
HANG = "  "


def write_ranks_line(console: Console, found: RanksResult) -> None:
    """Print whether all ranks behave alike, and how many do not."""
    console.print()
    numbers = {"straggler": len(found.stragglers), "outlier": len(found.outliers)}
    odd = [count(number, noun) for noun, number in numbers.items() if number]
    line = agree_line(found) + (f"; {', '.join(odd)}: --details" if odd else "")
    print_folded(console, "ranks: ", [line, *unlike_lines(found)], HANG)


def write_ranks(console: Console, found: RanksResult, *, per_rank: bool) -> None:
    """Print the results for all ranks; also a row for each of them if `per_rank`."""
    console.print()
    console.print(text_table(_phase_table(found), console.width))
    console.print()
    print_folded(console, "stragglers: ", straggler_lines(found) or [_no_stragglers(found)], HANG)
    if 1 < len(found.groups) < len(found.ranks):
        print_folded(console, "groups: ", group_lines(found), HANG)
    print_folded(console, "outliers: ", outlier_lines(found), HANG)
    print_folded(console, "time: ", late_lines(found), HANG)
    if per_rank:
        console.print()
        console.print(text_table(_rank_table(found), console.width))


def _no_stragglers(found: RanksResult) -> str:
    """Report that there are no stragglers, or that there are too few ranks to detect them."""
    return "none" if max((phase.ranks for phase in found.phases), default=0) >= PEERS else "too few ranks to tell"


def _phase_table(found: RanksResult) -> Table:
    """Return the phases over ranks."""
    columns = (
        Column("Phase", lambda phase: phase.id, "phase"),
        Column("Ranks", lambda phase: phase.ranks, "count"),
        Column("Work: least", lambda phase: phase.work.least, "duration"),
        Column("median", lambda phase: phase.work.median, "duration"),
        Column("most", lambda phase: phase.work.most, "duration"),
        Column("Imbalance", _imbalance, "%"),
        Column("In MPI", lambda phase: phase.mpi.median, "duration"),
        Column("most", lambda phase: phase.mpi.most, "duration"),
        Column("Slowest", lambda phase: phase.slowest if phase.ranks > 1 else "", "count"),
    )
    return Table(columns, found.phases)


def _imbalance(phase: PhaseBalance) -> str:
    """Return the imbalance of work; with a question mark where sampling noise may explain it."""
    value = phase.work.imbalance
    if value is None or phase.error is None or phase.ranks < 2:
        return ""
    return f"{100 * value:.0f} %" + (" ?" if value < SURE * phase.error else "")


def _rank_table(found: RanksResult) -> Table:
    """Return a table with a row for each rank: its agreement, and its work in each phase."""
    work = worked_s(found.spent)

    def in_phase(phase: int) -> Column:
        return Column(f"Phase {phase}", lambda place: float(work[place, phase]), "duration")

    def agreement(place: int) -> str:
        value = found.agreement[place]
        return "" if value is None else f"{value:.2f}"

    columns = (
        Column("Rank", lambda place: found.ranks[place], "count"),
        Column("Agrees", agreement, "number"),
        Column("Start", lambda place: float(found.offset_s[place]), "duration"),
        Column("Wall", lambda place: float(found.wall_s[place].sum()), "duration"),
        Column("In MPI", lambda place: float(found.spent[place, :, MPI].sum()), "duration"),
        *(in_phase(phase.id) for phase in found.phases),
    )
    return Table(columns, range(len(found.ranks)))
