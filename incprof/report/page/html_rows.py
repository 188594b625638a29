"""Rows of the tables that a page shows before any script runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from incprof.analysis.phase_result import Phase, Step
from incprof.analysis.phases.clustering import Stage
from incprof.analysis.views.site_rows import SiteRow
from incprof.report.page.page_text import decimal_percent
from incprof.report.words.display_names import TOP_FUNCTIONS, Names, clean, where
from incprof.report.words.formatting import count, duration, rate, seconds
from incprof.report.words.phase_words import DEEPEST, all_stages
from incprof.report.words.site_evidence import how_often, no_site, remainder, spent_words


def phase_row(phase: Phase, name: str, names: Names) -> dict[str, Any]:
    """Return a row of the table of phases."""
    return {
        "id": phase.id,
        "name": name,
        "time": duration(phase.seconds),
        "share": round(phase.app_pct, 1),
        "intervals": phase.intervals,
        "confidence": decimal_percent(phase.confidence),
        "spent": ", ".join(spent_words(phase)),
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


def rest_lines(steps: Sequence[Step], names: Names) -> list[str]:
    """Return where the rest of an iteration is spent, for each loop whose steps do not add up to it."""
    lines = []
    for driver in dict.fromkeys(step.driver for step in steps):
        mine = [step for step in steps if step.driver == driver]
        if rest := remainder(mine, names):
            period = max(step.period_s or 0.0 for step in mine)
            lines.append(
                f"Of {_time(period)} in {names(driver) if driver else 'the loop'}: {rest}".replace(" us", " \u00b5s")
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
    said = [f"{about}{rate(row.beats_hz)} beats per second"]
    if row.rate_factor > 1:
        said.append(f"1 of {row.rate_factor} recorded")
    if row.overhead_pct is not None:
        said.append(f"{rate(row.overhead_pct)} % overhead")
    return ", ".join(said)


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
