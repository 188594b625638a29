"""Functions whose calls are so frequent that counting them is expensive."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.phase_result import Counting
from incprof.model import Function


@dataclass(frozen=True)
class HotRow:
    """A function with its place.

    Attributes:
        function: with file and line, where known.
        calls: in the run.
        seconds: cost of counting its calls.
        pct: the same, of the CPU time.
    """

    function: Function
    calls: int
    seconds: float
    pct: float

    @property
    def file(self) -> str | None:
        """As in the binary."""
        return self.function.file


@dataclass(frozen=True)
class HotFile:
    """A file that holds such functions.

    Attributes:
        path: of the file.
        calls: of these functions.
        other_calls: of its other functions.
    """

    path: str
    calls: int
    other_calls: int


@dataclass(frozen=True)
class HotAnswer:
    """Functions to exclude from -pg, most calls first.

    Attributes:
        app: name of the program.
        rank: the analysed one.
        counting: cost of all calls.
        program_s: CPU time without the recording, seconds.
        left_pct: cost of counting the other functions, percent of program_s.
        rows: the functions.
        files: their files.
    """

    app: str
    rank: int
    counting: Counting
    program_s: float
    left_pct: float
    rows: tuple[HotRow, ...]
    files: tuple[HotFile, ...]
