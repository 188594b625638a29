"""Recorded runs in Python, for notebooks and scripts (docs/reference/python.md).

import incprof
run = incprof.open("gmon-app")
run.profile().to_pandas()
run.phases().to_pandas("sites")
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incprof.study import Libs, Method, Study, StudyOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from incprof.analysis.views.pandas_tables import NotebookResult, Table
    from incprof.model import IntervalProfile, Run


@dataclass(frozen=True)
class Recording:
    """A run directory that was opened. run: what is in it. exe: the program, if it is not where it was recorded."""

    run: Run
    exe: str | None = None

    def __repr__(self) -> str:
        """One line: a run may have thousands of processes."""
        ranks = len(self.ranks)
        return f"<Recording: {self.app!r}, {ranks} rank{'s' * (ranks != 1)}, in {self.run.directory!r}>"

    @property
    def app(self) -> str:
        """Name of the program."""
        return self.run.app

    @property
    def ranks(self) -> tuple[int, ...]:
        """The recorded ranks, ascending."""
        return self.run.ranks

    def profile(self, rank: int | None = None, *, pid: int | None = None, libs: Libs = "named") -> IntervalProfile:
        """Read the profile of a rank, the lowest unless given.

        Args:
            rank: which.
            pid: of a process that the rank forked.
            libs: time in libraries is that of their functions that were called ("named"), their callers', the
                libraries' ("separate"), or left out ("drop").

        Raises:
            incprof.errors.NoDataError: there is nothing usable in the file.
            incprof.errors.UsageError: there is no such rank or process.
        """
        return self._study(rank=rank, pid=pid, libs=libs, ranks=()).profile

    def phases(
        self,
        profile: IntervalProfile | None = None,
        *,
        method: Method = "robust",
        k: int | None = None,
        seed: int = 0,
        settings: Sequence[str] = (),
    ) -> NotebookResult:
        """Find the phases of all ranks, as `incprof phases` does, or of one profile alone.

        Args:
            profile: what `profile` returned; by default the answer is that of the lowest rank in the phases of all.
            method: as in docs/understand/phase-detection.md.
            k: number of phases; chosen by the method unless given.
            seed: of k-means. Same profile and seed, same phases.
            settings: thresholds to change, such as "phases.penalty=4"; docs/reference/thresholds.md has them all.

        Raises:
            incprof.errors.IncprofError: as `profile`, there is nothing to find phases in, or no such threshold.
        """
        from incprof.analysis.views.pandas_tables import NotebookResult

        options = StudyOptions(method, k, seed, settings=tuple(settings))
        return NotebookResult(**vars(self._study(profile=profile, options=options).phases()))

    def to_pandas(self, table: Table = "profile", *, rank: int | None = None) -> pd.DataFrame:
        """Return a table of a rank, the lowest unless given; docs/reference/python.md has their names and columns.

        Raises:
            ValueError: there is no table of that name.
            incprof.errors.IncprofError: as `profile` and `phases`.
        """
        from incprof.study.views import table as view

        return view(self._study(rank=rank), table)

    def _study(self, **selection: Any) -> Study:
        """Return the run as a study of what was chosen."""
        return Study(self.run, exe=self.exe, **selection)


def open(directory: str | os.PathLike[str], *, exe: str | None = None) -> Recording:
    """Open a run directory. Nothing but its list of files is read.

    Args:
        directory: of a recorded run, or of gmon.out files that glibc's own runtime wrote.
        exe: the program, if it is not where it was recorded; needed for glibc's files.

    Raises:
        incprof.errors.NoDataError: there is no directory, or nothing in it.
        incprof.errors.UsageError: `exe` is missing.
    """
    from incprof.readers.run import open_run

    return Recording(open_run(directory, exe=exe), exe)
