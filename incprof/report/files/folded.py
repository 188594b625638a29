"""Stacks in the folded form of flamegraph.pl: `main;solve;dot 123`, a line per distinct stack, counts in ticks."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from incprof.analysis.views.stacks import StackSeries
from incprof.report.words.display_names import Names


def write_folded(series: StackSeries, out: TextIO) -> None:
    """Write the stacks in alphabetical order."""
    names = Names(frame for stack in series.stacks for frame in stack)
    total: Counter[str] = Counter()
    for index, weight in zip(series.stack.tolist(), series.weight.tolist(), strict=True):
        total[";".join(clean(names(frame)) for frame in series.stacks[index])] += weight
    for line in sorted(total):
        if (ticks := round(total[line])) > 0:
            out.write(f"{line} {ticks}\n")


def clean(name: str) -> str:
    """Return a name without the characters that separate frames and lines."""
    return name.replace(";", ":").replace("\n", " ").replace("\r", " ")
