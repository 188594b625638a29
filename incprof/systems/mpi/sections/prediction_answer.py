"""A predicted time as text and as JSON, schema incprof.predict/1 (docs/use/predict.md)."""

from __future__ import annotations

import os
from typing import TextIO

from incprof.report.json.writing import significant, write
from incprof.report.text.aligned import write_aligned
from incprof.report.words.formatting import pct, seconds
from incprof.safe.printable import printable
from incprof.systems.mpi.analyse.extrapolation import Prediction

SCHEMA = "incprof.predict/1"


def write_json(found: Prediction, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    known, guess = found.signature, found.guess
    phases = [
        {
            "id": phase.id,
            "weight": phase.weight,
            "mean_s": significant(time.mean_s),
            "low_s": significant(time.low_s),
            "high_s": significant(time.high_s),
            "base_s": significant(phase.seconds / phase.weight),
            "seen": seen,
            "file": phase.file,
            "line": phase.line,
        }
        for phase, time, seen in zip(known.phases, guess.phases, found.seen, strict=True)
    ]
    answer = {
        "schema": SCHEMA,
        "app": known.app,
        "rank": known.rank,
        "pet_s": significant(guess.pet_s),
        "pet_low_s": significant(guess.low_s),
        "pet_high_s": significant(guess.high_s),
        "set_s": significant(guess.set_s),
        "base_aet_s": significant(known.aet_s),
        "aet_s": significant(found.aet_s),
        "coverage": significant(known.coverage),
        "follows": not found.doubts,
        "doubts": list(found.doubts),
        "phases": phases,
    }
    write(answer, out)


def write_text(found: Prediction, out: TextIO) -> None:
    """Write the time of the whole run, and the measured time of every phase."""
    known, guess = found.signature, found.guess
    part = guess.set_s / guess.pet_s if guess.pet_s > 0 else 0.0
    out.write(
        f"{printable(known.app)}: {seconds(guess.pet_s)} for the whole run, {seconds(guess.low_s)} to "
        f"{seconds(guess.high_s)}; {seconds(known.aet_s)} where the signature is from\n"
    )
    out.write(
        f"from the first {seconds(guess.set_s)} ({pct(part)} %) of rank {known.rank}; phases have "
        f"{pct(known.coverage)} % of the run\n"
    )
    if found.aet_s is not None:
        off = abs(guess.pet_s - found.aet_s) / found.aet_s if found.aet_s > 0 else 0.0
        out.write(f"it took {seconds(found.aet_s)}: off by {pct(off)} %\n")
    out.write("\n")
    rows = [("Phase", "Weight", "Seen", "Time of one", "there", "times", "Begins at")]
    for phase, time, seen in zip(known.phases, guess.phases, found.seen, strict=True):
        base = phase.seconds / phase.weight
        ratio = f"{time.mean_s / base:.3g}" if base > 0 and seen else "-"
        place = f"{os.path.basename(phase.file)}:{phase.line}" if phase.file else "-"
        shown = seconds(time.mean_s) if seen else "not seen"
        rows.append((str(phase.id), str(phase.weight), str(seen), shown, seconds(base), ratio, place))
    write_aligned(rows, {"Begins at"}, out)
