"""Options for finding phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

from incprof.analysis.thresholds import OPTIONS, Options

Libs = Literal["named", "caller", "separate", "drop"]
Method = Literal["robust", "paper"]


@dataclass(frozen=True)
class StudyOptions:
    """Options for finding phases and their sites.

    Attributes:
        method: as in phase-detection.md.
        k: number of phases, None: chosen by the method.
        seed: of k-means, from 0 to 2**31 - 1.
        jobs: number of processes that read ranks, and of k-means threads; 0: one per processor. Does not affect the
            result.
        overhead_pct: limit of the cost of all sites' heartbeats, percent of the CPU time.
        settings: thresholds to change, "phases.penalty=4".
        level: the most phases; the most similar ones are merged.
        dask: the address of a scheduler whose workers read ranks instead.
        resolution_s: the shortest part that is a phase, in seconds; 0: the limits of the method.
        waits: a program that hardly uses a processor has phases by what it waits for; not with the paper's method.
    """

    method: Method = "robust"
    k: int | None = None
    seed: int = 0
    jobs: int = 0
    overhead_pct: float = 1.0
    settings: tuple[str, ...] = ()
    level: int | None = None
    dask: str | None = None
    resolution_s: float = 0.0
    waits: bool = True

    @property
    def reads_waits(self) -> bool:
        """Whether waits may count as samples."""
        return self.waits and self.method != "paper"

    @property
    def thresholds(self) -> Options:
        """The thresholds of the method, with the settings.

        Raises:
            UsageError: a threshold does not exist, or cannot have that value.
        """
        smallest = (f"phases.resolution={self.resolution_s!r}",) if self.resolution_s else ()
        return OPTIONS.with_settings((*smallest, *self.settings))


# Messages of a study: warnings and progress.


# Called with (done, total) repeatedly.
Progress = Callable[[int, int], object]


def _no_progress(done: int, total: int) -> None:
    """Do nothing."""


class Listener:
    """Receives warnings and progress. This one ignores them; that of the commands writes to stderr."""

    def warn(self, lines: Iterable[str]) -> None:
        """Receive warnings, a line each."""

    def progress(self, what: str) -> AbstractContextManager[Progress]:
        """Receive progress while the body runs."""
        return nullcontext(_no_progress)


SILENT = Listener()
