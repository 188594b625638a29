"""Result of comparing a run with the application's history; all that reports read."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.heartbeats.summaries import BeatRun
from incprof.systems.heartbeats.history import MIN_PAST, Assessment
from incprof.systems.heartbeats.slow_segments import Slow


@dataclass(frozen=True)
class History:
    """A run compared with past runs.

    Attributes:
        path: Path of the history.
        run: The run.
        start_unix_s: Its start, in seconds since 1970.
        threads: Number of threads with heartbeats at once, over all ranks.
        how: `added`, `updated` or `known`.
        forgotten: Number of runs deleted from the history.
        past_starts_unix_s: Starts of the past runs used, ascending, in seconds since 1970.
        other_threads: Number of past runs not used because their number of threads differs.
        other_argv: Number of past runs used that had other arguments.
        assessments: Assessment of each metric of each heartbeat.
        slow: Slow segments of the heartbeats.
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
        """Assessments of the poor metrics in this run."""
        return [assessment for assessment in self.assessments if assessment.verdict in ("poor", "missing")]

    @property
    def enough(self) -> bool:
        """Whether there are enough past runs for an assessment."""
        return len(self.past_starts_unix_s) >= MIN_PAST
