"""What somebody may ask for when phases are to be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from incprof.analysis.options import OPTIONS, Options

Libs = Literal["named", "caller", "separate", "drop"]
Method = Literal["robust", "paper"]


@dataclass(frozen=True)
class StudyOptions:
    """How phases and their sites are found.

    method: as in docs/phases-algorithm.md. k: number of phases, chosen by the method where None. level: at most so many
    phases, the most alike joined. seed: of k-means, from 0 to 2**31 - 1. jobs: processes that read ranks, 0 for one on
    each processor, and threads of k-means; the answer is the same. dask: the address of a scheduler whose workers read
    ranks instead. overhead_pct: what the heartbeats of all sites may
    cost, in percent of the CPU time. settings: thresholds to change, "phases.beyond=4".
    """

    method: Method = "robust"
    k: int | None = None
    seed: int = 0
    jobs: int = 0
    overhead_pct: float = 1.0
    settings: tuple[str, ...] = ()
    level: int | None = None
    dask: str | None = None

    @property
    def thresholds(self) -> Options:
        """The thresholds of the method, with the settings.

        Raises:
            UsageError: there is no such threshold, or it cannot have that value.
        """
        return OPTIONS.with_settings(self.settings)
