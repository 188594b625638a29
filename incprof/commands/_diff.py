"""The runs of `incprof diff`: which they are, and reading them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incprof.commands._common import load
from incprof.commands._phases import analyse
from incprof.errors import UsageError

if TYPE_CHECKING:
    from incprof.analysis.diff import Recorded

MOST_RUNS = 50


@dataclass(frozen=True)
class Sides:
    """Runs of both sides, what was wrong with them, and whether a part of one was left out."""

    a: list[Recorded]
    b: list[Recorded]
    warnings: list[str]
    damaged: bool


def directories(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the run directories of both sides.

    Raises:
        UsageError: it is not clear which they are.
    """
    if args.against is None:
        if len(args.runs) != 2:
            raise UsageError(
                f"{len(args.runs)} run{'s' * (len(args.runs) != 1)}: give A and B, or several of each: "
                "incprof diff A1 A2 --against B1 B2"
            )
        return [args.runs[0]], [args.runs[1]]
    if max(len(args.runs), len(args.against)) > MOST_RUNS:
        raise UsageError(f"more than {MOST_RUNS} runs on a side: give fewer")
    return list(args.runs), list(args.against)


def read_sides(args: argparse.Namespace) -> Sides:
    """Read all runs, and find the phases of each."""
    a, b = directories(args)
    found = Sides([], [], [], False)
    damaged = False
    for letter, paths, side in (("A", a, found.a), ("B", b, found.b)):
        for path in paths:
            exe = args.exe_b if letter == "B" and args.exe_b is not None else args.exe
            one = argparse.Namespace(**{**vars(args), "directory": path, "exe": exe, "pid": None})
            recorded, profile = load(one)
            summary, result = analyse(recorded, profile, one)
            found.warnings.extend(f"{letter}: {path}: {line}" for line in (*profile.warnings, *result.warnings))
            damaged |= profile.damaged
            side.append((path, summary, profile, result))
    return Sides(found.a, found.b, found.warnings, damaged)
