"""Two sides of runs, compared: each side has one run or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incprof.analysis.beats.gates import Condition
from incprof.analysis.diff import Clock, Recorded, compare
from incprof.analysis.diff.gates import ON_TIME, broken, not_by_one_run, parse, unsure
from incprof.analysis.diff.results import Comparison, Row
from incprof.analysis.diff.same_functions import several_of_a_name
from incprof.readers.symbols.lines import locate
from incprof.study.counters import power_beside
from incprof.study.study import Study

NOTHING_COMMON = "the runs have no phase in common: no condition in percent on phases or steps can fail"


@dataclass(frozen=True)
class Sides:
    """What came of a comparison.

    failed: conditions that do not hold, each with the row that breaks it. unsure: those that do not by wall time or by
    CPU time alone. untold: those that do not by one run of each side, which does not decide. damaged: a part of a run
    was left out.
    """

    found: Comparison
    failed: list[tuple[Condition, Row]]
    unsure: list[tuple[Condition, Row]]
    untold: list[tuple[Condition, Row]]
    warnings: list[str]
    damaged: bool


def conditions_of(texts: Sequence[str]) -> list[Condition]:
    """Return the conditions that were written, such as "phase>10%".

    Raises:
        UsageError: one of them is none.
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
) -> Sides:
    """Read all runs, find the phases of each, compare, and judge.

    Args:
        a: the baseline.
        b: what is held against it.
        conditions: what must hold.
        noise: scatter from run to run, a share, where there is one run of each; None for what is usual.
        clock: what phases and the run are measured by.
        counters: files with power beside each run, those of A first; none to say nothing of energy.
    """
    read: tuple[list[Recorded], list[Recorded]] = ([], [])
    warnings, damaged = [], False
    for letter, studies, side in (("A", a, read[0]), ("B", b, read[1])):
        for study in studies:
            path, profile, result = study.run.directory, study.profile, study.result
            warnings += [f"{letter}: {path}: {line}" for line in (*profile.warnings, *result.warnings)]
            damaged |= study.partial
            side.append((path, study.summary, profile, result))
    nodes = []
    for study, path in zip((*a, *b), counters, strict=bool(counters)):
        node, said = power_beside(study, path)
        nodes.append(node)
        warnings += said
    found = compare(*_with_files((a, b), read), run_noise=noise, clock=clock, nodes=nodes)
    in_percent = any(condition.relative and condition.metric in ("phase", "step") for condition in conditions)
    if in_percent and not any(row.a.seconds > 0 and row.b.seconds > 0 for row in found.phases):
        warnings.append(NOTHING_COMMON)
    failed, untold = list[tuple[Condition, Row]](), list[tuple[Condition, Row]]()
    for condition, row in broken(conditions, found):
        untells = condition.metric in ON_TIME and not_by_one_run(found, row)
        (untold if untells else failed).append((condition, row))
    return Sides(found, failed, unsure(conditions, found), untold, warnings, damaged)


def _with_files(
    studies: tuple[Sequence[Study], Sequence[Study]], read: tuple[list[Recorded], list[Recorded]]
) -> tuple[list[Recorded], list[Recorded]]:
    """Return the runs, in which functions that share their name with others know their files."""
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
