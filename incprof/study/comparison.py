"""Compare two sides of one or several runs each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from incprof.analysis.compare import Condition
from incprof.analysis.compare.match_names import several_of_a_name
from incprof.analysis.diff import AMOUNT, ON_TIME, Clock, Recorded, broken, compare, not_by_one_run, parse, unsure
from incprof.analysis.diff.diff_result import Comparison, Row
from incprof.model.section import Amount
from incprof.study.run_counters import node_power
from incprof.study.study import Study
from incprof.symbols.source_lines import locate

NOTHING_COMMON = "the runs have no phase in common: no condition in percent on phases or steps can fail"


@dataclass(frozen=True)
class Sides:
    """The result of a comparison.

    Attributes:
        comparison: the comparison.
        failed: violated conditions, each with the row that violates it.
        unsure: those violated by wall time or by CPU time alone.
        undecided: those violated by one run of each side, which is inconclusive.
        warnings: a line each.
        damaged: whether a part of a run was left out.
    """

    comparison: Comparison
    failed: list[tuple[Condition, Row]]
    unsure: list[tuple[Condition, Row]]
    undecided: list[tuple[Condition, Row]]
    warnings: list[str]
    damaged: bool


def conditions_of(texts: Sequence[str]) -> list[Condition]:
    """Parse conditions such as "phase>10%".

    Raises:
        UsageError: one of them is invalid.
    """
    return [parse(text) for text in texts]


def compare_sides(
    a: Sequence[Study],
    b: Sequence[Study],
    conditions: Sequence[Condition],
    *,
    noise: float | None,
    clock: Clock,
    counters: Sequence[str] = (),
    amounts: Callable[[Study], Mapping[str, Amount]] | None = None,
) -> Sides:
    """Read all runs, find the phases of each, compare, and judge.

    Args:
        a: the baseline.
        b: the candidate.
        conditions: must hold.
        noise: scatter from run to run, a share, with one run on each side; None for the usual scatter.
        clock: the clock by which phases and the run are measured.
        counters: files with power beside each run, those of A first; none: no energy is reported.
        amounts: returns what may explain the change of a run's phases, by metric.
    """
    a, b = _alike(a, b)
    read: tuple[list[Recorded], list[Recorded]] = ([], [])
    warnings, damaged = [], False
    for letter, studies, side in (("A", a, read[0]), ("B", b, read[1])):
        for study in studies:
            path, profile, result = study.run.directory, study.profile, study.phases(confidence=False)
            warnings += [f"{letter}: {path}: {line}" for line in (*profile.warnings, *result.warnings)]
            damaged |= study.partial
            side.append((path, study.summary, profile, result))
    nodes = []
    for study, path in zip((*a, *b), counters, strict=bool(counters)):
        node, power_warnings = node_power(study, path)
        nodes.append(node)
        warnings += power_warnings
    of_cards = [] if amounts is None else [amounts(study) for study in (*a, *b)]
    ranks = [study.ranks for study in (*a, *b)]
    comparison = compare(
        *_with_files((a, b), read), run_noise=noise, clock=clock, nodes=nodes, amounts=of_cards, ranks=ranks
    )
    in_percent = any(condition.relative and condition.metric in ("phase", "step") for condition in conditions)
    if in_percent and not any(row.a.seconds > 0 and row.b.seconds > 0 for row in comparison.phases):
        warnings.append(NOTHING_COMMON)
    failed, undecided = list[tuple[Condition, Row]](), list[tuple[Condition, Row]]()
    for condition, row in broken(conditions, comparison):
        by_one_run = (condition.metric in ON_TIME or condition.metric.startswith(AMOUNT)) and not_by_one_run(
            comparison, row
        )
        (undecided if by_one_run else failed).append((condition, row))
    return Sides(comparison, failed, unsure(conditions, comparison), undecided, warnings, damaged)


def _alike(a: Sequence[Study], b: Sequence[Study]) -> tuple[Sequence[Study], Sequence[Study]]:
    """Return both sides by CPU time if only some runs have phases by what they wait for, and all have CPU time."""
    both = [*a, *b]
    if len({study.recorded.metadata.has_waits for study in both}) < 2:
        return a, b
    plain = [study.without_waits() for study in both]
    has_time = all(float(study.recorded.self_s.sum()) > 0 for study in plain)
    return (plain[: len(a)], plain[len(a) :]) if has_time else (a, b)


def _with_files(
    studies: tuple[Sequence[Study], Sequence[Study]], read: tuple[list[Recorded], list[Recorded]]
) -> tuple[list[Recorded], list[Recorded]]:
    """Return the runs, with files added to functions that share their name with others."""
    both = [*read[0], *read[1]]
    several = several_of_a_name([run[2] for run in both])
    out: list[Recorded] = []
    for study, (path, summary, profile, result), places in zip([*studies[0], *studies[1]], both, several, strict=True):
        functions = list(profile.functions)
        found = locate(study.run, profile, [functions[at] for at in places.tolist()], exe=study.exe)
        for at, function in zip(places.tolist(), found, strict=True):
            functions[at] = function
        out.append((path, summary, replace(profile, functions=tuple(functions)), result))
    return out[: len(read[0])], out[len(read[0]) :]
