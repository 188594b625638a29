"""Two runs side by side as a page: one HTML file with its style in it, and no script. Same input, same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from incprof import __version__
from incprof.analysis.beats.gates import Condition
from incprof.analysis.diff.results import Comparison, Figure, PhaseRow, Row, Side
from incprof.analysis.views.ribbon import cells, runs
from incprof.report.page.html import asset, style_policy
from incprof.report.words import diff as say
from incprof.report.words import numbers as words
from incprof.report.words.names import Names, clean

STYLES = ("page.css", "print.css", "diff.css")
WIDTH = 1000
# Those of page/colours.js.
PHASE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")


def page(found: Comparison, broken: Sequence[tuple[Condition, Row]], warnings: Sequence[str]) -> str:
    """Return the page."""
    style = Markup("\n".join(asset(name) for name in STYLES))
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    longest = max(side.summary.duration_s for side in (found.a[0], found.b[0]))
    called = say.row_names(found)
    phases = {row.group: say.named(row, called) for row in found.phases if row.group is not None}
    shown = say.shown_functions(found, every=False)
    return environment.get_template("diff.html.j2").render(
        style=style,
        policy=style_policy(style),
        version=__version__,
        title=" and ".join(dict.fromkeys(clean(side.summary.app, 80) for side in (found.a[0], found.b[0]))),
        lead=f"{say.verdict_line(found)}. {say.phases_line(found)}.",
        runs=[(letter, f"{clean(s.path)}: {say.run_line(s)}") for letter, ss in _sides(found) for s in ss],
        notes=[clean(line, 400) for line in (*found.notes, *warnings)],
        failed=[say.broken_line(condition, row) for condition, row in broken],
        lanes=[_lane(letter, sides[0], longest, phases) for letter, sides in _sides(found)],
        width=WIDTH,
        end=words.elapsed(longest),
        noise=say.noise_line(found),
        phases=[_row(row, called) for phase in found.phases for row in (phase, *say.steps(phase, every=False))],
        between=[say.seconds(Figure(s, 0, None, ())) for s in found.between] if max(found.between) > 0 else [],
        whole=_row(found.run, called),
        functions=[_row(row, called) for row in shown],
        more=len(found.functions) + found.left_out - len(shown),
    )


def _sides(found: Comparison) -> tuple[tuple[str, tuple[Side, ...]], ...]:
    """Return the sides with their letters."""
    return ("A", found.a), ("B", found.b)


def _colour(group: int | None) -> str:
    """Return the colour of a phase; empty for none."""
    return "" if group is None or group < 0 else PHASE[group % len(PHASE)]


def _lane(letter: str, side: Side, longest: float, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the ribbon of a run: rectangles on the scale of the longest."""
    whole = WIDTH * side.summary.duration_s / longest if longest > 0 else float(WIDTH)
    part = cells(side.labels, round(whole))
    step, at, out = whole / max(len(part), 1), 0, []
    for label, length in runs(part):
        title = f"{label} {names[label]}" if label >= 0 else "between phases"
        out.append(
            {
                "x": round(at * step, 2),
                "width": round(length * step, 2),
                "colour": _colour(label),
                "striped": label >= len(PHASE),
                "title": title,
            }
        )
        at += length
    return {"letter": letter, "cells": out}


def _row(row: Row, called: Names) -> dict[str, Any]:
    """Return a row of a table as texts."""
    return {
        "id": row.group,
        "step": row.kind == "step",
        "name": say.named(row, called),
        "full": clean(row.name),
        "colour": _colour(row.group),
        "striped": row.group is not None and row.group >= len(PHASE),
        "a": say.seconds(row.a),
        "b": say.seconds(row.b),
        "change": say.change(row),
        "interval": say.interval(row),
        "verdict": say.sure(row),
        "said": say.verdict(row),
        "share_a": f"{say.share(row.a)} %",
        "share_b": f"{say.share(row.b)} %",
        "alike": say.alike(row) if isinstance(row, PhaseRow) else "",
        "calls_a": say.calls(row.a),
        "calls_b": say.calls(row.b),
        "mean_a": words.seconds(row.a.mean_s or None),
        "mean_b": words.seconds(row.b.mean_s or None),
    }
