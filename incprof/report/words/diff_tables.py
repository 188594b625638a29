"""Tables of two compared runs: phases, reasons, energy and functions, for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from incprof.analysis.diff.diff_result import AmountRow, Comparison, EnergyRow, Figure, PhaseRow, Row
from incprof.analysis.diff.reasons import is_large
from incprof.analysis.views.tracks import badge
from incprof.model.section import Column, Table
from incprof.report.words.diff_words import (
    AMOUNTS,
    AS_ENERGY,
    alike,
    amount_change,
    amount_interval,
    calls,
    change,
    energy_cells,
    interval,
    named,
    row_names,
    seconds,
    share,
    sure,
    verdict,
)
from incprof.report.words.formatting import SIMULATED, duration
from incprof.report.words.ranks import imbalance, ranges

BETWEEN = "between phases"
# An amount is listed with a phase if it may make up this part of the phase's change, and that part of its duration.
WORTH_REASON, LEAST = 0.1, 0.01
# Seconds that an event takes at most: five times what it took on a virtual machine (page fault 1.6 us, switch 2.1 us).
# Events that are not listed here are the work of a phase.
EVENT_S = {"faults": 1e-5, "switches": 1e-5, "operations": 1e-5}


# A row of the table of phases: a phase, a step, the run, or the seconds of A and B in no phase.
TableRow = Row | tuple[float, float]


def phase_table(comparison: Comparison, phases: Sequence[Row], *, between: bool = True) -> Table:
    """Return phases and steps, time between phases if there is any, and the run."""
    names = row_names(comparison)
    rows: list[TableRow] = [
        *phases,
        *([comparison.between] if between and max(comparison.between) > 0 else []),
        comparison.run,
    ]

    def of(get: Callable[[Row], object]) -> Callable[[TableRow], object]:
        return lambda row: "" if isinstance(row, tuple) else get(row)

    def name(row: TableRow, room: int) -> str:
        if isinstance(row, tuple):
            return BETWEEN[:room]
        return f"  {named(row, names, room - 2)}" if row.kind == "step" else named(row, names, room)

    def side(place: int) -> Callable[[TableRow], str]:
        return lambda row: seconds(Figure(row[place], 0, None, ()) if isinstance(row, tuple) else (row.a, row.b)[place])

    shares = (
        Column("A %", of(lambda row: "" if row.kind == "run" else share(row.a)), "number", drop=3),
        Column("B %", of(lambda row: "" if row.kind == "run" else share(row.b)), "number", drop=3),
        Column("Alike", of(lambda row: alike(row) if isinstance(row, PhaseRow) else ""), "number", drop=3),
    )
    by_cpu = Column("By CPU", of(lambda row: "" if row.cpu is None else change(row.cpu)), "number", drop=2)
    columns = (
        Column("", of(lambda row: None if row.kind == "step" else row.group), "phase"),
        Column("Phase", lambda row: BETWEEN if isinstance(row, tuple) else row.name, fit=name),
        Column("A", side(0), "number"),
        Column("B", side(1), "number"),
        Column("Change", of(change), "number"),
        Column("95 % interval", of(interval), "number", drop=1),
        *((by_cpu,) if comparison.clock == "both" else ()),
        Column("Verdict", of(verdict), mark=lambda row: "" if isinstance(row, tuple) else sure(row)),
        *shares,
    )
    return Table(columns, rows)


def function_table(comparison: Comparison, rows: Sequence[Row]) -> Table:
    """Return functions."""
    names = row_names(comparison)
    columns = (
        Column("", lambda row: row.group, "phase"),
        Column("Function", lambda row: row.name, fit=lambda row, room: named(row, names, room)),
        Column("Self A", lambda row: seconds(row.a), "number"),
        Column("Self B", lambda row: seconds(row.b), "number"),
        Column("Change", change, "number"),
        Column("95 % interval", interval, "number"),
        Column("Verdict", verdict, mark=sure),
        Column("Calls A", lambda row: calls(row.a), "number", drop=1),
        Column("Calls B", lambda row: calls(row.b), "number", drop=1),
        Column("Per call A", lambda row: row.a.mean_s or None, "s"),
        Column("Per call B", lambda row: row.b.mean_s or None, "s"),
        Column("Phase", lambda row: "" if row.group is None else badge(row.group), "number", drop=1),
    )
    return Table(columns, rows)


def energy_table(comparison: Comparison) -> Table | None:
    """Return the energy of phases and of the run; None if no power was sampled."""
    names = row_names(comparison)
    rows = [(row, row.energy) for row in (*comparison.phases, comparison.run) if row.energy is not None]

    def cell(place: int) -> Callable[[tuple[Row, EnergyRow]], str]:
        return lambda row: energy_cells(*row)[place]

    columns = (
        Column("", lambda row: row[0].group, "phase"),
        Column(energy_head(comparison), lambda row: row[0].name, fit=lambda row, room: named(row[0], names, room)),
        Column("A", cell(0), "number"),
        Column("B", cell(1), "number"),
        Column("Change", cell(2), "number"),
        Column("95 % interval", cell(3), "number"),
        Column("Verdict", cell(4), mark=lambda row: row[1].verdict),
        Column("Power A", cell(5), "number", drop=1),
        Column("Power B", cell(6), "number", drop=1),
    )
    return Table(columns, rows) if rows else None


def energy_head(comparison: Comparison) -> str:
    """Return the heading of an energy table: the node's energy, and whether it was computed by a formula."""
    simulated = comparison.run.energy is not None and comparison.run.energy.simulated
    return f"Energy ({SIMULATED})" if simulated else "Energy"


