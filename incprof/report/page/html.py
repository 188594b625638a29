"""The page of a run: one HTML file with its scripts, styles and data. Same parts, same bytes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from incprof import __version__
from incprof.analysis.phase_result import Phase, all_steps
from incprof.analysis.views.page_parts import PageParts
from incprof.analysis.views.site_rows import RefusedRow, SiteRow
from incprof.model import Function
from incprof.report.page.html_rows import phase_row, rest_lines, site_row, stage_row, step_rows
from incprof.report.page.page_data import embedded, page_data
from incprof.report.page.page_text import (
    count,
    data_quality,
    decimal_percent,
    facts,
    grouped,
    rank_words,
    why_k,
    why_phases,
    why_site,
)
from incprof.report.render.html import html_section
from incprof.report.words.display_names import Names, clean, names_of, phase_names
from incprof.report.words.formatting import duration
from incprof.report.words.phase_words import all_stages, doubt_lines, next_steps, short_lines
from incprof.report.words.site_evidence import spent_seen

MOST_WARNINGS, MOST_SHORT = 20, 6
# In order of their dependencies.
STYLES = ("uplot/uPlot.min.css", "page.css", "plots.css", "print.css")
SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    "format.js",
    "colours.js",
    "state.js",
    "canvas.js",
    "sums.js",
    "tables.js",
    "brush.js",
    "ribbon.js",
    "series.js",
    "lanes.js",
    "beats.js",
    "sections.js",
    "flame.js",
    "calltree.js",
    "hottest.js",
    "ranks.js",
    "scores.js",
    "main.js",
)


def page(parts: PageParts, *, damaged: bool = False) -> str:
    """Return the page. damaged: a part of some input was left out."""
    style = Markup("\n".join(asset(name) for name in STYLES))
    # uPlot's licence must be distributed with it.
    script = Markup(f"/* {asset('uplot/LICENSE')} */\n(() => {{\n" + "\n".join(map(asset, SCRIPTS)) + "\n})();")
    names = names_of(parts.result, _shown(parts))
    data = Markup(embedded(page_data(parts, names)))
    own = {part.template: part.source for part in parts.systems}
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.DictLoader(own), jinja2.FunctionLoader(asset)]),
        autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.globals.update(count=count, grouped=grouped, percent=decimal_percent, short=names, clean=clean)
    return environment.get_template("page.html.j2").render(
        style=style,
        script=script,
        data=data,
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'",
        version=__version__,
        **_words(parts, names, damaged),
    )


@cache
def asset(name: str) -> str:
    """Return a file that is built into the page."""
    return files("incprof.report").joinpath("page", "assets", *name.split("/")).read_text(encoding="utf-8")


def style_policy(style: str) -> str:
    """Return the content security policy of a page with one inline style and no script."""
    return f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    """Return the source expression that allows an inline script or style, and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _shown(parts: PageParts) -> list[Function | str]:
    """Return the functions on the page besides those of its phases."""
    frames = parts.timed.tree.frame.tolist() + parts.timed.series.functions.tolist()
    out: list[Function | str] = [parts.functions[frame] for frame in set(frames) if frame >= 0]
    out += [row.function for row in parts.sites]
    if parts.ranks is not None:
        out += [name for one in parts.ranks.found.stragglers for name, _ in one.why]
    if parts.result.stages is not None:
        out += [one.function for one in all_stages(parts.result.stages) if one.function is not None]
    return out + [row.function for row in parts.refused]


def _words(parts: PageParts, names: Names, damaged: bool) -> dict[str, Any]:
    """Return the content of the page before any script runs."""
    result, stages = parts.result, parts.result.stages
    phases = list(zip(result.present, phase_names(result.present, names), strict=True))
    present = {phase.id for phase, _ in phases}
    rows: list[SiteRow | RefusedRow] = [*parts.sites, *parts.refused]
    reasons = [why_site(parts.explained, parts.why, names, row.function, row.phases) for row in rows]
    return {
        "app": clean(parts.run.app, 80),
        "run": parts.run,
        "facts": facts(parts.run, parts.metadata, parts.processes),
        "lead": _lead(parts, phases),
        "confident": any(phase.confidence is not None for phase in result.phases),
        "too_short": short_lines(result, MOST_SHORT),
        "spent": spent_seen(result.spent),
        "gaps": bool((result.labels < 0).any()),
        "phases": [phase_row(phase, name, names) for phase, name in phases],
        "stages": None if stages is None or not stages.stages else stage_row(stages, names, parts.run.duration_s),
        "steps": [(phase.id, name, step_rows(phase.steps, names)) for phase, name in phases],
        "rests": [(phase.id, rest_lines(phase.steps, names)) for phase, _ in phases],
        "period": any(step.period_s is not None for phase in result.phases for step in all_steps(phase.steps)),
        "sites": [site_row(row, why, names) for row, why in zip(parts.sites, reasons, strict=False)],
        "refused": list(zip(parts.refused, reasons[len(parts.sites) :], strict=True)),
        "source": parts.source,
        "why": why_k(parts.run, parts.explained, parts.why, names),
        "why_phases": [
            (number, lines) for number, lines in why_phases(parts.explained, parts.why, names) if number in present
        ],
        "scores": result.scores,
        "chosen": result.k_clusters,
        "quality": data_quality(parts.quality, parts.run, damaged),
        "warnings": _warnings([*parts.warnings, *doubt_lines(result)]),
        "ranks": None if parts.ranks is None else rank_words(parts.ranks, names),
        "systems": parts.systems,
        "beats": parts.beats,
        "sections": [(section, html_section(section)) for section in parts.sections],
        "beyond": _beyond(parts),
        "next": [(said, clean(command, 400)) for said, command in next_steps(result, parts.directory, parts.source)],
        "joined": parts.timed.tree.joined,
        "paths": parts.timed.tree.paths,
        "whole": parts.whole,
        "inlined": bool(parts.inlined),
        "libs": {"caller": " and in libraries that it called", "drop": ", without libraries"}.get(parts.libs, ""),
    }


def _beyond(parts: PageParts) -> str:
    """Return how much of another run's heartbeats lies after the end of this run; empty if none does."""
    if parts.beats is None or parts.beats.same:
        return ""
    last = max((float(trace.end_s[-1]) for trace in parts.beats.traces if len(trace.end_s)), default=0.0)
    left = last + parts.beats.offset_s - float(parts.timed.bins.end_s[-1])
    return duration(left) if left >= parts.beats.interval_s else ""


def _warnings(lines: Sequence[str]) -> list[str]:
    """Return the first warnings, and the number of the others."""
    shown = [clean(line, 400) for line in lines[:MOST_WARNINGS]]
    left = len(lines) - len(shown)
    return [*shown, f"and {left} more"] if left else shown


def _lead(parts: PageParts, phases: Sequence[tuple[Phase, str]]) -> str:
    """Summarise the run in one sentence."""
    if not phases:
        return "No phase was found."
    if len(phases) == 1:
        return f"One phase over {duration(parts.run.duration_s)}: {phases[0][1]}."
    order = sorted(phases, key=lambda item: (-item[0].app_pct, item[0].id))
    said = ", ".join(f"{name} {phase.app_pct:.0f}\u00a0%" for phase, name in order[:4])
    more = f" and {len(order) - 4} more" if len(order) > 4 else ""
    return f"{count(len(order), 'phase')} over {duration(parts.run.duration_s)}: {said}{more}."
