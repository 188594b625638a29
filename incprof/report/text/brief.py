"""Phases for pasting into an issue: head, ribbon, a line per phase; 80 columns, no colours."""

from __future__ import annotations

from io import StringIO
from typing import TextIO

from incprof.analysis.phase_result import Phase, PhaseResult, RunSummary
from incprof.analysis.views.tracks import sign
from incprof.model import FloatArray
from incprof.report.text.console import console_for
from incprof.report.text.folding import print_folded
from incprof.report.text.phases import head_line, write_ribbon
from incprof.report.text.site_table import place
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import cell_len, duration
from incprof.report.words.phase_names import names_of, without_site
from incprof.report.words.verdict import verdict_line
from incprof.safe.printable import unfiltered

WIDTH = 80
LEAST_OF_NAME = 12


def write_brief(run: RunSummary, result: PhaseResult, out: TextIO, suspensions: FloatArray | None = None) -> None:
    """Write the answer as plain text of at most 80 columns."""
    with StringIO() as text:
        console = console_for(text, width=WIDTH, colour=False, terminal=False)
        print_folded(console, "", [head_line(run)])
        print_folded(console, "", [verdict_line(result)])
        console.print()
        write_ribbon(console, run, result, suspensions)
        console.print()
        names = names_of(result)
        for phase in result.present:
            console.print(_line(phase, names), soft_wrap=True)
        unfiltered(out).write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def _line(phase: Phase, names: Names) -> str:
    """Return a phase: its number, share, duration, and its main function with its place."""
    head = f"{sign(phase.id)}  {phase.app_pct:5.1f} %  {duration(phase.seconds):>11}  "
    if not phase.sites:
        return head + without_site(phase)
    site = phase.sites[0]
    more = f" and {len(phase.sites) - 1} more" if len(phase.sites) > 1 else ""
    behind = f" ({site.kind}), {place(site)}{more}"
    room = WIDTH - len(head) - cell_len(behind)
    return head + names(site.function, max(room, LEAST_OF_NAME)) + behind
