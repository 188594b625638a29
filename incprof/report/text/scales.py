"""Runs of a program at several scales as text: the paper's Tables 3 to 6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

import numpy as np

from incprof.analysis.signature.scales import Analysis, ScaledRun, variation
from incprof.printable import printable
from incprof.report.text.signature import METHODS
from incprof.report.words.numbers import percent, rate, seconds
from incprof.report.words.sizes import size

Row = list[str]


def write_text(programs: Sequence[Sequence[ScaledRun]], out: TextIO) -> None:
    """Write two tables for each program: what the analysis takes, and how good the prediction is.

    The second method, if there is one, is what the first is compared with.
    """
    for number, runs in enumerate(programs):
        methods = [one.method for one in runs[0].analyses]
        named = " against ".join(f"{method} ({METHODS[method]})" for method in methods)
        count = f"{len(runs)} run{'s' * (len(runs) != 1)}"
        out.write("\n" * (number > 0) + f"{printable(runs[0].app)}, {count}, method {named}\n\n")
        _write(_analysis(runs), out)
        out.write("\n")
        _write(_prediction(runs), out)


def _analysis(runs: Sequence[ScaledRun]) -> list[Row]:
    """Return the rows of what the analysis takes (Tables 3 and 4), and the coefficients of variation."""
    others = runs[0].analyses[1:]
    head = ["Ranks", "AET", "Events", "Trace size", "TFAT", *(f"TFAT {one.method}" for one in others)]
    rows = [[*head, *["Speed-up" for _ in others], "Run"]]
    for run in runs:
        times = [one.seconds for one in run.analyses]
        shown = [str(run.ranks), seconds(run.aet_s), str(run.events), size(run.trace_bytes), *map(seconds, times)]
        rows.append([*shown, *(rate(time / times[0]) for time in times[1:]), printable(run.directory)])
    columns: list[Callable[[ScaledRun], float]] = [
        lambda run: run.aet_s,
        lambda run: run.events,
        lambda run: run.trace_bytes,
        lambda run: run.analyses[0].seconds,
        *([lambda run: run.analyses[1].seconds] if others else []),
    ]
    varies = [variation([value(run) for run in runs]) for value in columns]
    rows.append(["CoV", *("-" if one is None else f"{percent(one)} %" for one in varies), *["" for _ in others], ""])
    return rows


def _prediction(runs: Sequence[ScaledRun]) -> list[Row]:
    """Return the rows of how good the prediction is (Tables 5 and 6), and the mean errors."""
    named = [f"{word} {one.method}" for one in runs[0].analyses[1:] for word in ("PET", "PETE", "SET")]
    rows = [["Ranks", "AET", "PET", "PETE", "SET", *named, "Phases", "Run"]]
    for run in runs:
        cells = [cell for one in run.analyses for cell in _cells(one, run.aet_s)]
        rows.append([str(run.ranks), seconds(run.aet_s), *cells, str(run.analyses[0].phases), printable(run.directory)])
    mean = ["Mean", ""]
    for number in range(len(runs[0].analyses)):
        mean += ["", f"{percent(float(np.mean([run.analyses[number].error for run in runs])))} %", ""]
    return [*rows, [*mean, "", ""]]


def _cells(one: Analysis, aet_s: float) -> list[str]:
    part = one.set_s / aet_s if aet_s > 0 else 0.0
    return [seconds(one.pet_s), f"{percent(one.error)} %", f"{seconds(one.set_s)} ({100 * part:.2f} %)"]


def _write(rows: Sequence[Row], out: TextIO) -> None:
    """Write columns to the right, the last one to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        out.write("  ".join([*cells, row[-1]]).rstrip() + "\n")
