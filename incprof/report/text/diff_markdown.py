"""Two runs side by side as Markdown, for the summary of a CI job: what fails first, then phases, then what changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.beats.gates import Condition
from incprof.analysis.diff.results import Comparison, Row
from incprof.report.words import diff as say
from incprof.report.words import numbers as words
from incprof.report.words.figures import count
from incprof.report.words.names import Names

SHOWN = 15
SPECIAL = re.compile(r"([\\`*_\[\]#|~<>&@])")


def write_markdown(
    found: Comparison, broken: Sequence[tuple[Condition, Row]], warnings: Sequence[str], out: TextIO
) -> None:
    """Write the comparison."""
    said = f"{'Failed' if broken else 'Compared'}: {say.verdict_line(found)}; {say.phases_line(found)}"
    out.write(f"### {plain(said)}\n\n")
    for condition, row in broken:
        out.write(f"- **{plain(say.broken_line(condition, row))}**\n")
    if broken:
        out.write("\n")
    out.write(
        "| Phase | A | B | Change | 95 % interval | Verdict | Share A | Share B |\n|---|--:|--:|--:|--:|---|--:|--:|\n"
    )
    called = say.row_names(found)
    for phase in found.phases:
        out.write(_line(phase, called, "", f"{say.share(phase.a)} %", f"{say.share(phase.b)} %"))
        for step in phase.steps:
            if step.verdict != "same":
                out.write(_line(step, called, "&nbsp;&nbsp;", f"{say.share(step.a)} %", f"{say.share(step.b)} %"))
    out.write(_line(found.run, called, "", "", ""))
    if energy := say.energy_rows(found):
        out.write(
            "\n| "
            + " | ".join((plain(say.energy_head(found)), *say.ENERGY[1:]))
            + " |\n|---|--:|--:|--:|--:|---|--:|--:|\n"
        )
        for row, joules in energy:
            out.write("| " + " | ".join((plain(say.named(row, called, 80)), *say.energy_cells(row, joules))) + " |\n")
    changed = [row for row in found.functions if row.verdict != "same"]
    if changed:
        out.write("\n| Function | Self A | Self B | Change | 95 % interval | Verdict | Calls A | Calls B |\n")
        out.write("|---|--:|--:|--:|--:|---|--:|--:|\n")
        out.writelines(_line(row, called, "", say.calls(row.a), say.calls(row.b)) for row in changed[:SHOWN])
        if len(changed) > SHOWN:
            out.write(f"\n{count(len(changed) - SHOWN, 'more function')} changed.\n")
    out.write("\n")
    for letter, sides in (("A", found.a), ("B", found.b)):
        out.writelines(
            f"- {letter}: {plain(words.printable(side.path))}: {plain(say.run_line(side))}\n" for side in sides
        )
    out.writelines(f"- {plain(words.printable(note))}\n" for note in (*found.notes, *warnings))
    out.write(f"\n{plain(say.noise_line(found))}\n")


def plain(text: str) -> str:
    """Return text that is no markup, whatever it says."""
    return SPECIAL.sub(lambda found: f"&#{ord(found[1])};", text)


def _line(row: Row, called: Names, indent: str, *last: str) -> str:
    """Return a row of a table."""
    name = plain(say.named(row, called, 80))
    verdict = say.verdict(row)
    cells = [indent + name, say.seconds(row.a), say.seconds(row.b), say.change(row), say.interval(row)]
    return "| " + " | ".join([*cells, verdict if row.verdict == "same" else f"**{verdict}**", *last]) + " |\n"
