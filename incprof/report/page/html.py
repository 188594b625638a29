"""The page of a run: one HTML file with its scripts, styles and data. Same parts, same bytes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from incprof.analysis.phase_result import Phase, Step, all_steps
from incprof.analysis.phases.clustering import Stage
from incprof.analysis.views.page_parts import PageParts
from incprof.analysis.views.site_rows import SiteRow
from incprof.model import Function, Run
from incprof.model.section import Column, Section, Table
from incprof.report.page.page_data import embedded, page_data
from incprof.report.page.page_text import (
    data_quality,
    decimal_percent,
    facts,
    grouped,
    grouped_count,
    rank_words,
    why_k,
    why_phases,
    why_site,
)
from incprof.report.render.plain import written
from incprof.report.words.display_names import TOP_FUNCTIONS, Names, clean, names_of, phase_names, where
from incprof.report.words.formatting import count, duration, rate, seconds
from incprof.report.words.phase_words import DEEPEST, all_stages, caveat_lines, next_steps, short_lines
from incprof.report.words.ranks import shown_of
from incprof.report.words.site_evidence import how_often, kind_shares, kinds_present, no_site, remainder
from incprof.version import __version__

MOST_WARNINGS, MOST_SHORT, MOST_PROGRAMS = 20, 6, 20
# Parts of a job's time that a bar can show.
FINEST = 1000
# In order of their dependencies.
STYLES = ("uplot/uPlot.min.css", "page.css", "plots.css", "print.css")
SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    *(
        f"{name}.js"
        for name in (
            "format colours state canvas sums tables brush ribbon series lanes beats sections flame calltree hottest "
            "ranks scores main"
        ).split()
    ),
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
    environment.globals.update(count=grouped_count, grouped=grouped, percent=decimal_percent, short=names, clean=clean)
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
        out += [name for one in parts.ranks.result.stragglers for name, _ in one.why]
    if parts.result.stages is not None:
        out += [one.function for one in all_stages(parts.result.stages) if one.function is not None]
    return out + [row.function for row in parts.refused]


def _words(parts: PageParts, names: Names, damaged: bool) -> dict[str, Any]:
    """Return the content of the page before any script runs."""
    result, stages = parts.result, parts.result.stages
    phases = list(zip(result.present, phase_names(result.present, names), strict=True))
    present = {phase.id for phase, _ in phases}
    reasons = [
        why_site(parts.explained, parts.why, names, row.function, row.phases) for row in (*parts.sites, *parts.refused)
    ]
    return {
        "app": clean(parts.run.app, 80),
        "run": parts.run,
        "facts": facts(parts.run, parts.metadata, parts.processes),
        "lead": _lead(parts, phases),
        "confident": any(phase.confidence is not None for phase in result.phases),
        "too_short": short_lines(result, MOST_SHORT),
        "job": None if parts.job is None else job_words(parts.job),
        "spent": kinds_present(result.spent),
        "gaps": bool((result.labels < 0).any()),
        "phases": [phase_row(phase, name, names) for phase, name in phases],
        "stages": None if stages is None or not stages.stages else stage_row(stages, names, parts.run.duration_s),
        "steps": [(phase.id, name, step_rows(phase.steps, names)) for phase, name in phases],
        "rests": [(phase.id, remainder_lines(phase.steps, names)) for phase, _ in phases],
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
        "warnings": _warnings([*parts.warnings, *caveat_lines(result)]),
        "ranks": None if parts.ranks is None else rank_words(parts.ranks, names),
        "systems": parts.systems,
        "beats": parts.beats,
        "sections": [(section, html_section(section)) for section in parts.sections],
        "beyond": _beats_after_end(parts),
        "next": [
            (description, clean(command, 400))
            for description, command in next_steps(result, parts.directory, parts.source)
        ],
        "joined": parts.timed.tree.joined,
        "paths": parts.timed.tree.paths,
        "whole": parts.whole,
        "inlined": bool(parts.inlined),
        "libs": {"caller": " and in libraries that it called", "drop": ", without libraries"}.get(parts.libs, ""),
    }


def _beats_after_end(parts: PageParts) -> str:
    """Return how much of another run's heartbeats lies after the end of this run; empty if none does."""
    if parts.beats is None or parts.beats.same:
        return ""
    last = max((float(trace.end_s[-1]) for trace in parts.beats.traces if len(trace.end_s)), default=0.0)
    after_s = last + parts.beats.offset_s - float(parts.timed.bins.end_s[-1])
    return duration(after_s) if after_s >= parts.beats.interval_s else ""


def _warnings(lines: Sequence[str]) -> list[str]:
    """Return the first warnings, and the number of the others."""
    shown = [clean(line, 400) for line in lines[:MOST_WARNINGS]]
    number_left = len(lines) - len(shown)
    return [*shown, f"and {number_left} more"] if number_left else shown


