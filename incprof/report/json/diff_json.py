"""Two runs side by side as JSON, schema incprof.diff/1 (docs/use/diff.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.compare.gate import Condition
from incprof.analysis.compare.noise import LEVEL
from incprof.analysis.diff.diff_result import AmountRow, Comparison, EnergyRow, Figure, PhaseRow, Row, Side
from incprof.analysis.diff.reasons import main_reason
from incprof.report.render.json import run_json, significant, write
from incprof.report.words.diff_words import AS_ENERGY, broken_line, why

SCHEMA = "incprof.diff/1"


def write_json(
    comparison: Comparison, broken: Sequence[tuple[Condition, Row]], warnings: Sequence[str], out: TextIO
) -> None:
    """Write one JSON object and a newline."""
    first = len(comparison.a)
    answer = {
        "schema": SCHEMA,
        "a": [_side(side) for side in comparison.a],
        "b": [_side(side) for side in comparison.b],
        "level": LEVEL,
        "time": comparison.clock,
        "run_noise": _rounded(comparison.run_noise),
        "notes": list(comparison.notes),
        "warnings": list(warnings),
        "run": _row(comparison.run),
        "phases": [_phase(row, first) for row in comparison.phases],
        "between_s": [_rounded(value) for value in comparison.between],
        "functions": [{**_row(row), "phase": row.group} for row in comparison.functions],
        "functions_left_out": comparison.left_out,
        "broken": [_broken(condition, row) for condition, row in broken],
    }
    write(answer, out)


def _side(side: Side) -> dict[str, object]:
    """Return a run, with the phase of each interval numbered as in this comparison."""
    return {
        "path": side.path.encode("utf-8", "replace").decode("utf-8"),
        "run": run_json(side.summary),
        "build": side.build,
        "end_s": [_rounded(end) for end in side.end_s.tolist()],
        "labels": side.labels.tolist(),
    }


def _phase(row: PhaseRow, first: int) -> dict[str, object]:
    """Return a phase with its steps."""
    members = [list(one) for one in row.members]
    return {
        "id": row.group,
        **_row(row),
        "elsewhere": row.elsewhere,
        "phases_a": members[:first],
        "phases_b": members[first:],
        "likeness": _rounded(row.likeness),
        "share_points": _rounded(100 * (row.b.share - row.a.share)),
        "share_error_points": _rounded(100 * row.share_error),
        "steps": [_row(step) for step in row.steps],
        "reasons": [_amount(reason, row) for reason in row.reasons],
        "why": _why(row),
    }


def _row(row: Row) -> dict[str, object]:
    """Return an item present on both sides."""
    return {
        "name": row.name,
        "a": _figure(row.a),
        "b": _figure(row.b),
        "change_s": _rounded(row.change_s),
        **_change(row),
        "p_value": None if row.ci is None else _rounded(row.ci.p_value),
        "p_adjusted": _rounded(row.p_adjusted),
        "verdict": row.verdict,
        **({} if row.off_cpu_s is None else {"off_cpu_s": [_rounded(value) for value in row.off_cpu_s]}),
        **({} if row.cpu is None else {"cpu": _row(row.cpu), "disagrees": row.disagrees}),
        **({} if row.energy is None else {"energy": _energy(row, row.energy)}),
    }


def _change(row: Row) -> dict[str, object]:
    """Return the change from A to B in percent, and its interval."""
    factors = () if row.ci is None else (row.ci.low, row.ci.high)
    return {
        "change_pct": None if row.ratio is None else _rounded(100 * (row.ratio - 1)),
        "interval_pct": [_rounded(100 * (factor - 1)) for factor in factors] or None,
    }


def _energy(row: Row, energy: EnergyRow) -> dict[str, object]:
    """Return the energy of a row in joules, and its mean power."""
    both = ((row.a, energy.a), (row.b, energy.b))
    watts = [joules.seconds / time.seconds if time.seconds > 0 else None for time, joules in both]
    return {
        "a_j": _rounded(energy.a.seconds),
        "b_j": _rounded(energy.b.seconds),
        "runs_j": [[_rounded(value) for value in side.runs] for side in (energy.a, energy.b)],
        "power_w": [_rounded(value) for value in watts],
        **_change(energy),
        "p_adjusted": _rounded(energy.p_adjusted),
        "verdict": AS_ENERGY.get(energy.verdict, energy.verdict),
        "simulated": energy.simulated,
    }


def _why(phase: PhaseRow) -> dict[str, object] | None:
    """Return the main reason for the change of a phase; None if there is none."""
    main = main_reason(phase)
    if main is None:
        return None
    return {"metric": main.row.metric, "part": _rounded(main.part), "by": main.by, "said": why(phase)}


def _amount(row: AmountRow, phase: PhaseRow) -> dict[str, object]:
    """Return an amount of a phase on both sides, in its unit."""
    is_part = row.unit == "s" and phase.change_s != 0
    return {
        "change": _rounded(row.change_s),
        "interval": None if row.change_interval is None else [_rounded(end) for end in row.change_interval],
        "part_of_change": _rounded(row.change_s / phase.change_s) if is_part else None,
        "metric": row.metric,
        "name": row.what,
        "unit": row.unit,
        "a": _rounded(row.a.seconds),
        "b": _rounded(row.b.seconds),
        "runs": [[_rounded(value) for value in side.runs] for side in (row.a, row.b)],
        **_change(row),
        "p_adjusted": _rounded(row.p_adjusted),
        "verdict": AS_ENERGY.get(row.verdict, row.verdict),
    }


def _figure(figure: Figure) -> dict[str, object]:
    """Return the values of one side."""
    return {
        "seconds": _rounded(figure.seconds),
        "share": _rounded(figure.share),
        "calls": _rounded(figure.calls),
        "mean_s": _rounded(figure.mean_s),
        "runs_s": [_rounded(value) for value in figure.runs],
    }


def _broken(condition: Condition, row: Row) -> dict[str, object]:
    """Return a failed gate and the row that fails it."""
    return {
        "condition": condition.text,
        "kind": row.kind,
        "name": row.name,
        "phase": row.group,
        "message": broken_line(condition, row),
    }


def _rounded(value: float | None) -> float | None:
    """Return a number rounded to nine significant digits."""
    return significant(value, 9)
