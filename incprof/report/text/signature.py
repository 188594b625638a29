"""The signature of a run as text: its phases with weights, and the predicted run time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

import numpy as np

from incprof.analysis.signature.find import ProcessSignature, Signature
from incprof.analysis.views.ribbon import SIGNS, sign, stretched
from incprof.printable import printable
from incprof.report.words.headings import OF_RUN
from incprof.report.words.numbers import percent, seconds
from incprof.report.words.signature import Within, calls_of, place_of, work_line

# Ranks that have a row.
MOST_RANKS = 16
QUARTILES = (25, 50, 75)
METHODS = {"robust": "loops of calls", "paper": "EPAS, each process by itself", "global": "PAS2P, one logical order"}


def write_text(
    signature: Signature,
    out: TextIO,
    *,
    width: int = 100,
    within: Within | None = None,
) -> None:
    """Write the phases of the representative process, and a row for each process.

    Args:
        signature: of a run.
        out: takes the text.
        width: of a line.
        within: which phases of the profile they lie in.
    """
    process = signature.process
    ranks = len(signature.processes)
    found, guess = process.found, process.predicted
    whose = f"{process.events} MPI calls of rank {process.rank}"
    what = f"method {signature.method} ({METHODS[signature.method]})"
    out.write(f"{printable(process.app)}, {ranks} rank{'s' * (ranks != 1)}, {whose}, {what}\n")
    if signature.method != "robust":
        out.write(f"{work_line(signature)}\n")
    count = len(found.phases)
    part = guess.set_s / found.aet_s if found.aet_s else 0.0
    once = signature.set_s / found.aet_s if found.aet_s else 0.0
    out.write(f"{count} phase{'s' * (count != 1)} in {percent(found.coverage)} % of {seconds(found.aet_s)}\n")
    out.write(
        f"predicted from the first {seconds(guess.set_s)} ({percent(part)} % of the run): {seconds(guess.pet_s)}, "
        f"{seconds(guess.low_s)} to {seconds(guess.high_s)}; off by {percent(process.error)} %\n"
    )
    out.write(f"{_executed(signature)}; its phases once: {seconds(signature.set_s)} ({percent(once)} %)\n")
    for line in _left_or_awaited(signature):
        out.write(line + "\n")
    out.write("\n")
    out.write("".join(sign(one) for one in stretched(process.parts, width)) + "\n\n")
    if found.phases:
        _table(_rows(process, within), out)
        out.write("\n")
    _processes(signature, out)


def _executed(signature: Signature) -> str:
    """Describe how much of the program a signature run executes."""
    ending, aet_s = signature.ending, signature.process.found.aet_s
    part = ending.executed_s / aet_s if aet_s else 0.0
    how = f"a signature run executes {seconds(ending.executed_s)} ({percent(part)} % of the run)"
    if ending.collective is not None:
        return f"{how}, until a call of all ranks"
    if ending.calls is not None:
        return f"{how}, until each rank's own call"
    return f"{how}: no earlier call can end all ranks"


def _left_or_awaited(signature: Signature) -> Iterator[str]:
    """Name phases that begin too late to be measured, and the one for which a signature run has to wait."""
    found, times = signature.process.found, signature.process.predicted.phases
    for phase, time in zip(found.phases, times, strict=True):
        if time.seen == 0:
            share = percent(phase.seconds / found.aet_s)
            yield f"phase {phase.id} ({share} % of the run) comes later: its time is scaled as that of the others"
    late = signature.late
    if late is not None:
        share, at = percent(late.seconds / found.aet_s), times[late.id].enough_s
        yield (
            f"phase {late.id} ({share} % of the run) is seen after {seconds(at)} only: "
            "--most R leaves out what begins after that part of the run, and scales it as the rest"
        )


def _rows(process: ProcessSignature, within: Within | None) -> list[tuple[str, ...]]:
    """Return the table of phases, its head first."""
    head = ("Phase", "Weight", "Median", "25-75 %", OF_RUN, "Begins at", "Calls")
    rows: list[tuple[str, ...]] = [head if within is None else (*head, "Profile phase")]
    for phase in process.found.phases:
        low, median, high = (float(value) for value in np.percentile(phase.time_s, QUARTILES))
        row = (
            SIGNS[phase.id] if 10 <= phase.id < len(SIGNS) else str(phase.id),
            str(phase.weight),
            seconds(median),
            f"{seconds(low)} - {seconds(high)}",
            percent(phase.seconds / process.found.aet_s),
            place_of(process.kinds[phase.kinds[0]]) or "-",
            calls_of(phase, process),
        )
        rows.append(row if within is None else (*row, _within(within[phase.id])))
    return rows


def _within(found: tuple[int, float] | None) -> str:
    """Name the profile's phase."""
    return "-" if found is None else f"{found[0]} ({percent(found[1])} %)"


def _processes(signature: Signature, out: TextIO) -> None:
    """Write a row for each rank."""
    rows: list[tuple[str, ...]] = [("Rank", "Measured", "Predicted", "Error", "In phases", "Phases", "Calls", "")]
    for one in signature.processes[:MOST_RANKS]:
        rows.append(
            (
                str(one.rank),
                seconds(one.found.aet_s),
                seconds(one.predicted.pet_s),
                f"{percent(one.error)} %",
                f"{percent(one.found.coverage)} %",
                str(len(one.found.phases)),
                str(one.events),
                "representative" if one is signature.process else "" if one.clean else "trace incomplete",
            )
        )
    _table(rows, out)
    if len(signature.processes) > MOST_RANKS:
        out.write(f"and {len(signature.processes) - MOST_RANKS} more\n")


def _table(rows: Sequence[tuple[str, ...]], out: TextIO) -> None:
    """Write columns: text to the left, numbers to the right."""
    texts = {"Calls", "Begins at", "", "Profile phase"} if rows[0][0] == "Phase" else {""}
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(size) if head in texts else cell.rjust(size)
            for head, cell, size in zip(rows[0], row, widths, strict=True)
        ]
        out.write(printable("  ".join(cells).rstrip()) + "\n")
