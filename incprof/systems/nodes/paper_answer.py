"""Answers of `incprof dna` with the paper's method, as text and as JSON, schema incprof.dna/1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TextIO

import numpy as np
from rich.console import Console

from incprof.model.section import Column, Table, unseen
from incprof.report.render.json import json_rows, significant
from incprof.report.render.text import console_for, text_table
from incprof.report.words.formatting import count, joules
from incprof.systems.nodes.analyse.learn import MARK, letter_name
from incprof.systems.nodes.analyse.paper import PaperStates, Transitions, probability
from incprof.systems.nodes.analyse.paper_letters import EXECUTED, PaperLetters
from incprof.systems.nodes.analyse.spelling import Spelling
from incprof.systems.nodes.dna_answer import SCHEMA, Json, print_mark


def paper_json(nodes: Sequence[PaperStates]) -> Json:
    """Return the phases of Algorithm 1."""
    every: list[Json] = []
    for node in nodes:
        phases, times = node.phases, node.times
        codes = [-1 if letter is None else letter for letter in node.letters]
        every.append({
            "node": node.node,
            "labels": np.repeat(codes, [p.last - p.first for p in phases]).tolist(),
            "lag_s": significant(node.lag_s),
            "phases": [
                {"letter": letter, "start_s": round(float(times[p.first]), 6), "rows": p.last - p.first,
                 "power_w": significant(watts)}
                for p, letter, watts in zip(phases, node.letters, node.power_w, strict=True)
            ],
        })  # fmt: skip
    simulated = any(node.simulated for node in nodes)
    return {"schema": SCHEMA, "method": "paper", "simulated": simulated, "labels": every[0]["labels"], "nodes": every}


def write_paper(nodes: Sequence[PaperStates], out: TextIO) -> None:
    """Write the phases of Algorithm 1 like Figure 3 of the paper: letter and seconds."""
    for node in nodes:
        phases, times = node.phases, node.times
        period = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
        out.write(f"{node.node}: {count(len(phases), 'phase')}\n")
        for phase, letter, watts in zip(phases, node.letters, node.power_w, strict=True):
            seconds = (phase.last - phase.first) * period
            out.write(f"  ({letter_name(letter)} {seconds:g})  {'-' if watts is None else f'{watts:.1f} W'}\n")
        if node.lag_s:
            out.write(f"  power comes {node.lag_s:g} s late: shifted back\n")
    if any(node.simulated for node in nodes):
        out.write(f"{MARK}\n")


# Runs in the paper's letters.


MOST_RUNS, MOST_LETTERS, MOST_OF_RUN = 12, 16, 60


def _letters_table(letters: PaperLetters) -> Table:
    """Return a row for each letter of the alphabet."""
    columns = (
        Column("Letter", lambda each: letter_name(each.letter), "count"),
        Column(None, lambda each: each.letter, key="letter"),
        Column("Time", lambda each: each.seconds, "duration", key="seconds"),
        Column("Power W", lambda each: f"{each.power_w:.0f}", "W"),
        Column(None, lambda each: each.power_w, key="power_w"),
        Column(None, lambda each: each.times, key="count"),
        Column("Counters", lambda each: list(each.counters), key="counters"),
        Column("Applications", lambda each: list(each.applications), key="applications"),
    )
    return Table(columns, letters.alphabet)


def _energy_table(letters: PaperLetters) -> Table:
    """Return a row for the runs of each application on each node, as in Table 2 of the paper."""

    def energy(head: str, name: str) -> tuple[Column, Column]:
        return (
            Column(head, lambda row: joules(getattr(row, name), 4), "J"),
            Column(None, lambda row: getattr(row, name), key=name),
        )

    columns = (
        Column("Runs", lambda row: row.runs, "count", key="runs"),
        *energy("Estimated", "estimated_j"),
        *energy("Measured", "measured_j"),
        *energy("Peak", "peak_j"),
        Column("Accuracy", lambda row: f"{row.accuracy:.3f}", "number"),
        Column(None, lambda row: row.accuracy, key="accuracy"),
        Column("Error %", lambda row: row.error, "percent", key="error"),
        *energy("By letters", "letters_j"),
        Column("Of", lambda row: f"{row.application} on {row.node}"),
        *unseen("application node"),
        Column(None, lambda row: EXECUTED, key="executed"),
    )
    return Table(columns, letters.energies)


def letters_json(letters: PaperLetters) -> Json:
    """Return runs in letters, their alphabet, the matrix of each node, and the predictions. XXX is null."""
    options = letters.options
    return {
        "schema": SCHEMA,
        "method": "letters",
        "simulated": letters.simulated,
        "length_s": significant(options.length_s),
        "ranked": options.ranked,
        "relevant": options.select,
        "idle_below": significant(options.beta),
        "counters": list(letters.counters),
        "alphabet": json_rows(_letters_table(letters)),
        "runs": [_run_json(run, "learnt") for run in letters.runs] + [_run_json(run, "test") for run in letters.tests],
        "nodes": [{"node": node, "transitions": _edges_json(matrix)} for node, matrix in letters.matrices.items()],
        "split": "test" if letters.tests else "leave-one-out",
        "prediction": [
            {"node": each.node, "learnt_runs": each.learnt, "runs": each.runs, "letters": each.letters,
             "right": each.right, "accuracy": significant(each.right / each.letters if each.letters else None),
             "same_again": significant(each.same / each.letters if each.letters else None),
             "right_ahead": significant(each.correct_ahead), "ahead": significant(each.to_come)}
            for each in letters.next_letters
        ],
        "energy": json_rows(_energy_table(letters)),
    }  # fmt: skip


def _run_json(run: Spelling, use: str) -> Json:
    """Return a run: its letters, and its cache misses per cycle while it was not idle."""
    rows = run.rows
    misses = None
    if rows.misses is not None and (measured := np.isfinite(rows.misses) & ~rows.idle).any():
        misses = float(rows.misses[measured].mean())
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


def _edges_json(matrix: Transitions) -> list[Json]:
    """Return the transitions of a node, by letter; XXX first."""

    def order(item: tuple[int | None, Any]) -> int:
        return -1 if item[0] is None else item[0]

    return [
        {"from": a, "to": b, "count": times, "probability": significant(probability(row, b))}
        for a, row in sorted(matrix.items(), key=order)
        for b, times in sorted(row.items(), key=order)
    ]


def write_letters(letters: PaperLetters, out: TextIO, *, width: int, colour: bool) -> None:
    """Write runs in letters, the alphabet, and the predictions."""
    console = console_for(out, width=width, colour=colour, terminal=colour)
    runs = [*letters.runs, *letters.tests]
    for run in runs[:MOST_RUNS]:
        shown = " ".join(letter_name(letter) for letter in run.letters[:MOST_OF_RUN])
        more = f" ... {len(run.letters)} in all" if len(run.letters) > MOST_OF_RUN else ""
        console.print(f"{run.application} on {run.rows.node}: {shown}{more}", soft_wrap=True)
    if len(runs) > MOST_RUNS:
        console.print(f"... and {count(len(runs) - MOST_RUNS, 'run')} more")
    console.print()
    table = _letters_table(letters)
    console.print(text_table(replace(table, rows=table.rows[:MOST_LETTERS]), width))
    if len(table.rows) > MOST_LETTERS:
        console.print(f"... and {count(len(table.rows) - MOST_LETTERS, 'letter')} more")
    console.print()
    _write_prediction(console, letters)
    print_mark(console, simulated=letters.simulated)


def _write_prediction(console: Console, letters: PaperLetters) -> None:
    """Write how runs were split, and the accuracy of the predicted letters and energy."""
    tests = count(len(letters.tests), "test run")
    split = (
        f"{tests} by {count(len(letters.runs), 'run')}" if letters.tests else "each run by the other runs of its node"
    )
    if not letters.next_letters and not letters.energies:
        console.print("not predicted: that takes two runs of a node, or --test", soft_wrap=True)
        return
    console.print(f"predicted: {split}", soft_wrap=True)
    for each in letters.next_letters:
        if each.letters:
            console.print(
                f"{each.node}: next letter right {100 * each.right / each.letters:.0f} % of {each.letters} "
                f"(the same again: {100 * each.same / each.letters:.0f} %); from the second letter on "
                f"{each.correct_ahead:.1f} of {each.to_come:.1f} letters right",
                soft_wrap=True,
            )
    if letters.energies:
        console.print()
        console.print(text_table(_energy_table(letters), console.width))
        console.print(f"estimated from the first {100 * EXECUTED:.0f} % of each run", soft_wrap=True)
