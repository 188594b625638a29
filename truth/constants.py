"""python -m truth.constants: what the answers hang on: each constant of the phase analysis halved, and doubled.

Thresholds that a user can set are in docs/thresholds.md; these are the others. On the half for tuning: how many runs
have the right number of phases.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from incprof.analysis import phases  # noqa: E402
from incprof.analysis.options import OPTIONS  # noqa: E402
from incprof.analysis.phases.by_stretches import cluster_by_stretches  # noqa: E402
from incprof.analysis.phases.features import build_features  # noqa: E402
from incprof.model import IntervalProfile  # noqa: E402
from truth.cases import all_names, make_case  # noqa: E402
from truth.realworld import all_real, recording_of  # noqa: E402
from truth.recordings import NotRecorded, all_programs, recorded  # noqa: E402
from truth.split import TUNE  # noqa: E402

Case = tuple[IntervalProfile, tuple[int, ...]]
# What finds stretches, groups and phases.
MODULES = ("abrupt", "difference", "groups", "inclusive", "scatter", "stability", "wandering", "ways")
# What belongs to memory alone.
LEFT_OUT = {"AT_ONCE"}
# A part of all cannot be doubled.
WHOLE = 1.0


def cases() -> Iterator[Case]:
    """Go through all runs of the half for tuning, with the numbers of phases that are right."""
    for family, number in all_names(TUNE):
        case = make_case(family, number)
        yield case.profile, case.truth.k
    for program in all_programs(TUNE):
        yield recorded(program)[0], program.truth.k
    for run in all_real(TUNE):
        try:
            yield recording_of(run), run.truth.k
        except NotRecorded as error:
            print(f"{run.name}: {error}", file=sys.stderr)


def constants(names: Sequence[str]) -> list[tuple[ModuleType, str]]:
    """Return the numbers that stand in capital letters, as (module, name): all, or those called "module.NAME"."""
    found = []
    for short in MODULES:
        module = import_module(f"{phases.__name__}.{short}")
        for name, value in vars(module).items():
            if name.isupper() and name not in LEFT_OUT and isinstance(value, int | float):
                found.append((module, name))
    return [(module, name) for module, name in found if not names or f"{_short(module)}.{name}" in names]


def right(runs: list[Case]) -> int:
    """Count the runs with a right number of phases."""
    out = 0
    for profile, wanted in runs:
        features = build_features(profile, share=True)
        labels = cluster_by_stretches(features, profile.functions, None, OPTIONS.phases).labels
        out += int(labels.max(initial=-1)) + 1 in wanted
    return out


def changed(value: float, factor: float) -> float:
    """Return a constant times a factor, of its own kind; a part of all stays one."""
    if isinstance(value, int):
        return max(1, round(value * factor))
    return min(value * factor, WHOLE) if value < WHOLE else value * factor


def _short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m truth.constants", description=__doc__)
    parser.add_argument("names", nargs="*", help="module.NAME; all by default")
    names = parser.parse_args().names
    runs = list(cases())
    base = right(runs)
    print(f"{base} of {len(runs)} right\n\n| constant | value | halved | doubled |\n|---|---|---|---|")
    for module, name in constants(names):
        value, cells = getattr(module, name), []
        for factor in (0.5, 2.0):
            setattr(module, name, changed(value, factor))
            cells.append(f"{right(runs) - base:+d}")
        setattr(module, name, value)
        print(f"| `{_short(module)}.{name}` | {value:g} | {cells[0]} | {cells[1]} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
