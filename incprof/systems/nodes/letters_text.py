"""Runs in the paper's letters as text."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.table import Table

from incprof.report.text.console import console_for
from incprof.report.words.formatting import count, duration, joules
from incprof.systems.nodes.analyse.paper_letters import PaperLetters
from incprof.systems.nodes.analyse.prediction import EXECUTED
from incprof.systems.nodes.analyse.spelling import Spelling
from incprof.systems.nodes.state_names import MARK, letter_name

MOST_RUNS, MOST_LETTERS, MOST_OF_RUN = 12, 16, 60


def write_letters(found: PaperLetters, out: TextIO, *, width: int, colour: bool) -> None:
    """Write runs in letters, the alphabet, and the predictions."""
    console = console_for(out, width=width, colour=colour, terminal=colour)
    runs = [*found.runs, *found.tests]
    for run in runs[:MOST_RUNS]:
        console.print(f"{run.application} on {run.rows.node}: {_spelt(run)}", soft_wrap=True)
    if len(runs) > MOST_RUNS:
        console.print(f"... and {count(len(runs) - MOST_RUNS, 'run')} more")
    console.print()
    table = _table("Letter", "Time", "Power W", left=("Counters", "Applications"))
    for each in found.alphabet[:MOST_LETTERS]:
        table.add_row(
            letter_name(each.letter), duration(each.seconds), f"{each.power_w:.0f}", ", ".join(each.counters),
            ", ".join(each.applications),
        )  # fmt: skip
    console.print(table)
    if len(found.alphabet) > MOST_LETTERS:
        console.print(f"... and {count(len(found.alphabet) - MOST_LETTERS, 'letter')} more")
    console.print()
    _write_prediction(console, found)
    if found.simulated:
        console.print(MARK)


def _spelt(run: Spelling) -> str:
    """Return the letters of a run, limited to a few lines."""
    shown = " ".join(letter_name(letter) for letter in run.letters[:MOST_OF_RUN])
    return shown + (f" ... {len(run.letters)} in all" if len(run.letters) > MOST_OF_RUN else "")


def _write_prediction(console: Console, found: PaperLetters) -> None:
    """Write how runs were split, and the accuracy of the predicted letters and energy."""
    tests = count(len(found.tests), "test run")
    split = f"{tests} by {count(len(found.runs), 'run')}" if found.tests else "each run by the other runs of its node"
    if not found.next_letters and not found.energies:
        console.print("not predicted: that takes two runs of a node, or --test", soft_wrap=True)
        return
    console.print(f"predicted: {split}", soft_wrap=True)
    for each in found.next_letters:
        if each.letters:
            console.print(
                f"{each.node}: next letter right {100 * each.right / each.letters:.0f} % of {each.letters} "
                f"(the same again: {100 * each.same / each.letters:.0f} %); from the second letter on "
                f"{each.ahead:.1f} of {each.rest:.1f} letters right",
                soft_wrap=True,
            )
    if found.energies:
        console.print()
        table = _table("Runs", "Estimated", "Measured", "Peak", "Accuracy", "Error %", "By letters", left=("Of",))
        for row in found.energies:
            table.add_row(
                str(row.runs), joules(row.estimated_j, 4), joules(row.measured_j, 4), joules(row.peak_j, 4),
                f"{row.accuracy:.3f}", f"{100 * row.error:.1f}", joules(row.letters_j, 4),
                f"{row.application} on {row.node}",
            )  # fmt: skip
        console.print(table)
        console.print(f"estimated from the first {100 * EXECUTED:.0f} % of each run", soft_wrap=True)


def _table(*right: str, left: tuple[str, ...]) -> Table:
    """Return a table with columns of numbers, followed by columns of text."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    for name in left:
        table.add_column(name)
    return table
