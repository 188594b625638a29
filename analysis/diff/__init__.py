"""Compare two runs of a program, or several of each: find what takes longer, and whether that is more than noise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from incprof.analysis.compare import TIMES, Condition, exceeds, selected, selects
from incprof.analysis.compare import parse as parse_with
from incprof.analysis.diff.compared_rows import ComparedRows
from incprof.analysis.diff.diff_result import AmountRow, Comparison, PhaseRow, Row, Side, alike, notes
from incprof.analysis.diff.match_phases import Group, align
from incprof.analysis.diff.measure import Measured, assumed_noise, measure
from incprof.analysis.diff.reasons import NodePower, recorded_once, with_energy, with_reasons, with_reasons_of_run
from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.ranks.all_ranks import balance
from incprof.analysis.ranks.ranks_result import PhaseBalance, RanksResult
from incprof.errors import NoDataError, UsageError
from incprof.model import IntArray, IntervalProfile
from incprof.model.names import parse as taken_apart
from incprof.model.section import Amount

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
    ranks: Sequence[RanksResult | None] = (),
) -> Comparison:
    """Compare side b with side a, the baseline.

    Args:
        a: path, summary, profile and phases of each run of a side.
        b: likewise.
        run_noise: relative standard deviation from run to run, where each side has one run; None for the usual one.
        clock: time that phases and the run are measured in.
        nodes: the power recorded with each run, those of A first; empty to leave energy out.
        amounts: by metric, of the phases of each run, those of A first; empty to leave reasons out.
        ranks: all ranks of each run, those of A first; None for one with a single rank; empty to leave ranks out.

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
        whole, phases = with_reasons_of_run(table, amounts, whole), with_reasons(table, amounts, phases)
    if ranks and None not in ranks:
        phases = tuple(
            replace(row, balance=_balance(group, [one for one in ranks if one is not None], runs, len(a)))
            for row, group in zip(phases, groups, strict=True)
        )
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


def _balance(
    group: Group, ranks: Sequence[RanksResult], runs: Sequence[Measured], first: int
) -> tuple[tuple[PhaseBalance, ...], tuple[PhaseBalance, ...]]:
    """Return the balance of the ranks in a group of phases, in each run of A and of B; empty where it is missing."""
    out: list[PhaseBalance] = []
    for found, run, members in zip(ranks, runs, group.members, strict=True):
        # As the only phase; the place of no phase stays empty.
        spent, wall = np.zeros((len(found.ranks), 2, found.spent.shape[2])), np.zeros((len(found.ranks), 2))
        spent[:, 0], wall[:, 0] = found.spent[:, list(members)].sum(axis=1), found.wall_s[:, list(members)].sum(axis=1)
        out += balance(found.ranks, spent, wall, run.profile.metadata.rate_hz)
    sides = tuple(out[:first]), tuple(out[first:])
    return sides if all(one.ranks > 1 for one in out) else ((), ())


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


# Conditions on how a run may differ from its baseline: grammar of analysis/compare, for phases, steps and functions.
#
#     condition = [ name ":" ] metric ( ">" | "<" ) number [ unit ]
#
# `waiting>10%` fails if a phase is slower beyond noise, and off the CPU for longer by 10 % of its time. `phase>10%`
# fails if a phase is slower by more than 10 % and beyond noise; `solve:phase>0.5s` by half a second.
#
# `phase.wait>10%` fails if a phase waits longer beyond noise, by 10 % of its duration in A; `phase.read>1GB` if it
# reads a gigabyte more. The words after `phase.` are the metrics of the amounts on the phases' cards.
#
# Where wall and CPU time were compared, both must agree. A phase that is gone breaks a limit on what phases may take.


UNITS: dict[str, dict[str, float]] = {
    **dict.fromkeys(("run", "phase", "step", "function", "waiting"), TIMES),
    "share": {"": 1.0, "points": 1.0},
    "calls": {"": 1.0},
    "energy": {"J": 1.0, "kJ": 1e3, "Wh": 3.6e3, "kWh": 3.6e6},
}
# Of an amount on a card: its name begins so.
AMOUNT = "phase."
AMOUNT_UNITS = {**TIMES, "": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "J": 1.0, "kJ": 1e3}
# What a selector of a metric names, if not its own first word.
NOUNS = {"share": "phase", "waiting": "phase", "energy": "phase", "calls": "function"}
# For a share: the normal quantile of the interval at LEVEL.
NORMAL = 1.959964
# Conditions on a duration or an energy.
ON_TIME = ("run", "phase", "step", "function", "waiting", "energy")


def parse(text: str) -> Condition:
    """Parse a condition.

    Raises:
        UsageError: the text is no condition, or one that would fail or pass in every case.
    """
    amounts = dict.fromkeys(re.findall(r"phase\.[A-Za-z0-9.-]+", text), AMOUNT_UNITS)
    found = parse_with(text, UNITS | amounts, "NAME", "phase>10%")
    if found.limit < 0 if found.more else found.limit > 0:
        raise UsageError(f"--fail-on {text!r}: the limit of > is 0 or more, that of < is 0 or less")
    if found.selector is not None and found.metric == "run":
        raise UsageError(f"--fail-on {text!r}: there is one run: leave out {found.selector!r}")
    return found


def broken(conditions: Sequence[Condition], found: Comparison) -> list[tuple[Condition, Row]]:
    """Return each condition that does not hold, with each row that breaks it.

    Raises:
        UsageError: a condition names something that neither side has: it could never fail.
    """
    return [(condition, row) for condition, row in _meant(conditions, found) if _breaks(condition, row)]


