"""A predicted time as text."""

from __future__ import annotations

import os
from typing import TextIO

from incprof.analysis.signature.elsewhere import Prediction
from incprof.printable import printable
from incprof.report.words.numbers import percent, seconds


def write_text(found: Prediction, out: TextIO) -> None:
    """Write the time of the whole run, and what every phase took here."""
    known, guess = found.signature, found.guess
    part = guess.set_s / guess.pet_s if guess.pet_s > 0 else 0.0
    out.write(
        f"{printable(known.app)}: {seconds(guess.pet_s)} for the whole run, {seconds(guess.low_s)} to "
        f"{seconds(guess.high_s)}; {seconds(known.aet_s)} where the signature is from\n"
    )
    out.write(
        f"from the first {seconds(guess.set_s)} ({percent(part)} %) of rank {known.rank}; phases have "
        f"{percent(known.coverage)} % of the run\n"
    )
    if found.aet_s is not None:
        off = abs(guess.pet_s - found.aet_s) / found.aet_s if found.aet_s > 0 else 0.0
        out.write(f"it took {seconds(found.aet_s)}: off by {percent(off)} %\n")
    out.write("\n")
    rows = [("Phase", "Weight", "Seen", "Time of one", "there", "times", "Begins at")]
    for phase, time, seen in zip(known.phases, guess.phases, found.seen, strict=True):
        base = phase.seconds / phase.weight
        ratio = f"{time.mean_s / base:.3g}" if base > 0 and seen else "-"
        place = f"{os.path.basename(phase.file)}:{phase.line}" if phase.file else "-"
        shown = seconds(time.mean_s) if seen else "not seen"
        rows.append((str(phase.id), str(phase.weight), str(seen), shown, seconds(base), ratio, place))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(size) for cell, size in zip(row[:-1], widths, strict=False)]
        out.write(printable("  ".join([*cells, row[-1]])) + "\n")
