"""Rows of the tables that stand on a page before any script runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from incprof.analysis.phases.results import Phase, Step
from incprof.report.page.words import percent
from incprof.report.sites_answer import SiteRow
from incprof.report.words.figures import duration
from incprof.report.words.names import Names, clean, where
from incprof.report.words.numbers import rate, seconds


def phase_row(phase: Phase, name: str, names: Names) -> dict[str, Any]:
    """Return a row of the table of phases."""
    return {
        "id": phase.id,
        "name": name,
        "time": duration(phase.seconds),
        "share": round(phase.app_pct, 1),
        "intervals": phase.intervals,
        "confidence": percent(phase.confidence),
        "functions": [(names(t.function.name), clean(t.function.name), percent(t.share)) for t in phase.functions[:3]],
        "sites": [
            f"{names(s.function.name)} ({s.kind})" + (f", {at}" if (at := where(s.file, s.line)) else "")
            for s in phase.sites
        ],
    }


def step_row(step: Step, names: Names) -> dict[str, Any]:
    """Return a row of the steps of a phase."""
    period = _time(step.period_s) if step.period_s is not None else ""
    if period and step.every is not None and step.every > 1:
        period += f", in each {step.every}th"
    return {
        "name": names(step.function.name),
        "full": clean(step.function.name),
        "kind": step.kind,
        "order": step.order,
        "share": round(100 * step.share, 1),
        "calls": step.calls,
        "mean": _time(step.mean_s) if step.calls else "",
        "period": period,
        "where": where(step.file, step.line),
    }


def _time(value: float) -> str:
    """Return seconds with a unit, as the page's scripts write it."""
    return seconds(value).replace(" us", " \u00b5s")


def _cost(row: SiteRow) -> str:
    """Return how often a heartbeat at a site would beat, and what that would cost; empty where nothing is known."""
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
