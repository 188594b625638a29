"""The programs of a job in JSON (docs/phases.md)."""

from __future__ import annotations

from incprof.model import Run
from incprof.report.words.run import rounded


def programs_dict(run: Run) -> list[dict[str, object]] | None:
    """Return each program of a job with its processes, the busiest first; None where there is one process."""
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
