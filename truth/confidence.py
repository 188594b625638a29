"""python -m truth.confidence: how often phases of each confidence are right, on the half for tuning.

Prints the table of phase-detection.md. An interval is right when its phase is paired with its true phase; each phase is
paired with at most one true phase.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Clustering uses one thread: sums must not depend on the number of cores. Before numpy is imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from incprof.analysis.answer import METHODS, find_phases, site_chooser  # noqa: E402
from incprof.analysis.answer.confidence import with_confidence  # noqa: E402
from incprof.errors import IncprofError  # noqa: E402
from incprof.model import IntArray, IntervalProfile  # noqa: E402
from truth.cases import all_names, make_case  # noqa: E402
from truth.recordings import NotRecorded, all_programs, recorded  # noqa: E402
from truth.scores import right_by_phase  # noqa: E402
from truth.split import TUNE  # noqa: E402
from truth.tables import number, percent, table  # noqa: E402

BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
PARTS = ("generated", "programs")


@dataclass(frozen=True)
class Judged:
    """A detected phase.

    Attributes:
        run: name of the run.
        phase: its number.
        confidence: its confidence.
        intervals: number of its intervals with a known true phase.
        right: how many of them are right.
    """

    run: str
    phase: int
    confidence: float
    intervals: int
    right: int


def runs(parts: Sequence[str]) -> Iterator[tuple[str, IntervalProfile, IntArray]]:
    """Iterate over the runs for tuning that have phases: name, profile, true labels (n,)."""
    if "generated" in parts:
        for family, case_number in all_names(TUNE):
            case = make_case(family, case_number)
            if case.truth.distinct:
                yield case.name, case.profile, case.labels
    if "programs" in parts:
        for program in all_programs(TUNE):
            try:
                yield program.name, *recorded(program)
            except NotRecorded as error:
                print(f"{program.name}: {error}", file=sys.stderr)


def judged(name: str, profile: IntervalProfile, truth: IntArray, method: str) -> list[Judged]:
    """Find the phases of a run, and count the right intervals of each."""
    try:
        chooser = site_chooser(profile, method)
        unrated = find_phases(profile, method=method, chooser=chooser)
        result = with_confidence(chooser.profile, chooser.features, unrated)
    except IncprofError:
        return []
    known = np.bincount(result.labels[(result.labels >= 0) & (truth >= 0)], minlength=result.k)
    right = right_by_phase(truth, result.labels, np.ones(len(truth)))
    return [
        Judged(name, phase.id, phase.confidence or 0.0, int(known[phase.id]), int(right[phase.id]))
        for phase in result.phases
        if known[phase.id] > 0
    ]


def calibration(phases: Sequence[Judged]) -> list[str]:
    """Return the table: by confidence, the number of phases, and the share of their intervals that is right."""
    rows = []
    for low, high in pairwise(BINS):
        last = high == BINS[-1]
        name = f"{number(low)} to {number(high)}" if last else f"{number(low)} to below {number(high)}"
        rows.append(_row(name, [p for p in phases if low <= p.confidence and (p.confidence < high or last)]))
    rows.append(_row("0.90 and more", [p for p in phases if p.confidence >= 0.9]))
    rows.append(_row("all", phases))
    return table(["confidence", "phases", "of them at least 90 % right", "intervals", "right"], rows)


def _row(name: str, judgements: Sequence[Judged]) -> list[str]:
    """Return a row of the table."""
    total = sum(p.intervals for p in judgements)
    good = sum(p.right >= 0.9 * p.intervals for p in judgements)
    return [
        name,
        str(len(judgements)),
        percent(good / len(judgements) if judgements else None),
        str(total),
        percent(sum(p.right for p in judgements) / total if total else None),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --list, also each phase that is less than 90 % right."""
    parser = argparse.ArgumentParser(prog="python -m truth.confidence", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="(default: all)")
    parser.add_argument("--method", choices=METHODS, default="robust", help="(default: robust)")
    parser.add_argument("--list", action="store_true", help="name the phases that are wrong")
    args = parser.parse_args(arguments)
    phases = [phase for run in runs(args.parts) for phase in judged(*run, args.method)]
    print("\n".join(calibration(phases)))
    if args.list:
        for p in sorted((p for p in phases if p.right < 0.9 * p.intervals), key=lambda p: -p.confidence):
            print(f"{p.run}, phase {p.phase}: {p.right} of {p.intervals} right, confidence {number(p.confidence)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
