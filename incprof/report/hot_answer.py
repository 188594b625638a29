"""What the reports on functions read that are called so often that counting them costs."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.phases.results import Counting
from incprof.model import Function


@dataclass(frozen=True)
class HotRow:
    """A function with its place, where that is known. seconds, pct: what counting its calls took, of the CPU time."""

    function: Function
    calls: int
    seconds: float
    pct: float

    @property
    def file(self) -> str | None:
        """As the binary names it."""
        return self.function.file


@dataclass(frozen=True)
class HotFile:
    """A file that holds such functions. calls: of these; other_calls: of its other functions."""

    path: str
    calls: int
    other_calls: int


@dataclass(frozen=True)
class HotAnswer:
    """Functions to leave out of -pg, most calls first. program_s: CPU time without the recording, in seconds.

    left_pct: what counting the others costs, percent of that.
    """

    app: str
    rank: int
    counting: Counting
    program_s: float
    left_pct: float
    rows: tuple[HotRow, ...]
    files: tuple[HotFile, ...]
