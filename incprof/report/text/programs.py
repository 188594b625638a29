"""The programs of a job for people: a table of processes and CPU time, and which of them the answer is about."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from incprof.model import Program, Run
from incprof.printable import printable
from incprof.report.words.figures import count, duration

MOST_ROWS = 8


def write_programs(console: Console, run: Run) -> None:
    """Write the table where there are several programs, or processes that no launcher has numbered."""
    if not run.is_job:
        return
    whole_s = sum(sum(program.cpu_s) for program in run.programs)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Program")
    table.add_column("Processes", justify="right")
    table.add_column("CPU time", justify="right")
    table.add_column("% of job", justify="right")
    table.add_column("")
    shown = {process.path for process in run.processes}
    for program in run.programs[:MOST_ROWS]:
        cpu_s = sum(program.cpu_s)
        here = shown.intersection(process.path for process in program.processes)
        table.add_row(
            printable(program.name) or "(cannot be read)",
            str(len(program.processes)),
            duration(cpu_s),
            f"{100 * cpu_s / whole_s:.1f}" if whole_s else "",
            _remark(program, run) if here else "",
        )
    console.print(table)
    if len(run.programs) > MOST_ROWS:
        console.print(f"and {count(len(run.programs) - MOST_ROWS, 'program')} with less")
    console.print()


def _remark(program: Program, run: Run) -> str:
    """Return which processes of a program the answer is about."""
    if run.workers:
        return f"shown: {len(run.processes)} processes side by side, numbered as ranks"
    if not program.is_crowded:
        return "shown (others: --program NAME)"
    if len({process.rank for process in program.processes}) > 1:
        return "shown: of each rank the busiest process (others: --pid)"
    return f"shown: process {program.pids[0]} (others: --pid)"
