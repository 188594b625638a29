"""Runs in the paper's letters as JSON, schema incprof.dna/1."""

from __future__ import annotations

from typing import TextIO

import numpy as np

from incprof.report.json.writing import significant, write
from incprof.systems.nodes.analyse.paper_letters import PaperLetters
from incprof.systems.nodes.analyse.prediction import EXECUTED
from incprof.systems.nodes.analyse.spelling import Spelling
from incprof.systems.nodes.analyse.transitions import Transitions, probability
from incprof.systems.nodes.dna_json import SCHEMA


def write_letters(found: PaperLetters, out: TextIO) -> None:
    """Write runs in letters, their alphabet, the matrix of each node, and the predictions. XXX is null."""
    options = found.options
    answer = {
        "schema": SCHEMA,
        "method": "letters",
        "simulated": found.simulated,
        "length_s": significant(options.length_s),
        "ranked": options.ranked,
        "relevant": options.way,
        "idle_below": significant(options.beta),
        "counters": list(found.counters),
        "alphabet": [
            {"letter": each.letter, "counters": list(each.counters), "count": each.times,
             "seconds": significant(each.seconds), "power_w": significant(each.power_w),
             "applications": list(each.applications)}
            for each in found.alphabet
        ],
        "runs": [_run(run, "learnt") for run in found.runs] + [_run(run, "test") for run in found.tests],
        "nodes": [{"node": node, "transitions": _edges(matrix)} for node, matrix in found.matrices.items()],
        "split": "test" if found.tests else "leave-one-out",
        "prediction": [
            {"node": each.node, "learnt_runs": each.learnt, "runs": each.runs, "letters": each.letters,
             "right": each.right, "accuracy": significant(each.right / each.letters if each.letters else None),
             "same_again": significant(each.same / each.letters if each.letters else None),
             "right_ahead": significant(each.ahead), "ahead": significant(each.rest)}
            for each in found.next_letters
        ],
        "energy": [
            {"application": each.application, "node": each.node, "runs": each.runs, "executed": EXECUTED,
             "estimated_j": significant(each.estimated_j), "measured_j": significant(each.measured_j),
             "peak_j": significant(each.peak_j), "accuracy": significant(each.accuracy),
             "error": significant(each.error), "letters_j": significant(each.letters_j)}
            for each in found.energies
        ],
    }  # fmt: skip
    write(answer, out)


def _run(run: Spelling, use: str) -> dict[str, object]:
    """Return a run: its letters, and its cache misses per cycle while it was not idle."""
    rows = run.rows
    misses = None
    if rows.misses is not None and (known := np.isfinite(rows.misses) & ~rows.idle).any():
        misses = float(rows.misses[known].mean())
    return {
        "application": run.application,
        "node": rows.node,
        "file": run.source,
        "use": use,
        "start_s": round(rows.begins_s, 6),
        "seconds": significant(rows.seconds),
        "energy_j": significant(rows.energy_j(0, 1)),
        "lag_s": significant(rows.lag_s),
        "misses_per_cycle": significant(misses),
        "letters": list(run.letters),
    }


def _edges(matrix: Transitions) -> list[dict[str, object]]:
    """Return the transitions of a node, by letter; XXX first."""
    return [
        {"from": a, "to": b, "count": count, "probability": significant(probability(row, b))}
        for a, row in sorted(matrix.items(), key=lambda item: _order(item[0]))
        for b, count in sorted(row.items(), key=lambda item: _order(item[0]))
    ]


def _order(letter: int | None) -> int:
    return -1 if letter is None else letter
