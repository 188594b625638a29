"""Two runs side by side as JSON, schema incprof.diff/1 (docs/use/diff.md)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TextIO

from incprof.analysis.compare import Condition
from incprof.analysis.compare.noise import LEVEL
from incprof.analysis.diff.diff_result import AmountRow, Comparison, EnergyRow, Figure, PhaseRow, Row, Side
from incprof.analysis.diff.reasons import main_reason
from incprof.report.render.json import fields, run_json, significant, write
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
        "run": _row(comparison.run) | _why(comparison.run),
        "phases": [_phase(row, first) for row in comparison.phases],
        "between_s": [_rounded(value) for value in comparison.between],
        "functions": [{**_row(row), "phase": row.group} for row in comparison.functions],
        "functions_left_out": comparison.left_out,
        "broken": [_broken(condition, row) for condition, row in broken],
    }
    write(answer, out)


def _rounded(value: float | None) -> float | None:
    return significant(value, 9)


_fields = partial(fields, number=_rounded)


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
    """Return a phase with its steps. first: the number of runs of A."""
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
        **{
            f"only_{side}": [{"name": name, "share": _rounded(share)} for name, share in functions]
            for side, functions in zip("ab", row.only, strict=True)
        },
        **{
            f"ranks_{side}": [
                {"ranks": run.ranks, "slowest": run.slowest, "most_s": _rounded(run.work.most)}
                | {"imbalance": _rounded(run.imbalance), "significant": run.is_significant}
                for run in runs
            ]
            for side, runs in zip("ab", row.balance, strict=True)
        },
        **_why(row),
    }


def _why(row: Row) -> dict[str, object]:
    """Return the reasons for the change of a phase or of the run, and the main one."""
    main = main_reason(row)
    return {
        # Parts of an amount that neither side has are left out.
        "reasons": [
            _amount(one, row) for one in row.reasons if "." not in one.metric or one.a.seconds or one.b.seconds
        ],
        "why": main and {"metric": main.row.metric, **_fields(main, "part by"), "said": why(row)},
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
        **_fields(row, "p_adjusted verdict"),
        **({} if row.off_cpu_s is None else _fields(row, "off_cpu_s")),
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


def _runs(row: Row) -> list[object]:
    """Return the values of each run of A, and of B."""
    return [[_rounded(value) for value in side.runs] for side in (row.a, row.b)]


def _energy(row: Row, energy: EnergyRow) -> dict[str, object]:
    """Return the energy of a row in joules, and its mean power."""
    both = ((row.a, energy.a), (row.b, energy.b))
    watts = [joules.seconds / time.seconds if time.seconds > 0 else None for time, joules in both]
    return {
        "a_j": _rounded(energy.a.seconds),
        "b_j": _rounded(energy.b.seconds),
        "runs_j": _runs(energy),
        "power_w": [_rounded(value) for value in watts],
        **_change(energy),
        "p_adjusted": _rounded(energy.p_adjusted),
        "verdict": AS_ENERGY.get(energy.verdict, energy.verdict),
        "simulated": energy.simulated,
    }


def _amount(row: AmountRow, phase: Row) -> dict[str, object]:
    """Return an amount of a phase or of the run on both sides, in its unit."""
    is_part = row.unit == "s" and phase.change_s != 0
    return {
        "change": _rounded(row.change_s),
        "interval": None if row.change_interval is None else [_rounded(end) for end in row.change_interval],
        "part_of_change": _rounded(row.change_s / phase.change_s) if is_part else None,
        **fields(row, "metric name=what unit"),
        "a": _rounded(row.a.seconds),
        "b": _rounded(row.b.seconds),
        "runs": _runs(row),
        **_change(row),
        "p_adjusted": _rounded(row.p_adjusted),
        "verdict": AS_ENERGY.get(row.verdict, row.verdict),
    }


def _figure(figure: Figure) -> dict[str, object]:
    """Return the values of one side."""
    return {**_fields(figure, "seconds share calls mean_s"), "runs_s": [_rounded(value) for value in figure.runs]}


def _broken(condition: Condition, row: Row) -> dict[str, object]:
    """Return a failed gate and the row that fails it."""
    return {
        "condition": condition.text,
        **_fields(row, "kind name"),
        "phase": row.group,
        "message": broken_line(condition, row),
    }
