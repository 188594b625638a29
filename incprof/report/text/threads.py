"""The roles of threads as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.text import Text

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.thread_roles import Imbalance, Role, ThreadRoles
from incprof.analysis.views.tracks import badge
from incprof.model import Function
from incprof.report.text.console import console_for
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import count, percent
from incprof.report.words.phase_names import names_of

# A role is not reported as busy in a phase if it has a smaller share of it.
SEEN = 0.005
# Threads listed by number.
MOST = 8
# Columns of a name.
LEAST = 12
HEAD = ("Role", "Threads", "CPU s", "CPU %", "Busy in phase")


def write_threads(
    found: ThreadRoles, result: PhaseResult, out: TextIO, *, width: int = 100, colour: bool = False
) -> None:
    """Write the table, and below it the threads that have more work than others of the same role.

    Args:
        found: the roles.
        result: the phases of the same answer, whose functions have the same names.
        out: output stream.
        width: columns.
        colour: whether to use colours.
    """
    console = console_for(out, width=width, colour=colour)
    names = names_of(result, [function for role in found.roles for function, _ in role.functions])
    console.print()
    said = f"{count(found.count, 'thread')} in {count(len(found.roles), 'role')}"
    console.print(f"{said}: share of each thread's time on the CPU, in each phase")
    rows = [HEAD, *(_row(role) for role in found.roles)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row, functions in zip(rows, [(), *(role.functions for role in found.roles)], strict=True):
        cells = [
            f"{cell:>{size}}" if 0 < column < 4 else f"{cell:{size}}"
            for column, (cell, size) in enumerate(zip(row, wide, strict=True))
        ]
        line = "  ".join(cells)
        line += "  Functions" if row is HEAD else _functions(functions, names, width - len(line) - 2)
        console.print(Text(line.rstrip(), style="bold" if row is HEAD else ""), soft_wrap=True)
    for one in found.imbalances:
        console.print(_imbalance(one), soft_wrap=True)


def _row(role: Role) -> tuple[str, ...]:
    """Return the cells of a role."""
    busy = ", ".join(f"{badge(phase.id)}: {percent(phase.busy)}" for phase in role.phases if phase.busy >= SEEN)
    return role.name, str(len(role.threads)), f"{role.cpu_s:.2f}", f"{100 * role.share:.1f}", busy or "-"


def _functions(functions: Sequence[tuple[Function, float]], names: Names, room: int) -> str:
    """Return the first functions that fit, at least one."""
    line = ""
    for function, share in functions:
        part = f", {percent(share)} " if line else f"  {percent(share)} "
        if line and len(line) + len(part) + len(names(function)) > room:
            break
        line += part + names(function, max(room - len(line) - len(part), LEAST))
    return line


def _imbalance(one: Imbalance) -> str:
    """Return a line about a phase: its imbalance, and the threads that cause it."""
    who = ", ".join(
        f"thread {other.thread} {100 * other.more:+.0f} %"
        for other in sorted(one.differ, key=lambda d: -abs(d.more))[:MOST]
    )
    rest = f" and {len(one.differ) - MOST} more" if len(one.differ) > MOST else ""
    told = f": {who}{rest}" if who else ""
    return f"imbalance in phase {badge(one.phase)} {percent(one.imbalance)} over threads {_listed(one.threads)}{told}"


def _listed(threads: Sequence[int]) -> str:
    """Return thread numbers, consecutive ones as first-last."""
    runs: list[list[int]] = []
    for thread in sorted(threads):
        if runs and runs[-1][-1] == thread - 1:
            runs[-1][1:] = [thread]
        else:
            runs.append([thread])
    shown = ["-".join(map(str, run)) for run in runs[:MOST]]
    return ", ".join(shown) + (", ..." if len(runs) > MOST else "")
