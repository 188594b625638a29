"""Rows of the reports on sites: places in the source, with the lines around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from incprof.analysis.phase_result import Counting
from incprof.model import Function
from incprof.safe.printable import printable


@dataclass(frozen=True)
class ExcerptLine:
    """A line of source.

    Attributes:
        number: of the line.
        text: without control characters.
        marked: whether it is the line of the site.
        gap: whether lines before it are left out.
    """

    number: int
    text: str
    marked: bool = False
    gap: bool = False


@dataclass(frozen=True)
class SiteRow:
    """A site. Values are None where unknown.

    Attributes:
        heartbeat: id of the heartbeat.
        name: of the heartbeat.
        phases: that it stands for.
        function: its name.
        kind: "body" or "loop".
        file: of the line.
        line: of the site.
        phase_pct: percent of its phase.
        share: of the function's samples in the loop, 0..1.
        beats_hz: beats per second before the rate factor.
        basis: source of beats_hz.
        rate_factor: 1 beat in so many is recorded.
        overhead_pct: with the rate factor.
        note: remark on the choice.
        excerpt: lines of source around it.
        reason: why it has no place in the source.
    """

    heartbeat: int
    name: str
    phases: tuple[int, ...]
    function: str
    kind: str
    file: str | None
    line: int | None
    phase_pct: float
    share: float | None
    beats_hz: float | None
    basis: str
    rate_factor: int
    overhead_pct: float | None
    note: str | None = None
    excerpt: tuple[ExcerptLine, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class SitesAnswer:
    """Results of `incprof sites`, without the run.

    Attributes:
        method: "robust" or "paper".
        k: number of phases.
        source: directory of the source, as given.
        pair_ns: cost of a recorded beat.
        skipped_ns: cost of a skipped beat.
        sites: places in the source.
        refused: sites without a place.
        unserved: phases without a site.
        warnings: for the reader.
    """

    method: str
    k: int
    source: str | None
    pair_ns: float
    skipped_ns: float
    sites: tuple[SiteRow, ...]
    refused: tuple[SiteRow, ...] = ()
    unserved: tuple[int, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def printable_line(text: str) -> str:
    """Return a line of a file as printed to a terminal: tabs become spaces, control characters their escapes."""
    return printable(text.expandtabs(4))


# Functions whose calls are so frequent that counting them is expensive.


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
