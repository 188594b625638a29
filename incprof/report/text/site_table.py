"""The sites of phases as a table, and the cost of their heartbeats."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from incprof.analysis.phase_result import PhaseResult, Site
from incprof.analysis.views.tracks import badge
from incprof.report.words import headings
from incprof.report.words.colours import style
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import cell_len, fitted
from incprof.report.words.phase_names import without_site
from incprof.safe.printable import printable

# Columns taken by everything but functions and their places, the gap before a place, and the widest place.
COLUMNS, GAP, MOST_OF_PLACE = 46, 2, 40
ENOUGH_OF_NAME = 24
COLUMN_NAMES = (
    headings.PHASE, headings.FUNCTION, headings.OF_PHASE, headings.OF_RUN, headings.KIND, headings.HEARTBEAT,
)  # fmt: skip
TEXTS = (headings.FUNCTION, headings.KIND, headings.WHERE)


def site_table(result: PhaseResult, width: int, names: Names) -> Table:
    """Return the sites, a row each; a phase without a site has a row with the reason.

    Where names have little room beside their places, a place is printed below its function.
    """
    sites = [site for phase in result.present for site in phase.sites]
    beside = width - COLUMNS - GAP - max((len(place(site)) for site in sites), default=0)
    below = beside < min(max((cell_len(names(site.function)) for site in sites), default=0), ENOUGH_OF_NAME)
    room = max(16, width - COLUMNS if below else beside)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in COLUMN_NAMES if below else (*COLUMN_NAMES, headings.WHERE):
        table.add_column(name, justify="left" if name in TEXTS else "right", no_wrap=True)
    for phase in result.present:
        number = Text(f" {badge(phase.id)} ", style=style(phase.id))
        if not phase.sites:
            table.add_row(number, without_site(phase), "", f"{phase.app_pct:.1f}", "", "")
        for site in phase.sites:
            figures = (f"{site.phase_pct:.1f}", f"{site.app_pct:.1f}", site.kind, str(site.heartbeat))
            name = names(site.function, room)
            if below:
                table.add_row(number, f"{name}\n  {fitted(place(site), room - 2)}", *figures)
            else:
                table.add_row(number, name, *figures, place(site))
            number = Text("")
    return table


def place(site: Site) -> str:
    """Return file:line of a site, or the module where there is no line information."""
    if site.file is None:
        return f"[{fitted(printable(site.function.module.rsplit('/', 1)[-1].strip('[]')), MOST_OF_PLACE - 2)}]"
    name = fitted(printable(site.file.rsplit("/", 1)[-1]), MOST_OF_PLACE - 8)
    return f"{name}:{site.line}" if site.line is not None else name


def beats_line(result: PhaseResult, budget_pct: float) -> str | None:
    """Return the predicted cost of the heartbeats, if some beats are skipped or the cost is too high."""
    if result.beats_pct is None:
        return None
    skipped = {s.heartbeat: s for p in result.phases for s in p.sites if s.cost and s.cost.rate_factor > 1}
    if not skipped and result.beats_pct <= budget_pct:
        return None
    text = f"heartbeats: {result.beats_pct:.2g} % predicted overhead"
    if result.beats_pct > budget_pct:
        text += f", more than the {budget_pct:g} % of --overhead"
    by_factor: dict[int, list[str]] = {}
    for number, site in sorted(skipped.items()):
        by_factor.setdefault(site.cost.rate_factor if site.cost else 1, []).append(str(number))
    factors = "; ".join(f"1 beat in {factor} of {', '.join(by_factor[factor])}" for factor in sorted(by_factor))
    return text + (f", recorded are {factors}" if factors else "")
