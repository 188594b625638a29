"""What the reports on sites read: places in the source, with the lines around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from incprof.printable import printable


@dataclass(frozen=True)
class ExcerptLine:
    """A line of source without control characters. gap: lines before it are left out."""

    number: int
    text: str
    marked: bool = False
    gap: bool = False


@dataclass(frozen=True)
class SiteRow:
    """A site. file, line: None where nothing says. share: of the function's samples in the loop, 0..1.

    beats_hz: before the rate factor; basis says where it comes from. overhead_pct: with it. None where unknown.
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


@dataclass(frozen=True)
class RefusedRow:
    """A site that has no place in the source, and why."""

    phases: tuple[int, ...]
    function: str
    kind: str
    file: str | None
    line: int | None
    reason: str


@dataclass(frozen=True)
class SitesAnswer:
    """All that `incprof sites` says besides the run. source: as given; pair_ns, skipped_ns: cost of a beat."""

    method: str
    k: int
    source: str | None
    pair_ns: float
    skipped_ns: float
    sites: tuple[SiteRow, ...]
    refused: tuple[RefusedRow, ...] = ()
    unserved: tuple[int, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def printable_line(text: str, *, tab: int = 4) -> str:
    """A line of a file as a terminal may have it: tabs become spaces, control characters their escapes."""
    return printable(text.expandtabs(tab))
