"""Why phases changed: the amounts of their cards on both sides, such as CPU time, waiting by cause, bytes read.

Energy is one of them, and the run's as well: the power sampled with each run, times the duration of its phases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from incprof.analysis.compare.noise import EXACT, LEVEL, MIN_INTERVALS, Estimate, observed
from incprof.analysis.diff.compared_rows import ComparedRows, with_verdicts
from incprof.analysis.diff.diff_result import AmountRow, EnergyRow, PhaseRow, Row
from incprof.analysis.diff.match_phases import Group
from incprof.analysis.diff.measure import Measured
from incprof.analysis.energy import PhasePower
from incprof.model.section import Amount

# Quotients of two amounts, which explain the first: more of the second, or more of the first for each. With the name
# and unit of the quotient.
QUOTIENTS = {"cpi": ("cycles", "instructions", "cycles per instruction", "ratio")}
# Amounts of phases that do not add up to one of the run.
NO_SUMS = ("peak",)
# Times that only one side has are noise below this part of the phase's duration.
LEAST = 0.01


def with_reasons(
    table: ComparedRows, amounts: Sequence[Mapping[str, Amount]], phases: Sequence[PhaseRow]
) -> tuple[PhaseRow, ...]:
    """Return the rows of the phases with a row for each amount that all runs recorded.

    Where each side has one run, an amount is assumed to scatter from run to run as durations do.

    Args:
        table: of the runs.
        amounts: of each run, by metric.
        phases: in the order of the table's groups.
    """
    shared = _shared(amounts)
    rows = [
        row
        for phase, group in zip(phases, table.groups, strict=True)
        if phase.verdict not in ("gone", "new")
        for metric in shared
        if (row := _row(table, phase, group, [each[metric] for each in amounts])) is not None
    ]
    rows += [
        row
        for phase in phases
        for row in _quotients(table, phase, [each for each in rows if each.group == phase.group])
    ]
    judged = _judged(rows, table)
    return tuple(replace(phase, reasons=tuple(row for row in judged if row.group == phase.group)) for phase in phases)


def with_reasons_of_run(table: ComparedRows, amounts: Sequence[Mapping[str, Amount]], run: Row) -> Row:
    """Return the row of the run with a row for each amount that all runs recorded: the sum over all phases."""
    rows = []
    for metric in _shared(amounts):
        of_runs = [each[metric] for each in amounts]
        if metric not in NO_SUMS:
            sums = [Estimate(sum(a.values.values()), sum(error**2 for error in a.errors.values())) for a in of_runs]
            rows.append(_amount_row(table, run, sums, metric, of_runs[0].name, of_runs[0].unit))
    return replace(run, reasons=tuple(_judged([*rows, *_quotients(table, run, rows)], table)))


def _shared(amounts: Sequence[Mapping[str, Amount]]) -> list[str]:
    """Return the metrics that all runs recorded."""
    return [metric for metric in amounts[0] if all(metric in each for each in amounts)]


def _judged(rows: Sequence[AmountRow], table: ComparedRows) -> list[AmountRow]:
    """Return the rows with verdicts, adjusted for the number of rows of each kind of amount."""
    kinds = list(dict.fromkeys(row.metric for row in rows))
    by_kind = [row for kind in kinds for row in with_verdicts([row for row in rows if row.metric == kind])]
    return [row if row.ci is not None else _from_nothing(row, table.noise) for row in by_kind]


def recorded_once(amounts: Sequence[Mapping[str, Amount]]) -> list[str]:
    """Return the names of the amounts that only some of the runs recorded."""
    names = {metric: amount.name for each in amounts for metric, amount in each.items()}
    return [name for metric, name in names.items() if not all(metric in each for each in amounts)]


def _row(table: ComparedRows, phase: PhaseRow, group: Group, of_runs: Sequence[Amount]) -> AmountRow | None:
    """Return an amount of a phase on both sides; None where a run does not know it."""
    sums = []
    for amount, members in zip(of_runs, group.members, strict=True):
        if any(number not in amount.values for number in members):
            return None
        variance = sum(amount.errors.get(number, 0.0) ** 2 for number in members)
        sums.append(Estimate(sum(amount.values[number] for number in members), variance))
    return _amount_row(table, phase, sums, of_runs[0].metric, of_runs[0].name, of_runs[0].unit)


def _amount_row(table: ComparedRows, phase: Row, found: list[Estimate], metric: str, name: str, unit: str) -> AmountRow:
    """Return a row of an amount in each run, of a phase or of all."""
    row = table.row("amount", phase.name, phase.group, found, [each.value for each in found], None)
    more = {"metric": metric, "what": name, "unit": unit, "phase_s": phase.a.seconds}
    return AmountRow(**{**vars(row), "behind": phase.behind, **more})


def _from_nothing(row: AmountRow, noise: float) -> AmountRow:
    """Return a row of which one side has nothing, with the interval of the difference, by Student's distribution."""
    if row.change_s == 0:
        return row
    values = np.array(row.b.runs if row.change_s > 0 else row.a.runs)
    mean, n = float(values.mean()), len(values)
    error = float(values.std(ddof=1)) / np.sqrt(n) if n > 1 else noise * mean
    margin = error * float(special.stdtrit(n - 1 if n > 1 else EXACT, (1 + LEVEL) / 2))
    low, high = mean - margin, mean + margin
    is_more = row.change_s > 0
    is_significant = low > (LEAST * row.phase_s if row.unit == "s" else 0.0)
    return replace(
        row,
        difference=(low, high) if is_more else (-high, -low),
        verdict=("slower" if is_more else "faster") if is_significant else "same",
    )


