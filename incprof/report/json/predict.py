"""A predicted time as JSON, schema incprof.predict/1 (docs/predict.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.signature.elsewhere import Prediction
from incprof.report.json.writing import significant, write

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
