"""Rows of the tables that stand on a page before any script runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from incprof.analysis.counters.results import CountersUnder
from incprof.analysis.phases.results import Phase, Step
from incprof.report.page.parts import NodeParts
from incprof.report.page.words import percent
from incprof.report.sites_answer import SiteRow
from incprof.report.words.counters import bound_line, columns, energy_line, head, lines_about, value
from incprof.report.words.dna import name_of as state_name
from incprof.report.words.figures import duration
from incprof.report.words.names import Names, clean, where
from incprof.report.words.numbers import joules, rate, seconds
from incprof.report.words.phase_names import TOP_FUNCTIONS
from incprof.report.words.recurrence import how_often
from incprof.report.words.remainder import remainder
from incprof.report.words.site_evidence import no_site
from incprof.report.words.spent import spent_words

# Of a phase, as many states of the node are named.
MOST_STATES = 4


def phase_row(phase: Phase, name: str, names: Names) -> dict[str, Any]:
    """Return a row of the table of phases."""
    return {
        "id": phase.id,
        "name": name,
        "time": duration(phase.seconds),
        "share": round(phase.app_pct, 1),
        "intervals": phase.intervals,
        "confidence": percent(phase.confidence),
        "spent": ", ".join(spent_words(phase)),
        "no_site": "" if phase.sites else no_site(phase, names),
        "functions": [
            (names(t.function), clean(t.function.name), percent(t.share)) for t in phase.functions[:TOP_FUNCTIONS]
        ],
        "sites": [
            f"{names(s.function)} ({s.kind})" + (f", {at}" if (at := where(s.file, s.line)) else "")
            for s in phase.sites
        ],
    }


def counter_words(found: CountersUnder) -> dict[str, Any]:
    """Return the table of counters: its heads, a row for each phase with what it is bound by, and what to know."""
    shown = columns(found)
    return {
        "heads": [head(found, name) for name in shown],
        "rows": [
            (phase.id, duration(phase.seconds), [value(phase, name) for name in shown], bound_line(phase))
            for phase in found.phases
        ],
        "steps": [(phase.id, line) for phase in found.phases if (line := energy_line(found, phase))],
        "notes": lines_about(found),
    }


def node_words(found: NodeParts) -> dict[str, Any]:
    """Return the table of the node: a row for each phase with its power, its energy and its states."""
    rows = [
        (
            each.phase,
            duration(each.seconds),
            "-" if each.power_w is None else f"{each.power_w:.0f}",
            "-" if each.energy_j is None else joules(each.energy_j, 4),
            [f"{state_name(found.alphabet, state)}: {percent(share)}" for state, share in each.states[:MOST_STATES]],
        )
        for each in found.phases
        if each.seconds and each.phase >= 0
    ]
    notes = [
        f"Node {found.node.node}.",
        *(["Power is simulated: no sensor measured it."] if found.node.simulated else []),
    ]
    if found.node.watts is None:
        notes.append("No power was measured.")
    return {"rows": rows, "notes": notes}


def step_rows(steps: Sequence[Step], names: Names, deep: int = 0) -> list[dict[str, Any]]:
    """Return the rows of the steps of a phase, each before those of the steps below it."""
    rows = []
    for step in steps:
        rows += [_step_row(step, names, deep), *step_rows(step.steps, names, deep + 1)]
    return rows


def rest_lines(steps: Sequence[Step], names: Names) -> list[str]:
    """Return where the rest of an iteration is, for each loop whose steps do not add up to it."""
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
    """Return a row of a step. deep: how many steps are above it."""
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
    """Return how long a call takes; nothing where nobody can tell."""
    if step.estimated is None:
        return _time(step.mean_s)
    return f"~{_time(step.mean_s)}" if step.estimated.is_known else ""


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