def _quotients(table: ComparedRows, phase: Row, rows: Sequence[AmountRow]) -> list[AmountRow]:
    """Return the quotients of a phase's amounts, where every run has both."""
    by_metric = {row.metric: row for row in rows}
    out = []
    for metric, (above, below, name, unit) in QUOTIENTS.items():
        if above not in by_metric or below not in by_metric:
            continue
        one, other = ((*row.a.runs, *row.b.runs) for row in (by_metric[above], by_metric[below]))
        if min(other) > 0:
            values = [Estimate(a / b) for a, b in zip(one, other, strict=True)]
            out.append(_amount_row(table, phase, values, metric, name, unit))
    return out


# The main reason for a change.

# Reasons with this part of the change of a phase explain it together; each has so much.
MAIN, EACH = 0.5, 0.2
# The part of the growth of cycles that instructions, or the cycles for each, must have to be the reason alone.
ALONE = 2 / 3


@dataclass(frozen=True)
class MainReason:
    """What makes up most of the change of a phase, or of the run.

    Attributes:
        row: CPU time, or waiting for one cause.
        part: of the change, from 0; above 1 with several threads, or where something else made up for it.
        by: of CPU time, whether the number of instructions changed, the cycles for each, or both; None: unknown.
        others: further reasons with their parts.
        kernel: the part of the change of CPU time that is in the kernel, if it is most of it; else None.
        moved: bytes read or written that changed as well, if it is in the kernel or waits for files; else None.
        of_cpu: whether it is the change of CPU time: wall time does not show it, or was not compared.
    """

    row: AmountRow
    part: float
    by: Literal["instructions", "cycles", "both"] | None = None
    others: tuple[tuple[AmountRow, float], ...] = ()
    kernel: float | None = None
    moved: AmountRow | None = None
    of_cpu: bool = False


