"""How long the command line takes before it does anything: its help, and what `incprof record` adds to a program."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result, run

INCPROF = Path(sys.executable).with_name("incprof")
FEWEST_PAIRS = 21
HELP_MS, RECORD_MS = 150, 60


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Name and measurement of each."""
    yield "start-help", lambda: _help(bed)
    yield "start-record", lambda: _record(bed)


def _help(bed: Bed) -> Result:
    """The help, beside the same interpreter that does nothing."""
    ours, bare = _pairs(bed, [INCPROF, "--help"], [sys.executable, "-c", ""])
    reached = f"{_spread(ours)}; Python that does nothing {_spread(bare)}"
    return Result("`incprof --help`", f"under {HELP_MS} ms", reached, statistics.median(ours) < HELP_MS)


def _record(bed: Bed) -> Result:
    """What stands before the program, pair by pair."""
    ours, bare = _pairs(bed, [INCPROF, "record", "--", "true"], ["true"])
    added = [a - b for a, b in zip(ours, bare, strict=True)]
    reached = f"{_spread(added)} more than `true` alone"
    return Result(
        "`incprof record -- true`", f"adds under {RECORD_MS} ms", reached, statistics.median(added) < RECORD_MS
    )


def _pairs(bed: Bed, ours: Command, bare: Command) -> tuple[list[float], list[float]]:
    """Elapsed milliseconds of two commands in turn, after one unmeasured run of each; the order alternates."""
    commands = (ours, bare)
    taken: tuple[list[float], list[float]] = ([], [])
    for pair in range(-1, max(bed.pairs, FEWEST_PAIRS)):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            elapsed = 1e3 * run(commands[side], bed.scratch).elapsed_s
            if pair >= 0:
                taken[side].append(elapsed)
    return taken


def _spread(values: list[float]) -> str:
    """`47.1 ms (46.0-52.3, 21 pairs)`: median, least, greatest."""
    return f"{statistics.median(values):.1f} ms ({min(values):.1f}-{max(values):.1f}, {len(values)} pairs)"
