"""Two runs compared as Markdown, for the summary of a CI job: failed gates first, then phases, then changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.compare.conditions import Condition
from incprof.analysis.diff.diff_result import Comparison, Row
from incprof.report.render.markdown import markdown_table, plain
from incprof.report.words import diff as say
from incprof.report.words import formatting as words
from incprof.report.words.formatting import count

SHOWN = 15


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
    phases = [row for phase in found.phases for row in (phase, *(s for s in phase.steps if s.verdict != "same"))]
    table = say.phase_table(found, phases, between=False)
    out.write(markdown_table(table.without("", "By CPU", "Alike")))
    if energy := say.energy_table(found):
        out.write("\n" + markdown_table(energy.without("")))
    changed = [row for row in found.functions if row.verdict != "same"]
    if changed:
        table = say.function_table(found, changed[:SHOWN])
        out.write("\n" + markdown_table(table.without("", "Per call A", "Per call B", "Phase")))
        if len(changed) > SHOWN:
            out.write(f"\n{count(len(changed) - SHOWN, 'more function')} changed.\n")
    out.write("\n")
    for letter, sides in (("A", found.a), ("B", found.b)):
        out.writelines(
            f"- {letter}: {plain(words.printable(side.path))}: {plain(say.run_line(side))}\n" for side in sides
        )
    out.writelines(f"- {plain(words.printable(note))}\n" for note in (*found.notes, *warnings))
    out.write(f"\n{plain(say.noise_line(found))}\n")
