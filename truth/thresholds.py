"""Measure the gain of each threshold: the method without it, on the half for tuning.

Writes docs/reference/thresholds.md. Usage: python -m truth.thresholds [--page]

With --page, the page is written again from the last measurements. The held-out half is not used.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import partial
from typing import TypeVar

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from incprof.analysis.thresholds import OPTIONS  # noqa: E402
from incprof.model import Arcs, IntervalProfile, Samples  # noqa: E402
from incprof.readers.profile_builder import NO_PATHS  # noqa: E402
from truth.answers import of_tool  # noqa: E402
from truth.cases import all_names, make_case  # noqa: E402
from truth.evaluate import Outcome, evaluate  # noqa: E402
from truth.places import HERE  # noqa: E402
from truth.recordings import all_programs, recorded  # noqa: E402
from truth.scores.sites import NOTHING  # noqa: E402
from truth.split import TUNE  # noqa: E402

PAGE, MEASURED = HERE.parent / "docs" / "reference" / "thresholds.md", HERE / "thresholds.json"
Scores = dict[str, dict[str, int | float]]
Measured = dict[str, Scores]
Table = TypeVar("Table", Samples, Arcs)
COLUMNS = ("name", "default", "unit", "what it rests on", "without")
GROUPS = {"phases": "Phases", "sites": "Sites", "steps": "Steps"}


def score(settings: tuple[str, ...]) -> Scores:
    """Score the method with some thresholds changed: on generated runs, the same without call paths, and programs."""
    method = partial(of_tool, method="robust", options=OPTIONS.with_settings(settings))
    generated, pathless, programs = list[Outcome](), list[Outcome](), list[Outcome]()
    for family, number in all_names(TUNE):
        case = make_case(family, number)
        for outcomes, profile in ((generated, case.profile), (pathless, without_paths(case.profile))):
            outcomes.append(evaluate(case.name, family, TUNE, profile, case.labels, case.truth, "robust", method))
    for program in all_programs(TUNE):
        profile, labels = recorded(program)
        programs.append(evaluate(program.name, program.name, TUNE, profile, labels, program.truth, "robust", method))
    return {"generated": _sums(generated), "no call paths": _sums(pathless), "programs": _sums(programs)}


def without_paths(profile: IntervalProfile) -> IntervalProfile:
    """Return a run with the times and calls of functions only: without call paths, samples and callers."""
    samples, arcs = _without_rows(profile.samples), _without_rows(profile.arcs)
    return replace(profile, paths=NO_PATHS, samples=samples, arcs=arcs, inlined=None, code_loops=None)


def _without_rows(table: Table) -> Table:
    return replace(table, **{column.name: getattr(table, column.name)[:0] for column in fields(table)})


def _sums(outcomes: list[Outcome]) -> dict[str, int | float]:
    """Sum up outcomes."""
    periods = sum((one.periods for one in outcomes), NOTHING)
    return {
        "runs": len(outcomes),
        "right": sum(one.k_right for one in outcomes),
        "sites": round(sum((one.sites.functions for one in outcomes), NOTHING).f1, 4),
        "steps": round(sum((one.steps for one in outcomes), NOTHING).f1, 4),
        "periods": periods.found,
        "right periods": round(periods.precision, 4),
    }


def measure() -> Measured:
    """Score the method as it is, under "", and without each of the optional thresholds."""
    settings = [""] + [f"{group}.{t.name}={t.without!r}" for group, t in OPTIONS.listed() if t.without is not None]
    out = {}
    with ProcessPoolExecutor() as pool:
        for setting, sums in zip(settings, pool.map(score, [(one,) if one else () for one in settings]), strict=True):
            print(f"{setting or 'as it is'}: {sums}", file=sys.stderr, flush=True)
            out[setting.partition("=")[0]] = sums
    return out


def page(measured: Measured) -> str:
    """Return docs/reference/thresholds.md."""
    usual = measured[""]
    values = {f"{part}_{key}".replace(" ", "_"): n for part, scores in usual.items() for key, n in scores.items()}
    lines = [(HERE / "thresholds.md").read_text().format(**values)]
    for group, title in GROUPS.items():
        lines += ["", f"## {title}", "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        for one in (one for of, one in OPTIONS.listed() if of == group):
            without = measured.get(f"{group}.{one.name}")
            lost = "-" if without is None else _lost(without, usual)
            lines.append(f"| `{group}.{one.name}` | {one.default:g} | {one.unit} | {one.evidence} | {lost} |")
    return "\n".join(lines) + "\n"


def _lost(without: Scores, usual: Scores) -> str:
    """Return the change without a threshold, in each part."""
    parts = []
    for part, scores in without.items():
        changes = [
            f"{key} {score - usual[part][key]:+{'d' if isinstance(score, int) else '.3f'}}"
            for key, score in scores.items()
            if score != usual[part][key]
        ]
        parts += [f"{part}: {', '.join(changes)}"] if changes else []
    return "; ".join(parts) or "nothing"


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m truth.thresholds", description=__doc__.splitlines()[0])
    parser.add_argument("--page", action="store_true", help="write the page from what was measured last")
    if not parser.parse_args().page:
        # A line for each threshold, in the same order every time, so that a difference shows what changed.
        rows = (f"{json.dumps(name)}: {json.dumps(scores)}" for name, scores in sorted(measure().items()))
        MEASURED.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    PAGE.write_text(page(json.loads(MEASURED.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
