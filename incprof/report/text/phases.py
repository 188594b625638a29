"""Phases for people: a head of two lines, the run as a ribbon, the sites; with `details`, functions and ranks."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import TextIO

from rich.console import Console
from rich.text import Text

from incprof.analysis.phases.results import PhaseResult, RunSummary
from incprof.analysis.ranks.results import RanksResult
from incprof.analysis.views.ribbon import runs, sign, stretched
from incprof.model import Run
from incprof.printable import printable, unfiltered
from incprof.report.text.console import console_for
from incprof.report.text.folding import print_folded
from incprof.report.text.phase_details import write_details
from incprof.report.text.programs import write_programs
from incprof.report.text.ranks import write_ranks, write_ranks_line
from incprof.report.text.site_table import beats_line, site_table
from incprof.report.words.colours import style
from incprof.report.words.counting import counting_advice
from incprof.report.words.doubts import doubt_lines
from incprof.report.words.figures import count, duration, overhead, plural
from incprof.report.words.phase_names import names_of
from incprof.report.words.spent import legend, sign_of
from incprof.report.words.verdict import verdict_line

# The head says which rate was reached when it is off by this part, and there are samples enough to tell.
RATE_OFF = 0.1
ENOUGH = 100


def write_text(
    run: RunSummary,
    result: PhaseResult,
    out: TextIO,
    *,
    width: int = 100,
    colour: bool = False,
    budget_pct: float | None = None,
    ranks: RanksResult | None = None,
    per_rank: bool = False,
    job: Run | None = None,
    details: bool = False,
) -> None:
    """Write the answer, sentences at most `width` columns wide; plain ASCII without `colour`, but for names.

    budget_pct: what the heartbeats may cost, if somebody asked. ranks: all of them, where there are several; per_rank:
    each of them too. job: the run, of whose programs there is a table where there are several. details: what each phase
    and each rank does.
    """
    with StringIO() as text:
        console = console_for(text, width=max(width, 40), colour=colour, terminal=colour)
        if job is not None:
            write_programs(console, job)
        _write(console, run, result, budget_pct)
        if ranks is not None:
            write_ranks_line(console, ranks)
        if details:
            write_details(console, run, result)
        if ranks is not None and (details or per_rank):
            write_ranks(console, ranks, per_rank=per_rank)
        # Tables and folded lines are filled up with blanks. Colours are in it, and nothing else that is not printable.
        unfiltered(out).write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def _write(console: Console, run: RunSummary, result: PhaseResult, budget_pct: float | None) -> None:
    """Write the answer as it is laid out."""
    console.print(head_line(run), soft_wrap=not console.is_terminal)
    print_folded(console, "", [verdict_line(run, result)])
    if advice := counting_advice(run.counting):
        print_folded(console, "note: ", [advice])
    for line in doubt_lines(run, result):
        print_folded(console, "note: ", [line])
    if absent := list(_absent(result)):
        print_folded(
            console, "note: ", [f"rank {run.rank} does not go through {plural('phase', absent)} of other ranks"]
        )
    console.print()
    write_ribbon(console, run, result)
    console.print()
    console.print(site_table(result, console.width, names_of(result)))
    if budget_pct is not None and (beats := beats_line(result, budget_pct)):
        console.print(beats)


def head_line(run: RunSummary) -> str:
    """Return what was recorded, in one line."""
    which = f"rank {run.rank}"
    if run.ranks > 1:
        which += f" of {run.ranks} ranks (the others: --rank)"
    parts = [
        printable(run.app),
        which,
        f"{count(run.intervals, 'interval')} of {run.interval_s:g} s"
        + (f" ({run.pooled} recorded ones each)" if run.pooled > 1 else ""),
        duration(run.duration_s),
        count(run.samples, "sample") + _rate(run),
        f"overhead {overhead(run.overhead_pct)}",
    ]
    return ", ".join(parts)


def _rate(run: RunSummary) -> str:
    """Return the rate that was reached, where it is not the one that was asked for."""
    if run.reached_hz is None or abs(run.reached_hz / run.rate_hz - 1) < RATE_OFF or run.samples < ENOUGH:
        return ""
    return f" ({run.reached_hz:.3g} per CPU second, not {run.rate_hz:g})"


def write_ribbon(console: Console, run: RunSummary, result: PhaseResult) -> None:
    """Print the run from left to right, under it what is no work, and the time."""
    line = Text()
    for label, length in runs(stretched(result.labels, console.width, result.end_s)):
        line.append(sign(label) * length, style=style(label))
    console.print(line, soft_wrap=True)
    signs = legend(result.spent)
    if result.spent is not None and signs:
        kinds = stretched(result.spent, console.width, result.end_s)
        console.print("".join(map(sign_of, kinds)).rstrip(), soft_wrap=True)
    end = duration(run.duration_s)
    console.print("0 s" + end.rjust(console.width - 3), soft_wrap=True)
    if signs:
        console.print(f"most of an interval: {signs}", soft_wrap=True)


def _absent(result: PhaseResult) -> Iterator[str]:
    """Name the phases that only other ranks go through, each by its first site or its largest function."""
    names = names_of(result)
    for phase in result.phases:
        if not phase.intervals:
            functions = [site.function for site in phase.sites] or [top.function for top in phase.functions]
            yield f"{phase.id} ({names(functions[0])})" if functions else str(phase.id)
