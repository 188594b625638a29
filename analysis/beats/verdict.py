"""What is to be said of a run in view of the application's past. Reports read this and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.beats.history import MIN_PAST, Assessment
from incprof.analysis.beats.results import BeatRun
from incprof.analysis.beats.stretches import Slow


@dataclass(frozen=True)
class History:
    """A run and what became of it.

    Attributes:
        path: The file that keeps runs.
        run: The run.
        start_unix_s: Its start, in seconds since 1970.
        threads: Threads with heartbeats at once, all ranks together.
        how: `added`, `updated` or `known`.
        forgotten: Runs that were forgotten.
        past_starts_unix_s: Starts of the past runs that it was judged by, ascending.
        other_threads: Past runs that it was not judged by, because they had other numbers of threads.
        other_argv: Past runs that it was judged by and that had other arguments.
        assessments: Each figure of each heartbeat.
        slow: When heartbeats were slow.
    """

    path: str
    run: BeatRun
    start_unix_s: float
    threads: int
    how: str
    forgotten: int
    past_starts_unix_s: tuple[float, ...]
    other_threads: int
    other_argv: int
    assessments: tuple[Assessment, ...]
    slow: tuple[Slow, ...]

    @property
    def poor(self) -> list[Assessment]:
        """What is poor in this run."""
        return [assessment for assessment in self.assessments if assessment.verdict in ("poor", "missing")]

    @property
    def enough(self) -> bool:
        """Whether there are enough past runs to judge by."""
        return len(self.past_starts_unix_s) >= MIN_PAST
