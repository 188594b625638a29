"""Sites as input of the reports, with the lines of source around each."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.sites.rates import BeatCost
from incprof.analysis.views.site_rows import ExcerptLine, RefusedRow, SiteRow, SitesAnswer, printable_line
from incprof.source.languages import language_of
from incprof.source.locate import line_text, name_line
from incprof.study.sites.placed import PlacedSite

CONTEXT = 3


def described(
    result: PhaseResult, sites: Sequence[PlacedSite], cost: BeatCost, source: str | None, *, by_hand: bool = False
) -> SitesAnswer:
    """Describe the sites for the reports. source: as given. by_hand: the sites were named, not chosen."""
    rows = tuple(
        SiteRow(
            s.heartbeat, s.name, s.phases, s.recorded, s.kind, s.file, s.line, s.phase_pct, s.share, s.rate.beats_hz,
            s.rate.basis, s.rate.factor, s.rate.overhead_pct, s.note, excerpt(s),
        )
        for s in sites
        if s.refusal is None
    )  # fmt: skip
    refused = tuple(
        RefusedRow(s.phases, s.recorded, s.kind, s.file, s.line, s.refusal) for s in sites if s.refusal is not None
    )
    if rows and all(language_of(row.file or "", b"") == "python" for row in rows):
        cost = cost.in_python()
    served = {phase for row in rows for phase in row.phases}
    missing = tuple(p.id for p in result.phases if p.id not in served and not p.off_cpu and not by_hand)
    return SitesAnswer(
        result.method, result.k, source, cost.pair_ns, cost.skipped_ns, rows, refused, missing, result.warnings
    )


def excerpt(site: PlacedSite) -> tuple[ExcerptLine, ...]:
    """Return the line of the function's name and the place of the beat, each with the lines around it."""
    if site.source is None or site.function is None or site.line is None:
        return ()
    function = site.source.functions[site.function]
    head = name_line(site.source, site.function)
    marked = site.line if site.loop is not None else head
    low, high = max(marked - CONTEXT, function.line), min(marked + CONTEXT, function.last_line)
    wanted = sorted({head, *range(low, high + 1)})
    lines, before = [], wanted[0]
    for number, text in zip(wanted, line_text(site.source.data, wanted), strict=True):
        lines.append(ExcerptLine(number, printable_line(text), number == marked, number > before + 1))
        before = number
    return tuple(lines)
