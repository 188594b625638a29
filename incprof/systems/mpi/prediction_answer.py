"""Predicted run times: of one run (schema incprof.predict/1), and of runs at several scales (incprof.scales/1)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TextIO

import numpy as np

from incprof.model.section import Column, Table, unseen
from incprof.report.render.json import fields, json_rows, significant, write
from incprof.report.render.plain import write_plain
from incprof.report.words.formatting import count, pct, rate, seconds, size
from incprof.safe.printable import printable
from incprof.systems.mpi.analyse.extrapolation import Analysis, Prediction, ScaledRun, variation
from incprof.systems.mpi.analyse.signature import PhaseTime
from incprof.systems.mpi.signature_answer import METHODS
from incprof.systems.mpi.trace_types import SignaturePhase

SCHEMA = "incprof.predict/1"


def write_json(prediction: Prediction, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    signature, forecast = prediction.signature, prediction.forecast
    answer = {
        "schema": SCHEMA,
        **fields(signature, "app rank"),
        **fields(forecast, "pet_s pet_low_s=low_s pet_high_s=high_s set_s", significant),
        **fields(prediction, "base_aet_s=signature.aet_s aet_s coverage=signature.coverage", significant),
        "follows": not prediction.differences,
        "doubts": list(prediction.differences),
        "phases": json_rows(_phases(prediction)),
    }
    write(answer, out)


def write_text(prediction: Prediction, out: TextIO) -> None:
    """Write the time of the whole run, and the measured time of every phase."""
    signature, forecast = prediction.signature, prediction.forecast
    part = forecast.set_s / forecast.pet_s if forecast.pet_s > 0 else 0.0
    out.write(
        f"{printable(signature.app)}: {seconds(forecast.pet_s)} for the whole run, {seconds(forecast.low_s)} to "
        f"{seconds(forecast.high_s)}; {seconds(signature.aet_s)} where the signature is from\n"
    )
    out.write(
        f"from the first {seconds(forecast.set_s)} ({pct(part)} %) of rank {signature.rank}; phases have "
        f"{pct(signature.coverage)} % of the run\n"
    )
    if prediction.aet_s is not None:
        off = abs(forecast.pet_s - prediction.aet_s) / prediction.aet_s if prediction.aet_s > 0 else 0.0
        out.write(f"it took {seconds(prediction.aet_s)}: off by {pct(off)} %\n")
    out.write("\n")
    write_plain(_phases(prediction), out)


PhaseHere = tuple[SignaturePhase, PhaseTime, int, float]


def _phases(prediction: Prediction) -> Table:
    """Return a row for each phase: its time here, and where the signature is from."""

    def ratio(row: PhaseHere) -> str:
        _, time, measured, base_s = row
        return f"{time.mean_s / base_s:.3g}" if base_s > 0 and measured else "-"

    columns = (
        Column("Phase", lambda row: row[0].id, "count", key="id"),
        Column("Weight", lambda row: row[0].weight, "count", key="weight"),
        Column("Seen", lambda row: row[2], "count"),
        Column("Time of one", lambda row: row[1].mean_s if row[2] else "not seen", "s"),
        *unseen("mean_s low_s high_s", itemgetter(1)),
        Column("there", lambda row: row[3], "s", key="base_s"),
        Column("times", ratio, "number"),
        Column(None, lambda row: row[2], key="seen"),
        Column("Begins at", lambda row: f"{os.path.basename(row[0].file)}:{row[0].line}" if row[0].file else None),
        *unseen("file line", itemgetter(0)),
    )
    phases = prediction.signature.phases
    base_s = [phase.seconds / phase.weight for phase in phases]
    return Table(columns, list(zip(phases, prediction.forecast.phases, prediction.measured, base_s, strict=True)))


# Runs of a program at several scales: the paper's Tables 3 to 6, and JSON of schema incprof.scales/1.


SCALES_SCHEMA = "incprof.scales/1"


def write_scales_json(programs: Sequence[Sequence[ScaledRun]], out: TextIO) -> None:
    """Write one JSON object and a newline."""
    write({"schema": SCALES_SCHEMA, "programs": [_program(runs) for runs in programs]}, out)


def _program(runs: Sequence[ScaledRun]) -> dict[str, object]:
    methods = [one.method for one in runs[0].analyses]
    columns: dict[str, list[float]] = {
        "aet_s": [run.aet_s for run in runs],
        "events": [run.events for run in runs],
        "trace_bytes": [run.trace_bytes for run in runs],
    }
    times = {
        method: significant(variation([run.analyses[number].seconds for run in runs]))
        for number, method in enumerate(methods)
    }
    varies: dict[str, object] = {name: significant(variation(values)) for name, values in columns.items()}
    return {
        "app": runs[0].app,
        "methods": methods,
        "runs": [
            {
                **fields(run, "directory ranks aet_s events trace_bytes", significant),
                "analyses": {
                    one.method: fields(one, "tfat_s=seconds pet_s pete=error set_s phases coverage", significant)
                    for one in run.analyses
                },
            }
            for run in runs
        ],
        "variation": {**varies, "tfat_s": times},
    }


def write_scales(programs: Sequence[Sequence[ScaledRun]], out: TextIO) -> None:
    """Write two tables for each program: the cost of the analysis, and the error of the prediction.

    The second method, if there is one, is compared with the first.
    """
    for number, runs in enumerate(programs):
        methods = [one.method for one in runs[0].analyses]
        named = " against ".join(f"{method} ({METHODS[method]})" for method in methods)
        out.write("\n" * (number > 0) + f"{printable(runs[0].app)}, {count(len(runs), 'run')}, method {named}\n\n")
        write_plain(_analysis(runs), out)
        out.write("\n")
        write_plain(_prediction(runs), out)


def _analysis(runs: Sequence[ScaledRun]) -> Table:
    """Return the table on the cost of the analysis (Tables 3 and 4), and the coefficients of variation."""
    others = runs[0].analyses[1:]
    head = ["Ranks", "AET", "Events", "Trace size", "TFAT", *(f"TFAT {one.method}" for one in others)]
    rows = []
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
    rows.append(["CoV", *("-" if one is None else f"{pct(one)} %" for one in varies), *["" for _ in others], ""])
    return _of_runs([*head, *["Speed-up" for _ in others], "Run"], rows)


def _prediction(runs: Sequence[ScaledRun]) -> Table:
    """Return the table on the error of the prediction (Tables 5 and 6), and the mean errors."""
    named = [f"{word} {one.method}" for one in runs[0].analyses[1:] for word in ("PET", "PETE", "SET")]
    rows = []
    for run in runs:
        cells = [cell for one in run.analyses for cell in _cells(one, run.aet_s)]
        rows.append([str(run.ranks), seconds(run.aet_s), *cells, str(run.analyses[0].phases), printable(run.directory)])
    mean = ["Mean", ""]
    for number in range(len(runs[0].analyses)):
        mean += ["", f"{pct(float(np.mean([run.analyses[number].error for run in runs])))} %", ""]
    heads = ["Ranks", "AET", "PET", "PETE", "SET", *named, "Phases", "Run"]
    return _of_runs(heads, [*rows, [*mean, "", ""]])


def _of_runs(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of cells that are texts."""
    return Table(
        tuple(Column(head, itemgetter(at), "" if head == "Run" else "s") for at, head in enumerate(heads)), rows
    )


def _cells(one: Analysis, aet_s: float) -> list[str]:
    part = one.set_s / aet_s if aet_s > 0 else 0.0
    return [seconds(one.pet_s), f"{pct(one.error)} %", f"{seconds(one.set_s)} ({100 * part:.2f} %)"]
