"""Rows of the reports on sites: places in the source, with the lines around them."""

from __future__ import annotations

from dataclasses import dataclass, field

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
