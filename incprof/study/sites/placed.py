"""A site's place in the source, or the reason why it has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.sites.rates import BeatCost, Rate
from incprof.analysis.views.site_rows import ExcerptLine, RefusedRow, SiteRow, SitesAnswer, printable_line
from incprof.model.names import parse
from incprof.source.languages import language_of
from incprof.source.locate import CHANGED, line_text, name_line
from incprof.source.model import SourceFile
from incprof.study.sites.place import Spot
from incprof.symbols.python_code import label

UNKNOWN_RATE = Rate(None, "unknown", 1, None)

Kind = Literal["body", "loop"]


@dataclass(frozen=True)
class PlacedSite:
    """A site and its place, or the reason why it has none.

    Attributes:
        heartbeat: its id; 0 for a refused one.
        name: of the heartbeat, "function:kind", or "function@line:kind" where two would be equal.
        phases: that it represents.
        recorded: the function's name in the program.
        kind: its final kind; a loop that cannot be identified becomes a body.
        source: the parsed file; None for a refused site.
        function: index of the function in it; None for a refused site.
        loop: index of the loop in the function; None for a body.
        file: of the function or the loop; relative to the source directory for a placed site.
        line: of the function or the loop.
        phase_pct: of the phase's intervals, see Site.
        rate: beats per second, and their cost.
        share: of the function's samples in the loop, 0..1.
        note: a remark on the choice.
        refusal: the reason why it has no place.
    """

    heartbeat: int
    name: str
    phases: tuple[int, ...]
    recorded: str
    kind: Kind
    source: SourceFile | None
    function: int | None
    loop: int | None
    file: str | None
    line: int | None
    phase_pct: float
    rate: Rate
    share: float | None = None
    note: str | None = None
    refusal: str | None = None

    @property
    def is_changed(self) -> bool:
        """Whether it was refused because the source is known to differ from the compiled one."""
        reason = self.refusal or ""
        return CHANGED in reason and f"or {CHANGED}" not in reason


def describe(
    heartbeat: int, recorded: str, spot: Spot, phases: tuple[int, ...], phase_pct: float, rate: Rate
) -> PlacedSite:
    """Describe a site that has a place."""
    file, position = spot.found.file, spot.found.position
    function = file.functions[position]
    kind: Kind = "body" if spot.loop is None else "loop"
    line = name_line(file, position) if spot.loop is None else function.loops[spot.loop].line
    # A PROGRAM has another name in the recording, and so for everything that reads it.
    program = function.is_main and file.language in ("fortran", "fixed")
    name = parse(recorded).last if program else function.name
    if file.language == "python":
        name = recorded if ":" in recorded else f"{label(file.path)}:{function.name}"
    return PlacedSite(
        heartbeat, f"{name}:{kind}", phases, recorded, kind, file, position, spot.loop, file.path, line, phase_pct,
        rate, spot.share, spot.note,
    )  # fmt: skip


def merged(sites: Sequence[PlacedSite]) -> list[PlacedSite]:
    """Merge sites: one heartbeat for each place, by id; then the refused sites, each once."""
    places: dict[tuple[object, ...], PlacedSite] = {}
    for site in sites:
        place = (site.file, site.function, site.loop) if site.function is not None else (site.name,)
        key = place if not site.refusal else (site.name, site.refusal)
        first = places.setdefault(key, site)
        if first is not site:
            ids = [i for i in (first.heartbeat, site.heartbeat) if i]
            phases = tuple(sorted({*first.phases, *site.phases}))
            places[key] = replace(first, heartbeat=min(ids, default=0), phases=phases)
    placed = _numbered([site for site in places.values() if not site.refusal])
    placed = _unique_names(_unique_names(placed, lambda site: site.line), lambda site: site.heartbeat)
    return placed + [site for site in places.values() if site.refusal]


def _unique_names(sites: Sequence[PlacedSite], number: Callable[[PlacedSite], int | None]) -> list[PlacedSite]:
    """Make names unique by a number after the function's: `main@86:loop`."""
    count = Counter(site.name for site in sites)
    found = []
    for site in sites:
        function = site.name.removesuffix(f":{site.kind}")
        name = f"{function}@{number(site)}:{site.kind}" if count[site.name] > 1 else site.name
        found.append(replace(site, name=name))
    return found


def _numbered(sites: Sequence[PlacedSite]) -> list[PlacedSite]:
    """Number sites from 1, in order of their phases; those without a phase, and those without an id, come last."""
    order = sorted(sites, key=lambda site: (not site.phases, site.phases[:1], not site.heartbeat, site.heartbeat))
    return [replace(site, heartbeat=number) for number, site in enumerate(order, 1)]


# Sites as input of the reports, with the lines of source around each.


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
