"""Energy on both sides: the power sampled with each run, times the duration of its phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.compare.noise import MIN_INTERVALS, Estimate, observed
from incprof.analysis.diff.diff_result import EnergyRow, PhaseRow, Row
from incprof.analysis.diff.measure import Measured
from incprof.analysis.diff.table import Table, with_verdicts
from incprof.analysis.energy import PhasePower


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
    table: Table, nodes: Sequence[NodePower], run: Row, phases: Sequence[PhaseRow]
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
        rows.append(None if found is None else _row(table, phase, found, noise, simulated, verdict))
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
    (all_of_it,) = with_verdicts([_row(table, run, [e for e in whole if e is not None], noise, simulated, "same")])
    return replace(run, energy=all_of_it), out


def _row(table: Table, row: Row, found: list[Estimate], noise: float, simulated: bool, verdict: str) -> EnergyRow:
    """Return a row of energy without a verdict; seconds are joules."""
    of = table.row(row.kind, row.name, row.group, found, [each.value for each in found], None, noise)
    return EnergyRow(**{**vars(of), "behind": row.behind, "verdict": verdict, "simulated": simulated})


def _of_group(table: Table, nodes: Sequence[NodePower], group: int) -> list[Estimate] | None:
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
