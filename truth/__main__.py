"""python -m truth: run the methods on all runs with a known truth, and write docs/lab/truth.md."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Clustering uses one thread: sums must not depend on the number of cores. Before numpy is imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from truth.answers import METHODS  # noqa: E402
from truth.cases import all_names, make_case  # noqa: E402
from truth.evaluate import Outcome, evaluate  # noqa: E402
from truth.page import page  # noqa: E402
from truth.places import HERE  # noqa: E402
from truth.realworld import all_real, recording_of  # noqa: E402
from truth.recordings import NotRecorded, all_programs, recorded  # noqa: E402
from truth.timescales import answers as timescales  # noqa: E402

PARTS = ("generated", "programs", "real", "timescales")
QUICK_FAMILIES = ("count-03", "shares-90-10", "interleaved", "noise", "missing")


def generated(methods: Sequence[str], *, quick: bool, split: str | None = None) -> list[Outcome]:
    """Run methods on the generated cases; quick: on the first two of a few families."""
    names = [(f, n) for f, n in all_names(split) if not quick or (f in QUICK_FAMILIES and n < 2)]
    out = []
    for i, (family, number) in enumerate(names):
        case = make_case(family, number)
        _progress(f"{case.name} ({i + 1} of {len(names)})")
        for method in methods:
            out.append(evaluate(case.name, family, case.split, case.profile, case.labels, case.truth, method))
    return out


def programs(methods: Sequence[str], notes: list[str], split: str | None = None) -> list[Outcome]:
    """Run methods on the programs with known phases; a program that cannot be built or run here becomes a note."""
    out = []
    for program in all_programs(split):
        _progress(program.name)
        try:
            profile, labels = recorded(program)
        except NotRecorded as error:
            notes.append(f"{program.name}: {error}")
            continue
        for method in methods:
            out.append(evaluate(program.name, program.name, program.split, profile, labels, program.truth, method))
    return out


def real(methods: Sequence[str], notes: list[str], split: str | None = None) -> list[Outcome]:
    """Run methods on the recordings of real programs."""
    out = []
    for run in all_real(split):
        _progress(run.name)
        try:
            profile = recording_of(run)
        except NotRecorded as error:
            notes.append(f"{run.name}: {error}")
            continue
        out += [evaluate(run.name, run.name, run.split, profile, None, run.truth, method) for method in methods]
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected cases, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m truth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few generated runs only")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="(default: all)")
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=list(METHODS), help="(default: all)")
    parser.add_argument("--split", choices=("tune", "held"), help="one half only (default: both)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="where to (default: docs/lab; quick: standard output)",
    )
    args = parser.parse_args(arguments)
    notes: list[str] = []
    parts = ["generated"] if args.quick else args.parts
    is_complete = (
        not args.quick and set(parts) == set(PARTS) and set(args.methods) == set(METHODS) and args.split is None
    )
    output = args.output or (HERE.parent / "docs" / "lab" / "truth.md" if is_complete else None)
    text = page(
        generated(args.methods, quick=args.quick, split=args.split) if "generated" in parts else [],
        programs(args.methods, notes, args.split) if "programs" in parts else [],
        real(args.methods, notes, args.split) if "real" in parts else [],
        notes,
        cases=args.output is not None or not is_complete,
        timescales=list(timescales(args.split)) if "timescales" in parts and "robust" in args.methods else [],
    )
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text)
    return 0


def _progress(what: str) -> None:
    """Print progress."""
    if sys.stderr.isatty():
        print(f"truth: {what}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
