"""Two runs compared on one page: an HTML file with inline style and no script. Same input, same bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from incprof.analysis.compare import Condition
from incprof.analysis.diff.diff_result import Comparison, Row, Side
from incprof.analysis.views.tracks import runs, stretched
from incprof.report.page.html import asset, html_table, style_policy
from incprof.report.words import diff_words as say
from incprof.report.words import formatting as words
from incprof.report.words.colours import ink_on, marked, phase_colour
from incprof.report.words.diff_tables import (
    energy_head,
    energy_table,
    function_table,
    phase_table,
    rank_table,
    reason_table,
)
from incprof.report.words.display_names import clean
from incprof.version import __version__

STYLES = ("page.css", "print.css", "diff.css")
# In units of a ribbon.
LETTER, RIM = 7.5, 10.0
WIDTH = 1000
# As in page/colours.js.


def page(comparison: Comparison, broken: Sequence[tuple[Condition, Row]], warnings: Sequence[str]) -> str:
    """Return the page."""
    style = Markup("\n".join(asset(name) for name in STYLES))
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    longest = max(side.summary.duration_s for side in (*comparison.a, *comparison.b))
    called = say.row_names(comparison)
    phases = {row.group: say.named(row, called) for row in comparison.phases if row.group is not None}
    shown = say.shown_functions(comparison, every=False)
    rows = [row for phase in comparison.phases for row in (phase, *say.steps(phase, every=False))]
    energy, reasons, ranks = energy_table(comparison), reason_table(comparison), rank_table(comparison)
    return environment.get_template("diff.html.j2").render(
        style=style,
        policy=style_policy(style),
        version=__version__,
        title=" and ".join(dict.fromkeys(clean(side.summary.app, 80) for side in (comparison.a[0], comparison.b[0]))),
        lead=f"{say.verdict_line(comparison)}. {say.phases_line(comparison)}.",
        runs=[(letter, f"{clean(s.path)}: {say.run_line(s)}") for letter, ss in _sides(comparison) for s in ss],
        notes=[clean(line, 400) for line in (*comparison.notes, *warnings)],
        failed=[say.broken_line(condition, row) for condition, row in broken],
        lanes=[
            _lane(letter if len(sides) == 1 else f"{letter}{number}", side, longest, phases)
            for letter, sides in _sides(comparison)
            for number, side in enumerate(sides, start=1)
        ],
        end=words.elapsed(longest),
        noise=say.noise_line(comparison),
        phases=html_table(phase_table(comparison, rows).without("By CPU"), _chip, style="changes"),
        reasons=reasons and html_table(reasons, _chip, style="changes"),
        why=say.why_lines(comparison),
        ranks=ranks and html_table(ranks, _chip),
        energy=energy and html_table(energy.without(""), _chip),
        energy_head=energy_head(comparison),
        functions=html_table(function_table(comparison, shown).without("Phase"), _chip, style="changes"),
        more=len(comparison.functions) + comparison.left_out - len(shown),
    )


def _sides(comparison: Comparison) -> tuple[tuple[str, tuple[Side, ...]], ...]:
    """Return the sides with their letters."""
    return ("A", comparison.a), ("B", comparison.b)


def _colour(group: int | None) -> str:
    """Return the colour of a phase; empty for none."""
    return "" if group is None else phase_colour(group)


def _chip(group: int) -> Markup:
    """Return the number of a phase with its colour."""
    stripe = Markup('<rect class="stripe" y="4" width="10" height="2.4"/>') if marked(group) else ""
    square = '<svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" fill="{}"/>{}</svg>'
    return Markup(f'<span class="chip">{square}{{}}</span>').format(_colour(group), stripe, group)


def _lane(letter: str, side: Side, longest: float, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the ribbon of a run: rectangles on the scale of the longest."""
    whole = WIDTH * side.summary.duration_s / longest if longest > 0 else float(WIDTH)
    part = stretched(side.labels, max(round(whole), 1), side.end_s)
    step, at, out = whole / len(part), 0, []
    for label, length in runs(part):
        title = f"{label} {names[label]}" if label >= 0 else "between phases"
        out.append(
            {
                "x": _part(at * step),
                "width": _part(length * step),
                "colour": _colour(label),
                "striped": marked(label),
                "title": title,
                # As wide as its text may be: the mean width of a letter, and the rim of a box.
                "text": _fitting(label, title, length * step),
                "ink": ink_on(_colour(label)) if label >= 0 else "",
                "middle": _part((at + length / 2) * step),
            }
        )
        at += length
    said = f"{clean(os.path.basename(os.path.normpath(side.path)), 40)}, {words.elapsed(side.summary.duration_s)}"
    return {"letter": letter, "said": said, "cells": out}


def _part(length: float) -> float:
    """Return a length in percent of the longest ribbon."""
    return round(100 * length / WIDTH, 3)


def _fitting(label: int, title: str, room: float) -> str:
    """Return the text of a box of a ribbon: the phase, its number, or nothing, depending on the room."""
    if label < 0:
        return ""
    return next((text for text in (title, str(label)) if len(text) * LETTER + RIM <= room), "")
