"""Compare two runs of a program, or several of each: find what takes longer, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from incprof.analysis.diff.compared_rows import ComparedRows
from incprof.analysis.diff.diff_result import Comparison, Side, alike, notes
from incprof.analysis.diff.match import Group, align
from incprof.analysis.diff.measure import Measured, assumed_noise, measure
from incprof.analysis.diff.reasons import NodePower, recorded_once, with_energy, with_reasons
from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.errors import NoDataError
from incprof.model import IntArray, IntervalProfile
from incprof.model.card import Amount

# Time that phases and the run are measured in.
Clock = Literal["both", "wall", "cpu"]

Recorded = tuple[str, RunSummary, IntervalProfile, PhaseResult]


def compare(
    a: Sequence[Recorded],
    b: Sequence[Recorded],
    *,
    run_noise: float | None = None,
    clock: Clock = "wall",
    nodes: Sequence[NodePower] = (),
    amounts: Sequence[Mapping[str, Amount]] = (),
) -> Comparison:
    """Compare side b with side a, the baseline.

    Args:
        a: path, summary, profile and phases of each run of a side.
        b: likewise.
        run_noise: relative standard deviation from run to run, where each side has one run; None for the usual one.
        clock: time that phases and the run are measured in.
        nodes: the power recorded with each run, those of A first; empty to leave energy out.
        amounts: by metric, of the phases of each run, those of A first; empty to leave reasons out.

    Raises:
        NoDataError: a run took no time.
    """
    both = (*a, *b)
    names, runs = measure([run[2] for run in both], [run[3] for run in both], cpu=clock == "cpu")
    for (path, *_), run in zip(both, runs, strict=True):
        if not run.duration_s > 0:
            raise NoDataError(f"{path}: the run took no time: nothing to compare")
    groups = align(runs)
    noise = assumed_noise(runs) if run_noise is None else run_noise
    table = ComparedRows(names, runs, groups, len(a), noise, clock == "cpu")
    whole, phases = table.run(), table.phases()
    if clock == "both":
        by_cpu = ComparedRows(names, [run.by_cpu() for run in runs], groups, len(a), noise, True)
        whole = replace(whole, cpu=by_cpu.run())
        phases = tuple(replace(row, cpu=other) for row, other in zip(phases, by_cpu.clocked(), strict=True))
    if nodes:
        by_wall = [run.by_wall() if clock == "cpu" else run for run in runs]
        whole, phases = with_energy(ComparedRows(names, by_wall, groups, len(a), noise, False), nodes, whole, phases)
    if amounts:
        phases = with_reasons(table, amounts, phases)
    # Phases that occur in other ranks only get no row.
    phases = tuple(row for row, group in zip(phases, groups, strict=True) if _is_present(group, runs))
    labels = [_group_labels(run, groups, at) for at, run in enumerate(runs)]
    sides = [
        Side(path, summary, label, profile.end_s, _build(profile))
        for (path, summary, profile, _), label in zip(both, labels, strict=True)
    ]
    functions, left_out = table.functions()
    rest = [float((run.clock_s * run.members.weight[:, -1]).sum()) for run in runs]
    return Comparison(
        a=tuple(sides[: len(a)]),
        b=tuple(sides[len(a) :]),
        run=whole,
        phases=phases,
        between=(float(np.mean(rest[: len(a)])), float(np.mean(rest[len(a) :]))),
        functions=functions,
        left_out=left_out,
        run_noise=noise if len(both) == 2 else None,
        is_noise_assumed=len(both) == 2 and run_noise is None,
        clock=clock,
        notes=(*notes(sides, runs, len(a)), *alike(phases), *_one_sided(amounts)),
    )


def _one_sided(amounts: Sequence[Mapping[str, Amount]]) -> list[str]:
    """Return a note on amounts that cannot be compared."""
    missing = recorded_once(amounts)
    return [f"not recorded in all runs, so no reason for a change: {', '.join(missing)}"] if missing else []


def _is_present(group: Group, runs: Sequence[Measured]) -> bool:
    """Return whether a group of phases has an interval in any run."""
    return any(run.result.phases[p].intervals for run, own in zip(runs, group.members, strict=True) for p in own)


def _group_labels(run: Measured, groups: Sequence[Group], at: int) -> IntArray:
    """Return the group of each interval of a run, (n,)."""
    group_of = np.full(run.result.k + 1, -1, dtype=np.int64)
    for number, group in enumerate(groups):
        group_of[list(group.members[at])] = number
    return group_of[run.result.labels]


def _build(profile: IntervalProfile) -> str | None:
    """Return the build-id of the program, if known."""
    found = profile.metadata.raw.get("build_id")
    return found if isinstance(found, str) and found else None