def main_reason(phase: Row) -> MainReason | None:
    """Return what makes up most of the change of a phase or of the run; None if it did not change beyond noise.

    Waiting is divided by cause as far as causes were recorded. It has no part in a change of CPU time.
    """
    by_metric = {row.metric: row for row in phase.reasons}
    changed = phase.only_cpu or phase
    if changed.verdict not in ("slower", "faster"):
        return None
    cpu = [by_metric["cpu"]] if "cpu" in by_metric else []
    causes = [row for row in phase.reasons if row.metric.startswith("wait.")]
    whole = [by_metric["wait"]] if "wait" in by_metric else []
    sets = [] if phase.off_cpu_s is None else [_parts(rows, phase.change_s) for rows in (causes + cpu, whole + cpu)]
    if changed is not phase:
        # Its wall time scatters too much to show a change; that it waits longer may be certain nevertheless.
        sets = [parts for parts in sets if any(row.metric not in ("cpu", "wait.run-queue") for row, _ in parts)]
    parts, of_cpu = next((parts for parts in sets if parts), []), False
    if not parts and (changed is not phase or phase.off_cpu_s is None):
        parts, of_cpu = _parts(cpu, changed.change_s), True
    if not parts:
        return None
    (most, part), *others = parts
    is_cpu = most.metric == "cpu"
    kernel = _kernel_part(by_metric, most) if is_cpu else None
    by = _by(by_metric) if is_cpu else None
    if of_cpu and by is None and kernel is None:
        return None
    moved = _moved(by_metric, most.change_s > 0) if kernel is not None or most.metric == "wait.io" else None
    return MainReason(most, part, by, tuple(others), kernel, moved, of_cpu)


def _parts(rows: Sequence[AmountRow], change_s: float) -> list[tuple[AmountRow, float]]:
    """Return the amounts with their parts of a change, largest first; none if they make up less than MAIN of it."""
    parts = [(row, row.change_s / change_s) for row in rows if row.verdict != "same"] if change_s else []
    parts = sorted((one for one in parts if one[1] >= EACH), key=lambda one: -one[1])
    return parts if sum(part for _, part in parts) >= MAIN else []


def _kernel_part(rows: Mapping[str, AmountRow], cpu: AmountRow) -> float | None:
    """Return the part of a change of CPU time that is in the kernel; None if it is not most of it beyond noise."""
    kernel = rows.get("kernel")
    part = kernel.change_s / cpu.change_s if kernel is not None and kernel.verdict != "same" else 0.0
    return part if part >= MAIN else None


def _moved(rows: Mapping[str, AmountRow], more: bool) -> AmountRow | None:
    """Return the bytes read or written that became most more, or less, if that is much."""
    moved = [row for name in ("written", "read") if (row := rows.get(name)) is not None]
    moved = [row for row in moved if row.verdict != "same" and is_large(row) and (row.change_s > 0) == more]
    return max(moved, key=lambda row: abs(row.change_s), default=None)


# Bytes that change by this factor, and by so many, are much.
WORTH_FACTOR, WORTH_B = 1.1, 1e6


def is_large(row: AmountRow) -> bool:
    """Return whether bytes changed by a factor and a size that matter."""
    less, more = sorted((row.a.seconds, row.b.seconds))
    return more - less >= WORTH_B and more >= WORTH_FACTOR * less


def _by(rows: Mapping[str, AmountRow]) -> Literal["instructions", "cycles", "both"] | None:
    """Return whether CPU time changed with the number of instructions, with the cycles for each, or with both."""
    more, each = (rows[name].ratio if name in rows else None for name in ("instructions", "cpi"))
    if not more or not each or more * each == 1.0:
        return None
    part = float(np.log(more) / np.log(more * each))
    return "instructions" if part >= ALONE else "cycles" if part <= 1 - ALONE else "both"


# The energy of the node.


@dataclass(frozen=True)
class NodePower:
    """The power of a run's node.

    Attributes:
        of: power of each phase.
        others: share of the node's busy processors that other processes used, 0..1.
        simulated: whether it comes from a formula, not from a sensor.
    """

    of: PhasePower
    others: float = 0.0
    simulated: bool = False