def not_by_one_run(found: Comparison, row: Row) -> bool:
    """Return whether a row is inconclusive: one run per side does not show how much runs of one build differ.

    Pairs of one build on a shared host broke `phase>5%` in 6 of 6 cases under load, and in 5 of 6 without, with
    intervals far from 0. A phase that is gone or new does not depend on a duration.
    """
    return found.is_noise_assumed and row.verdict not in ("gone", "new")


def unsure(conditions: Sequence[Condition], found: Comparison) -> list[tuple[Condition, Row]]:
    """Return each condition that does not hold by wall time or by CPU time alone, with each such row."""
    return [
        (condition, row)
        for condition, row in _meant(conditions, found)
        if row.cpu is not None and _by_one_clock(condition, row, row.cpu) and not _breaks(condition, row)
    ]


def _by_one_clock(condition: Condition, row: Row, cpu: Row) -> bool:
    """Return whether a row breaks a condition by wall time, or by CPU time."""
    if condition.metric == "energy":
        return _by_energy(condition, row)
    return condition.metric != "waiting" and (_by_clock(condition, row) or _by_clock(condition, cpu))


def _meant(conditions: Sequence[Condition], found: Comparison) -> list[tuple[Condition, Row]]:
    """Return each condition with each row that it applies to."""
    out = []
    for condition in conditions:
        rows = _rows(condition, found)
        if not rows and condition.metric.startswith(AMOUNT):
            there = sorted({f"{AMOUNT}{row.metric}" for phase in found.phases for row in phase.reasons})
            which = f"there are {', '.join(there)}" if there else "record both again to have some"
            raise UsageError(f"--fail-on {condition.text!r}: not recorded in all runs; {which}")
        noun = NOUNS.get(condition.metric, condition.metric.partition(".")[0])
        meant = selected(condition, rows, _is_meant, noun)
        if condition.metric == "waiting" and any(row.off_cpu_s is None for row in meant):
            raise UsageError(f"--fail-on {condition.text!r}: CPU time does not include waiting: leave out --time cpu")
        if condition.metric == "energy" and any(row.energy is None for row in meant):
            raise UsageError(
                f"--fail-on {condition.text!r}: it has no energy: give --counters and --counters-b files with power"
            )
        out += [(condition, row) for row in meant]
    return out


def _rows(condition: Condition, found: Comparison) -> list[Row]:
    """Return the rows that a metric applies to; energy without a name is that of the run."""
    metric = condition.metric
    if metric == "run" or (metric == "energy" and condition.selector is None):
        return [found.run]
    if metric.startswith(AMOUNT):
        return [row for phase in found.phases for row in phase.reasons if f"{AMOUNT}{row.metric}" == metric]
    if metric == "step":
        return [step for phase in found.phases for step in phase.steps]
    return list(found.functions) if metric in ("function", "calls") else list(found.phases)


def _is_meant(selector: str, row: Row) -> bool:
    """Return whether a name, a pattern, or a name without parameters and qualification selects a row."""
    plain = row.name.removesuffix(row.behind)
    if selects(selector, (row.name, plain)):
        return True
    one, other = taken_apart(selector).components, taken_apart(plain).components
    return bool(one) and one == other[-len(one) :]


def _breaks(condition: Condition, row: Row) -> bool:
    """Return whether a row breaks a condition that applies to it: by wall and CPU time where both are available."""
    if condition.metric == "waiting":
        return _by_clock(condition, row)
    if condition.metric == "energy":
        return _by_energy(condition, row) and not _only_wall(row)
    if row.only_cpu is not None:
        return _by_clock(condition, row.only_cpu)
    return _by_clock(condition, row) and (row.cpu is None or _by_clock(condition, row.cpu))


def _by_energy(condition: Condition, row: Row) -> bool:
    """Return whether a row breaks a condition on energy."""
    return row.energy is not None and _by_clock(condition, row.energy)


def _only_wall(row: Row) -> bool:
    """Return whether a row changed by wall time alone: energy used while others had the CPU is not the program's."""
    return row.cpu is not None and row.cpu.verdict != row.verdict and row.verdict != "same"


def _by_clock(condition: Condition, row: Row) -> bool:
    """Return whether a row breaks a condition."""
    if row.verdict == "gone" and condition.selector is not None:
        return True  # named by the user
    if isinstance(row, PhaseRow) and row.verdict in ("gone", "new") and row.elsewhere:
        return False
    if isinstance(row, PhaseRow) and row.verdict == "gone" and condition.metric == "phase" and condition.more:
        return not row.waits  # nothing is left to compare with the limit; the loss of a phase of waiting is no failure
    sides = _sides(condition, row)
    if sides is None or not exceeds(condition, *sides):
        return False
    if condition.metric == "calls":
        return True
    if condition.metric == "share":
        return isinstance(row, PhaseRow) and abs(row.b.share - row.a.share) > NORMAL * row.share_error
    return row.verdict in (("slower", "new") if condition.more else ("faster", "gone"))


def _sides(condition: Condition, row: Row) -> tuple[float, float] | None:
    """Return the values that a condition compares, in its unit; None for a share of nothing."""
    if condition.metric == "share":
        a, b = 100 * row.a.share, 100 * row.b.share
    elif condition.metric == "calls":
        a, b = row.a.calls or 0.0, row.b.calls or 0.0
    elif condition.metric == "waiting":
        # In percent of the phase's duration: where there is next to no waiting, a little more is a large factor.
        a, b = row.off_cpu_s or (0.0, 0.0)
        a, b = (row.a.seconds, row.a.seconds + b - a) if condition.relative else (a, b)
    elif isinstance(row, AmountRow) and row.unit == "s" and condition.relative:
        a, b = row.phase_s, row.phase_s + row.change_s
    else:
        a, b = row.a.seconds, row.b.seconds
    return None if condition.relative and a <= 0 else (a, b)