def reason_table(comparison: Comparison) -> Table | None:
    """Return what changed in phases: amounts beyond noise, or a tenth of a phase's change; None if nothing did."""
    names = row_names(comparison)
    rows = [(phase, reason) for phase in comparison.phases for reason in _reasons(phase)]
    columns = (
        Column("", lambda row: row[0].group, "phase"),
        Column("Phase", lambda row: row[0].name, fit=lambda row, room: named(row[0], names, room), drop=1),
        Column("Why", lambda row: row[1].what),
        Column("A", lambda row: AMOUNTS[row[1].unit](row[1].a.seconds), "number"),
        Column("B", lambda row: AMOUNTS[row[1].unit](row[1].b.seconds), "number"),
        Column("Change", lambda row: amount_change(row[1]), "number"),
        Column("95 % interval", lambda row: amount_interval(row[1]), "number"),
        Column("Verdict", lambda row: AS_ENERGY.get(row[1].verdict, verdict(row[1])), mark=lambda row: sure(row[1])),
    )
    return Table(columns, rows) if rows else None


def rank_table(comparison: Comparison) -> Table | None:
    """Return the phases whose ranks are out of balance on one side at least; None if no phase is."""
    names = row_names(comparison)
    rows = [row for row in comparison.phases if any(run.is_significant for side in row.balance for run in side)]

    def most(place: int) -> Callable[[PhaseRow], str]:
        return lambda row: duration(sum(run.work.most for run in row.balance[place]) / len(row.balance[place]))

    def slowest(place: int) -> Callable[[PhaseRow], str]:
        return lambda row: ranges({run.slowest for run in row.balance[place]})

    columns = (
        Column("", lambda row: row.group, "phase"),
        Column("Ranks", lambda row: row.name, fit=lambda row, room: named(row, names, room)),
        Column("Most work A", most(0), "number"),
        Column("by rank", slowest(0), "number"),
        Column("Most work B", most(1), "number"),
        Column("by rank", slowest(1), "number"),
        Column("Imbalance A", lambda row: imbalance(*row.balance[0]), "number"),
        Column("Imbalance B", lambda row: imbalance(*row.balance[1]), "number"),
    )
    return Table(columns, rows) if rows else None


def _reasons(phase: PhaseRow) -> list[AmountRow]:
    """Return the amounts to list with a phase: only bytes where its time did not change, no waiting by CPU time."""
    rows = [row for row in phase.reasons if phase.off_cpu_s is not None or row.metric.partition(".")[0] != "wait"]
    if phase.verdict not in ("slower", "faster") and (phase.cpu is None or phase.cpu.verdict == "same"):
        return [row for row in rows if row.unit == "B" and row.verdict != "same" and is_large(row)]
    change_s = max(abs(each.change_s) for each in (phase, phase.cpu) if each is not None)
    least_s = max(WORTH_REASON * change_s, LEAST * phase.a.seconds)
    return [row for row in rows if (row.verdict != "same" or row.unit == "s") and _matters(row, least_s)]


def _matters(row: AmountRow, least_s: float) -> bool:
    """Return whether the change of an amount can make up this time of its phase's change."""
    if row.unit == "B":
        return is_large(row)
    cost_s = 1.0 if row.unit == "s" else EVENT_S.get(row.metric)
    return cost_s is None or cost_s * abs(row.change_s) >= least_s
