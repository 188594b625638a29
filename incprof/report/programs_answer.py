"""The programs of a job: a table of processes and CPU time, and JSON (docs/use/phases.md)."""

from __future__ import annotations

from rich.console import Console

from incprof.model import Program, Run
from incprof.model.section import Column, Table
from incprof.report.render.json import rounded
from incprof.report.render.text import text_table
from incprof.report.words.formatting import count

MOST_ROWS = 8


def write_programs(console: Console, run: Run) -> None:
    """Write the table if there are several programs, or processes without a rank."""
    if not run.is_job:
        return
    whole_s = sum(sum(program.cpu_s) for program in run.programs)
    shown = {process.path for process in run.processes}

    def remark(program: Program) -> str:
        shown_processes = shown.intersection(process.path for process in program.processes)
        return _remark(program, run) if shown_processes else ""

    columns = (
        Column("Program", lambda program: program.name or "(cannot be read)"),
        Column("Processes", lambda program: len(program.processes), "count"),
        Column("CPU time", lambda program: sum(program.cpu_s), "duration"),
        Column("% of job", lambda program: sum(program.cpu_s) / whole_s if whole_s else "", "percent"),
        Column("", remark),
    )
    console.print(text_table(Table(columns, run.programs[:MOST_ROWS]), console.width))
    if len(run.programs) > MOST_ROWS:
        console.print(f"and {count(len(run.programs) - MOST_ROWS, 'program')} with less")
    console.print()


def _remark(program: Program, run: Run) -> str:
    """Return the processes of a program that the answer covers."""
    if run.workers:
        return f"shown: {len(run.processes)} processes side by side, numbered as ranks"
    if not program.is_crowded:
        return "shown (others: --program NAME)"
    if len({process.rank for process in program.processes}) > 1:
        return "shown: of each rank the busiest process (others: --pid)"
    return f"shown: process {program.pids[0]} (others: --pid)"


def programs_dict(run: Run) -> list[dict[str, object]] | None:
    """Return each program of a job with its processes, the busiest first; None if there is one process."""
    if not run.is_job:
        return None
    shown = {process.path for process in run.processes}
    return [
        {
            "name": program.name,
            "cpu_s": rounded(sum(program.cpu_s)),
            "shown": not shown.isdisjoint(process.path for process in program.processes),
            "processes": [
                {"pid": pid, "rank": process.rank, "cpu_s": rounded(cpu_s)}
                for process, pid, cpu_s in zip(program.processes, program.pids, program.cpu_s, strict=True)
            ],
        }
        for program in run.programs
    ]