def _lead(parts: PageParts, phases: Sequence[tuple[Phase, str]]) -> str:
    """Summarise the run in one sentence."""
    if not phases:
        return "No phase was found."
    if len(phases) == 1:
        return f"One phase over {duration(parts.run.duration_s)}: {phases[0][1]}."
    order = sorted(phases, key=lambda item: (-item[0].app_pct, item[0].id))
    shares = ", ".join(f"{name} {phase.app_pct:.0f}\u00a0%" for phase, name in order[:4])
    more = f" and {len(order) - 4} more" if len(order) > 4 else ""
    return f"{grouped_count(len(order), 'phase')} over {duration(parts.run.duration_s)}: {shares}{more}."


# Rows of the tables that a page shows before any script runs.


def job_words(run: Run) -> dict[str, Any]:
    """Return the programs of a job, the busiest first. when: (x, width) in percent of the job's time."""
    whole_s = sum(sum(program.cpu_s) for program in run.programs)
    end_s = max(end for program in run.programs for _, end in program.spans_s) or 1.0
    rows = [
        {
            "name": clean(program.name, 80) or "(cannot be read)",
            "processes": grouped(len(program.processes)),
            "time": duration(sum(program.cpu_s)),
            "share": round(100 * sum(program.cpu_s) / whole_s, 1) if whole_s else 0.0,
            "when": [
                (round(100 * start / end_s, 2), round(max(100 * (end - start) / end_s, 100 / FINEST), 2))
                for start, end in merged(program.spans_s, end_s / FINEST)
            ],
            "shown": shown_of(program, run),
        }
        for program in run.programs[:MOST_PROGRAMS]
    ]
    return {"rows": rows, "more": max(len(run.programs) - MOST_PROGRAMS, 0), "time": duration(end_s)}


def merged(spans: Iterable[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Return spans in order, those that overlap or are less than `gap` apart as one."""
    out: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1] + gap:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def phase_row(phase: Phase, name: str, names: Names) -> dict[str, Any]:
    """Return a row of the table of phases."""
    return {
        "id": phase.id,
        "name": name,
        "time": duration(phase.seconds),
        "share": round(phase.app_pct, 1),
        "intervals": phase.intervals,
        "confidence": decimal_percent(phase.confidence),
        "spent": ", ".join(kind_shares(phase)),
        "no_site": "" if phase.sites else no_site(phase, names),
        "functions": [
            (names(t.function), clean(t.function.name), decimal_percent(t.share))
            for t in phase.functions[:TOP_FUNCTIONS]
        ],
        "sites": [
            f"{names(s.function)} ({s.kind})" + (f", {at}" if (at := where(s.file, s.line)) else "")
            for s in phase.sites
        ],
    }


def stage_row(stage: Stage, names: Names, run_s: float, depth: int = 0) -> dict[str, Any]:
    """Return a part of the run with the rows of its children, expanded down to the phases."""
    times = f", {count(stage.episodes, 'time')}" if stage.episodes > 1 else ""
    return {
        "name": "several functions" if stage.function is None else names(stage.function),
        "title": "" if stage.function is None else clean(stage.function.name),
        "share": decimal_percent(stage.app_pct / 100),
        "when": f"{duration(stage.start_s)} to {duration(stage.end_s)}{times}",
        "x": round(100 * stage.start_s / run_s, 2),
        "width": round(100 * (stage.end_s - stage.start_s) / run_s, 2),
        "phase": stage.phase,
        "open": any(one.phase is not None for one in all_stages(stage) if one is not stage),
        "below": [stage_row(below, names, run_s, depth + 1) for below in stage.stages] if depth < DEEPEST else [],
    }


def step_rows(steps: Sequence[Step], names: Names, deep: int = 0) -> list[dict[str, Any]]:
    """Return the rows of the steps of a phase, each before its nested steps."""
    rows = []
    for step in steps:
        rows += [_step_row(step, names, deep), *step_rows(step.steps, names, deep + 1)]
    return rows


def remainder_lines(steps: Sequence[Step], names: Names) -> list[str]:
    """Return where the rest of an iteration is spent, for each loop whose steps do not add up to it."""
    lines = []
    for driver in dict.fromkeys(step.driver for step in steps):
        own_steps = [step for step in steps if step.driver == driver]
        if remaining := remainder(own_steps, names):
            period = max(step.period_s or 0.0 for step in own_steps)
            lines.append(
                f"Of {_time(period)} in {names(driver) if driver else 'the loop'}: {remaining}".replace(
                    " us", " \u00b5s"
                )
            )
    return lines


def _step_row(step: Step, names: Names, deep: int) -> dict[str, Any]:
    """Return a row of a step. deep: the number of steps above it."""
    period = _time(step.period_s) if step.period_s is not None else ""
    period = f"~{period}" if period and step.estimated is not None else period
    if often := how_often(step) if step.period_s is not None or step.per_call is not None else "":
        period = f"{period}{often}" if period else often.removeprefix(", ")
    return {
        "deep": min(deep, 4),
        "name": names(step.function),
        "full": clean(step.function.name),
        "kind": step.kind,
        "order": step.order,
        "share": round(100 * step.share, 1),
        "calls": step.calls,
        "about": "" if step.estimated is None else "~" if step.estimated.is_known else "\u2265 ",
        "mean": _about_time(step) if step.calls else "",
        "period": period,
        "where": where(step.file, step.line),
    }


def _about_time(step: Step) -> str:
    """Return the duration of a call; empty where it is unknown."""
    if step.estimated is None:
        return _time(step.mean_s)
    return f"~{_time(step.mean_s)}" if step.estimated.is_known else ""


def _time(value: float) -> str:
    """Return seconds with a unit, formatted as by the page's scripts."""
    return seconds(value).replace(" us", " \u00b5s")


def _cost(row: SiteRow) -> str:
    """Return the predicted beat rate and cost of a heartbeat at a site; empty where both are unknown."""
    if not row.beats_hz:
        return ""
    about = {"estimated": "about ", "at most": "at most ", "at least": "at least "}.get(row.basis, "")
    parts = [f"{about}{rate(row.beats_hz)} beats per second"]
    if row.rate_factor > 1:
        parts.append(f"1 of {row.rate_factor} recorded")
    if row.overhead_pct is not None:
        parts.append(f"{rate(row.overhead_pct)} % overhead")
    return ", ".join(parts)


def site_row(row: SiteRow, why: list[str], names: Names) -> dict[str, Any]:
    """Return a site with its lines of source. why: sentences."""
    return {
        "heartbeat": row.heartbeat,
        "name": names(row.function),
        "full": clean(row.function),
        "kind": row.kind,
        "phases": row.phases,
        "phase_pct": row.phase_pct,
        "cost": _cost(row),
        "where": f"{clean(row.file)}:{row.line}" if row.file is not None else "",
        "why": why,
        "note": clean(row.note) if row.note else "",
        "excerpt": [replace(line, text=clean(line.text)) for line in row.excerpt],
    }


# Sections and tables as HTML. All text except the markup in this file is escaped.


# Columns of a name.
ROOM = 80


def chip(phase: int) -> Markup:
    """Return the number of a phase, which the page's script colours."""
    return Markup('<span class="chip" data-phase="{0}">{0}</span>').format(phase)


def html_table(table: Table, chip: Callable[[int], Markup] = chip, style: str = "") -> Markup:
    """Return a table. chip: draws the number of a phase. style: class of the table."""
    heads = Markup("").join(
        Markup('<th scope="col"{}>{}</th>').format(_class(column), column.head or "") for column in table.shown
    )
    rows = Markup("\n").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(_cell(column, row, place == 0, chip) for place, column in enumerate(table.shown))
        )
        for row in table.rows
    )
    named = Markup(' class="{}"').format(style) if style else ""
    return Markup("<table{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>").format(named, heads, rows)


