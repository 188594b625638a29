"""Ranks for people: groups of similar ranks, phases over ranks, stragglers; threads; the programs of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
from rich.console import Console

from incprof.analysis.features import WORKS
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.ranks.all_ranks import worked_s
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.analysis.thread_roles import Imbalance, Role, ThreadRoles
from incprof.analysis.views.tracks import badge
from incprof.model import FloatArray, Function, Run
from incprof.model.section import Column, Table
from incprof.model.time_use import MPI
from incprof.report.render.text import console_for, print_folded, text_table
from incprof.report.words.display_names import Names, names_of
from incprof.report.words.formatting import count, duration, percent
from incprof.report.words.ranks import (
    agree_line,
    group_lines,
    imbalance,
    late_lines,
    outlier_lines,
    ranges,
    shown_of,
    straggler_lines,
    unlike_lines,
)

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
    """Report that there are no stragglers, or that there is one rank only."""
    return "none" if len(found.ranks) > 1 else "too few ranks to tell"


def _phase_table(found: RanksResult) -> Table:
    """Return the phases over ranks."""
    columns = (
        Column("Phase", lambda phase: phase.id, "phase"),
        Column("Ranks", lambda phase: phase.ranks, "count"),
        Column("Work: least", lambda phase: phase.work.least, "duration"),
        Column("median", lambda phase: phase.work.median, "duration"),
        Column("most", lambda phase: phase.work.most, "duration"),
        Column("Imbalance", imbalance, "%"),
        Column("CPU in MPI", lambda phase: phase.mpi.median, "duration"),
        Column("most", lambda phase: phase.mpi.most, "duration"),
        Column("Slowest", lambda phase: phase.slowest if phase.ranks > 1 else "", "count"),
    )
    return Table(columns, found.phases)


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
        Column("CPU in MPI", lambda place: float(found.spent[place, :, MPI].sum()), "duration"),
        *(in_phase(phase.id) for phase in found.phases),
    )
    return Table(columns, range(len(found.ranks)))


# The roles of threads as a table.


# A role is not reported as busy in a phase if it has a smaller share of it.
SEEN = 0.005
# Threads listed by number.
MOST = 8
# Columns of a name at least, and of all names where nothing limits them.
LEAST, WHOLE = 12, 10_000


def write_threads(
    found: ThreadRoles, result: PhaseResult, out: TextIO, *, width: int = 100, colour: bool = False
) -> None:
    """Write the table, and below it the threads that have more work than others of the same role.

    found: the roles. result: the phases of the same answer, whose functions have the same names.
    """
    console = console_for(out, width=width, colour=colour)
    names = names_of(result, [function for role in found.roles for function, _ in role.functions])
    console.print()
    said = f"{count(found.count, 'thread')} in {count(len(found.roles), 'role')}"
    console.print(f"{said}: share of each thread's time on the CPU, in each phase")
    console.print(text_table(_role_table(found.roles, names), console.width))
    for one in found.imbalances:
        console.print(_thread_imbalance(one), soft_wrap=True)


def _role_table(roles: Sequence[Role], names: Names) -> Table:
    """Return a row for each role."""

    def busy(role: Role) -> str | None:
        return ", ".join(f"{badge(p.id)}: {percent(p.busy)}" for p in role.phases if p.busy >= SEEN) or None

    def functions(role: Role, room: int = WHOLE) -> str:
        return _functions(role.functions, names, room)

    columns = (
        Column("Role", lambda role: role.name),
        Column("Threads", lambda role: len(role.threads), "count"),
        Column("CPU s", lambda role: f"{role.cpu_s:.2f}", "number"),
        Column("CPU %", lambda role: f"{100 * role.share:.1f}", "number"),
        Column("Busy in phase", busy),
        Column("Functions", functions, fit=functions),
    )
    return Table(columns, roles)


def _functions(functions: Sequence[tuple[Function, float]], names: Names, room: int) -> str:
    """Return the first functions that fit, at least one."""
    line = ""
    for function, share in functions:
        part = f"{', ' * bool(line)}{percent(share)} "
        if line and len(line) + len(part) + len(names(function)) > room:
            break
        line += part + names(function, max(room - len(line) - len(part), LEAST))
    return line


def _thread_imbalance(one: Imbalance) -> str:
    """Return a line about a phase: its imbalance, and the threads that cause it."""
    threads = ", ".join(
        f"thread {other.thread} {100 * other.more:+.0f} %"
        for other in sorted(one.differ, key=lambda d: -abs(d.more))[:MOST]
    )
    rest = f" and {len(one.differ) - MOST} more" if len(one.differ) > MOST else ""
    line = f"imbalance in phase {badge(one.phase)} {percent(one.imbalance)} over threads {ranges(one.threads, MOST)}"
    return f"{line}: {threads}{rest}" if threads else line


# The programs of a job, with their processes and CPU time, and when they ran.

MOST_PROGRAMS = 8
LETTERS = "ABCDEFGH"
# Programs with a smaller share of the job's CPU time, such as the script that starts the others, have no letter.
LEAST_WORK = 0.01


def write_programs(console: Console, run: Run, used: FloatArray | None = None) -> None:
    """Write the table if there are several programs, or processes without a rank. used: as of `used_over_time`."""
    if not run.is_job:
        return
    whole_s = sum(sum(program.cpu_s) for program in run.programs)
    working = [program for program in run.programs[:MOST_PROGRAMS] if sum(program.cpu_s) >= LEAST_WORK * whole_s]
    letters = {id(program): letter for program, letter in zip(working, LETTERS, strict=False)}
    columns = (
        Column("", lambda program: letters.get(id(program), "")),
        Column("Program", lambda program: program.name or "(cannot be read)"),
        Column("Processes", lambda program: len(program.processes), "count"),
        Column("CPU time", lambda program: sum(program.cpu_s), "duration"),
        Column("% of job", lambda program: sum(program.cpu_s) / whole_s if whole_s else "", "percent"),
        Column("", lambda program: shown_of(program, run)),
    )
    console.print(text_table(Table(columns, run.programs[:MOST_PROGRAMS]), console.width))
    if len(run.programs) > MOST_PROGRAMS:
        console.print(f"and {count(len(run.programs) - MOST_PROGRAMS, 'program')} with less")
    console.print()
    if len(working) > 1 and used is not None:
        _write_order(console, used[: len(working)], max(end for program in run.programs for _, end in program.spans_s))


def _write_order(console: Console, used: FloatArray, end_s: float) -> None:
    """Print the job from left to right: the program that used most CPU time, in lower case where all of them wait."""
    edges = np.linspace(0.0, end_s, console.width + 1)
    times = np.linspace(0.0, end_s, used.shape[1])
    used_s = np.diff([np.interp(edges, times, row) for row in used])
    least_s = WORKS * edges[1]
    cells = (
        "." if most <= 0 else LETTERS[at] if whole >= least_s else LETTERS[at].lower()
        for at, most, whole in zip(used_s.argmax(0), used_s.max(0), used_s.sum(0), strict=True)
    )  # fmt: skip
    console.print("".join(cells), soft_wrap=True)
    console.print("0 s" + duration(end_s).rjust(console.width - 3), soft_wrap=True)
    console.print()
