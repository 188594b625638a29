"""Why phases changed: the amounts of their cards on both sides, such as CPU time, waiting by cause, bytes read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from incprof.analysis.compare.noise import Estimate
from incprof.analysis.diff.diff_result import AmountRow, PhaseRow
from incprof.analysis.diff.match import Group
from incprof.analysis.diff.table import Table, with_verdicts
from incprof.model.card import Amount


def with_reasons(
    table: Table, amounts: Sequence[Mapping[str, Amount]], phases: Sequence[PhaseRow]
) -> tuple[PhaseRow, ...]:
    """Return the rows of the phases with a row for each amount that all runs recorded.

    Where each side has one run, an amount is assumed to scatter from run to run as durations do.

    Args:
        table: of the runs.
        amounts: of each run, by metric.
        phases: in the order of the table's groups.
    """
    shared = [metric for metric in amounts[0] if all(metric in each for each in amounts)]
    rows = [
        row
        for phase, group in zip(phases, table.groups, strict=True)
        if phase.verdict not in ("gone", "new")
        for metric in shared
        if (row := _row(table, phase, group, [each[metric] for each in amounts])) is not None
    ]
    judged = with_verdicts(rows)
    return tuple(replace(phase, reasons=tuple(row for row in judged if row.group == phase.group)) for phase in phases)


def recorded_once(amounts: Sequence[Mapping[str, Amount]]) -> list[str]:
    """Return the names of the amounts that only some of the runs recorded."""
    names = {metric: amount.name for each in amounts for metric, amount in each.items()}
    return [name for metric, name in names.items() if not all(metric in each for each in amounts)]


def _row(table: Table, phase: PhaseRow, group: Group, of_runs: Sequence[Amount]) -> AmountRow | None:
    """Return an amount of a phase on both sides; None where no run has any, or a run does not know it."""
    sums = []
    for amount, members in zip(of_runs, group.members, strict=True):
        if any(number not in amount.values for number in members):
            return None
        sums.append(sum(amount.values[number] for number in members))
    if not max(sums) > 0:
        return None
    found = [Estimate(value) for value in sums]
    row = table.row("amount", phase.name, phase.group, found, [each.value for each in found], None)
    first = of_runs[0]
    more = {"metric": first.metric, "what": first.name, "unit": first.unit, "phase_s": phase.a.seconds}
    return AmountRow(**{**vars(row), "behind": phase.behind, **more})