def html_section(section: Section) -> Markup:
    """Return a section without its lanes, which the page's script draws."""
    aside = Markup(' <span class="aside">{}</span>').format(section.name)
    parts = [Markup('<h2 id="{}-title">{}{}</h2>').format(section.name, section.title, aside)]
    for table in section.tables:
        if table.title:
            parts.append(Markup("<h3>{}</h3>").format(table.title))
        parts.append(Markup('<div class="scroll">{}</div>').format(html_table(table, style="counters")))
        parts += [panel for row in table.rows if (panel := _panel(table, row))]
    parts += [Markup('<p class="hint said">{}</p>').format(written(note, "")) for note in section.notes]
    return Markup('<section aria-labelledby="{}-title">\n{}\n</section>').format(section.name, Markup("\n").join(parts))


def _panel(table: Table, row: Any) -> Markup:
    """Return the sentences about a row beside its first cell, each with its topic; "" if there are none."""
    topics = Markup("\n").join(
        Markup("<dt>{}</dt><dd>{}.</dd>").format(column.head or "", text[:1].upper() + text[1:])
        for column in table.sentences
        if (text := written(column.get(row) or "", ""))
    )
    first = _value(table.shown[0], row, chip)
    return Markup('<div class="about">{}<dl>\n{}\n</dl></div>').format(first, topics) if topics else topics


def _class(column: Column, mark: str = "") -> Markup:
    """Return the attribute of a cell's classes."""
    kind = "name" if column.fit is not None else "number" if column.unit not in ("", "phase") else ""
    names = " ".join(name for name in (kind, mark) if name)
    return Markup(' class="{}"').format(names) if names else Markup("")


def _cell(column: Column, row: Any, first: bool, chip: Callable[[int], Markup]) -> Markup:
    """Return a cell; the first one of a row is its heading."""
    name = Markup('th scope="row"') if first else Markup("td")
    value, mark, title = _value(column, row, chip), column.mark(row) if column.mark is not None else "", Markup("")
    if column.fit is not None:
        mark = "deep1" if value.startswith(" ") else mark
        value, title = value.strip(" "), Markup(' title="{}"').format(written(column.get(row), ""))
    return Markup("<{}{}{}>{}</{}>").format(name, _class(column, mark), title, value, name[:2])


def _value(column: Column, row: Any, chip: Callable[[int], Markup]) -> str | Markup:
    """Return the content of a cell."""
    if column.fit is not None:
        return written(column.fit(row, ROOM), "")
    value = column.get(row)
    if column.unit == "phase" and isinstance(value, int):
        return chip(value)
    return written(value, column.unit)
