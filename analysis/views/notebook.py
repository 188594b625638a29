"""The phases of a run for scripts and notebooks: as tables, and as HTML."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, Site
from incprof.analysis.views.pandas_tables import ResultTable, result_table

if TYPE_CHECKING:
    import pandas as pd

# Okabe and Ito, as in the pictures of `incprof phases --plot`.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# Width of the ribbon; an episode shorter than half a unit is not drawn.
STEPS = 2000
LEFT = 'style="text-align: left; max-width: 36em; overflow-wrap: anywhere"'
HEAD = ("Phase", "Time", "Run", "Confidence", "Site", "Kind", "Of phase", "Where")


@dataclass(frozen=True, repr=False)
class NotebookResult(PhaseResult):
    """A PhaseResult that makes tables, and shows itself in a notebook."""

    def to_pandas(self, table: ResultTable = "phases") -> pd.DataFrame:
        """The phases, labels, functions, sites, steps or scores as a table; docs/reference/python.md has the columns.

        Raises:
            ValueError: there is no table of that name.
        """
        return result_table(self, table)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: phases over time, and the sites of each."""
        return phases_html(self)


def phases_html(result: PhaseResult) -> str:
    """Return the ribbon of a result and a table with a row for each site; names are escaped."""
    n, seconds = len(result.labels), float(result.end_s[-1]) if len(result.end_s) else 0.0
    head = "".join(f'<th style="text-align: left">{name}</th>' for name in HEAD)
    rows = "".join(row for phase in result.present for row in _rows(phase))
    return (
        f"<p><b>{result.k} phase{'s' * (result.k != 1)}</b>, {n} interval{'s' * (n != 1)}, {seconds:.3g} s, method"
        f" {html.escape(result.method)}</p>{_ribbon(result, seconds)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _colour(phase: int) -> str:
    return COLOURS[phase % len(COLOURS)]


def _ribbon(result: PhaseResult, seconds: float) -> str:
    """Return a figure of the phases over time; each episode has a title with its phase and times."""
    if not seconds > 0:
        return ""
    first = np.flatnonzero(np.diff(result.labels, prepend=result.labels[0] - 1))
    last = np.append(first, len(result.labels))[1:] - 1
    begins = np.append(0.0, result.end_s)[first]
    parts = []
    for label, begin, end in zip(
        result.labels[first].tolist(), begins.tolist(), result.end_s[last].tolist(), strict=True
    ):
        x, width = round(STEPS * begin / seconds), round(STEPS * end / seconds) - round(STEPS * begin / seconds)
        if label >= 0 and width > 0:
            about = f"<title>phase {label}, {begin:.2f} to {end:.2f} s</title>"
            parts.append(f'<rect x="{x}" width="{width}" height="10" fill="{_colour(label)}">{about}</rect>')
    view = f'viewBox="0 0 {STEPS} 10" preserveAspectRatio="none" style="width: 100%; height: 20px"'
    return f'<svg {view} role="img" aria-label="phases over time">{"".join(parts)}</svg>'


def _rows(phase: Phase) -> Iterator[str]:
    """Yield the rows of a phase: one for each site, at least one."""
    sure = "" if phase.confidence is None else f"{phase.confidence:.2f}"
    sign = f'<span style="color: {_colour(phase.id)}">&#9632;</span> {phase.id}'
    own = (sign, f"{phase.seconds:.3g} s", f"{phase.app_pct:.1f} %", sure)
    sites: tuple[Site | None, ...] = phase.sites or (None,)
    for place, site in enumerate(sites):
        across = f'<td rowspan="{len(sites)}" style="white-space: nowrap">'
        cells = [f"{across}{cell}</td>" for cell in own] if place == 0 else []
        cells += _site(site, "waiting" if phase.off_cpu and not phase.outside else "no site")
        yield f"<tr>{''.join(cells)}</tr>"


def _site(site: Site | None, otherwise: str) -> list[str]:
    """Return the cells of a site."""
    if site is None:
        return [f"<td {LEFT}>{otherwise}</td>", *["<td></td>"] * 3]
    where = "" if site.file is None else os.path.basename(site.file) + (f":{site.line}" if site.line else "")
    return [
        f"<td {LEFT}>{html.escape(site.function.name)}</td><td>{html.escape(site.kind)}</td>",
        f"<td>{site.phase_pct:.1f} %</td>",
        f'<td {LEFT} title="{html.escape(site.file or "")}">{html.escape(where)}</td>',
    ]