def with_energy(
    table: ComparedRows, nodes: Sequence[NodePower], run: Row, phases: Sequence[PhaseRow]
) -> tuple[Row, tuple[PhaseRow, ...]]:
    """Return the rows of the run and of its phases with their energy.

    Other processes on a node take part of its power, between nothing and their share of the busy processors. Where each
    side has one run, energy is assumed to scatter by as much from run to run.

    Args:
        table: by wall time.
        nodes: for each run.
        run: row of the run.
        phases: rows of the phases, in the order of the table's groups.
    """
    noise = float(np.hypot(table.noise, max(node.others for node in nodes)))
    simulated = any(node.simulated for node in nodes)
    groups: list[list[Estimate] | None] = [_of_group(table, nodes, at) for at in range(len(table.groups))]
    rows = []
    for phase, found in zip(phases, groups, strict=True):
        verdict = phase.verdict if phase.verdict in ("gone", "new") else "same"
        rows.append(None if found is None else _energy_row(table, phase, found, noise, simulated, verdict))
    judged = iter(with_verdicts([row for row in rows if row is not None]))
    out = tuple(
        phase if row is None else replace(phase, energy=next(judged)) for phase, row in zip(phases, rows, strict=True)
    )
    whole = [
        _of_run(table.runs[at], nodes[at], [group[at] for group in groups if group is not None])
        for at in range(len(nodes))
    ]
    if any(found is None for found in (*groups, *whole)):
        whole = [_mean_power(each, node) for each, node in zip(table.runs, nodes, strict=True)]
    (all_of_it,) = with_verdicts(
        [_energy_row(table, run, [e for e in whole if e is not None], noise, simulated, "same")]
    )
    return replace(run, energy=all_of_it), out


def _energy_row(
    table: ComparedRows, row: Row, found: list[Estimate], noise: float, simulated: bool, verdict: str
) -> EnergyRow:
    """Return a row of energy without a verdict; seconds are joules."""
    of = table.row(row.kind, row.name, row.group, found, [each.value for each in found], None, noise)
    return EnergyRow(**{**vars(of), "behind": row.behind, "verdict": verdict, "simulated": simulated})


def _of_group(table: ComparedRows, nodes: Sequence[NodePower], group: int) -> list[Estimate] | None:
    """Return the joules of a phase in each run; None if its power is unknown in a run that has it."""
    found = []
    for time, node, members in zip(table.estimates.phase(group), nodes, table.groups[group].members, strict=True):
        joules = Estimate(0.0) if not members else _joules(time, node.of, members)
        if joules is None:
            return None
        found.append(joules)
    return found


def _of_run(run: Measured, node: NodePower, phases: Sequence[Estimate]) -> Estimate | None:
    """Return the joules of a run: of its phases, and between them."""
    total = Estimate(0.0)
    for phase in phases:
        total = total + phase
    rest = Estimate(float((run.clock_s * run.members.weight[:, -1]).sum()))
    if rest.value <= 0:
        return total
    between = _joules(rest, node.of, [-1])
    return None if between is None else total + between


def _mean_power(run: Measured, node: NodePower) -> Estimate:
    """Return the joules of a run from its mean power, for runs with phases too short to have a power."""
    found = _joules(Estimate(run.duration_s), node.of, range(len(node.of.watts)))
    assert found is not None  # some of the run was measured
    return found


def _joules(time: Estimate, power: PhasePower, members: Sequence[int]) -> Estimate | None:
    """Return time multiplied by power, with the uncertainty of both; None where there is no power."""
    which = list(members)
    measured = power.measured_s[which]
    if not measured.sum() > 0:
        return None
    watts = float(np.nansum(power.watts[which] * measured) / measured.sum())
    joules = time.scaled(watts)
    rows_w, rows_s = (np.concatenate([rows[at] for at in which]) for rows in (power.rows_w, power.rows_s))
    found = observed(rows_s, rows_w * rows_s) if len(rows_w) >= MIN_INTERVALS else None
    if found is not None and found.value > 0:
        relative, dof = found.variance / found.value**2, found.dof
    else:
        # Few rows do not show their scatter: assume at most that of the whole run, across different phases.
        every = np.concatenate(power.rows_w)
        spread = float(every.var(ddof=1)) if len(every) > 1 else watts**2
        relative, dof = spread / max(watts, 1e-12) ** 2 / max(len(rows_w), 1), float(max(len(every) - 1, 1))
    return joules.uncertain_by(relative * joules.value**2, dof)
