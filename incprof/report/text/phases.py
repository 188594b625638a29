"""Phases for people: a head of two lines, the run as a ribbon, the sites; with `details`, functions and ranks."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import TextIO

from rich.console import Console
from rich.text import Text

from incprof.analysis.phase_result import Phase, PhaseResult, RunSummary
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.analysis.views.tracks import SUSPENDED, badge, runs, sign, stretched, with_suspensions
from incprof.model import FloatArray, IntArray, Run
from incprof.report.programs_answer import write_programs
from incprof.report.text.console import console_for
from incprof.report.text.folding import print_folded
from incprof.report.text.ranks import write_ranks, write_ranks_line
from incprof.report.text.site_table import beats_line, site_table
from incprof.report.text.steps import step_lines
from incprof.report.words.calls import UNCOUNTED, calls_words
from incprof.report.words.colours import style
from incprof.report.words.counting import counting_advice
from incprof.report.words.display_names import Names
from incprof.report.words.doubts import doubt_lines
from incprof.report.words.formatting import count, duration, overhead, plural
from incprof.report.words.phase_changes import same_sites_lines
from incprof.report.words.phase_names import TOP_FUNCTIONS, names_of
from incprof.report.words.short import short_lines
from incprof.report.words.site_evidence import no_site
from incprof.report.words.time_kinds import legend, sign_of, spent_words
from incprof.report.words.verdict import verdict_line
from incprof.safe.printable import printable, unfiltered

# The head reports the achieved rate if it is off by this share, and there are enough samples to detect that.
RATE_OFF = 0.1
ENOUGH = 100
MOST_SHORT = 6


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
    suspensions: FloatArray | None = None,
) -> None:
    """Write the answer, sentences at most `width` columns wide; plain ASCII without `colour`, except for names.

    budget_pct: limit of the heartbeats' cost in percent, if one was set. ranks: all of them, if there are several.
    per_rank: report each rank too. job: the run, whose programs are listed if there are several. details: report the
    functions and steps of each phase, and each rank. suspensions: (s, 2) start and end of the times in which the
    program was stopped.
    """
    with StringIO() as text:
        console = console_for(text, width=max(width, 40), colour=colour, terminal=colour)
        if job is not None:
            write_programs(console, job)
        _write(console, run, result, budget_pct, suspensions)
        if ranks is not None:
            write_ranks_line(console, ranks)
        if details:
            write_details(console, run, result)
        if ranks is not None and (details or per_rank):
            write_ranks(console, ranks, per_rank=per_rank)
        # Tables and wrapped lines are padded with spaces. The text holds colours, and nothing else that is unprintable.
        unfiltered(out).write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def _write(
    console: Console,
    run: RunSummary,
    result: PhaseResult,
    budget_pct: float | None,
    suspensions: FloatArray | None,
) -> None:
    """Write the parts of the answer in order."""
    console.print(head_line(run), soft_wrap=not console.is_terminal)
    print_folded(console, "", [verdict_line(result)])
    if advice := counting_advice(run.counting):
        print_folded(console, "note: ", [advice])
    for line in doubt_lines(result):
        print_folded(console, "note: ", [line])
    if absent := list(_absent(result)):
        print_folded(
            console, "note: ", [f"rank {run.rank} does not go through {plural('phase', absent)} of other ranks"]
        )
    console.print()
    write_ribbon(console, run, result, suspensions)
    console.print()
    console.print(site_table(result, console.width, names_of(result)))
    for line in same_sites_lines(result):
        print_folded(console, "same sites: ", [line])
    if budget_pct is not None and (beats := beats_line(result, budget_pct)):
        console.print(beats)


def head_line(run: RunSummary) -> str:
    """Summarise the recording in one line."""
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
    """Return the achieved rate, if it is not the requested one."""
    if run.reached_hz is None or abs(run.reached_hz / run.rate_hz - 1) < RATE_OFF or run.samples < ENOUGH:
        return ""
    return f" ({run.reached_hz:.3g} per CPU second, not {run.rate_hz:g})"


def write_ribbon(console: Console, run: RunSummary, result: PhaseResult, suspensions: FloatArray | None = None) -> None:
    """Print the run from left to right, below it the signs of time that is not work, and the time."""
    cells = _cells(result.labels, console.width, result.end_s, suspensions)
    line = Text()
    for label, length in runs(cells):
        line.append(sign(label) * length, style=style(label) if label != SUSPENDED else "")
    console.print(line, soft_wrap=True)
    signs = legend(result.spent)
    if result.spent is not None and signs:
        kinds = _cells(result.spent, console.width, result.end_s, suspensions)
        console.print("".join(sign_of(k) if k != SUSPENDED else " " for k in kinds).rstrip(), soft_wrap=True)
    end = duration(run.duration_s)
    console.print("0 s" + end.rjust(console.width - 3), soft_wrap=True)
    if signs:
        console.print(f"most of an interval: {signs}", soft_wrap=True)
    if SUSPENDED in cells:
        console.print("blank: the program was stopped, or the machine asleep", soft_wrap=True)


def _cells(values: IntArray, width: int, end_s: FloatArray, suspensions: FloatArray | None) -> list[int]:
    """Return the value of each of `width` parts of the run, from the values of its intervals."""
    if suspensions is not None:
        values, end_s = with_suspensions(values, end_s, suspensions)
    return stretched(values, width, end_s)


def _absent(result: PhaseResult) -> Iterator[str]:
    """Name the phases that occur only in other ranks, each by its first site or its largest function."""
    names = names_of(result)
    for phase in result.phases:
        if not phase.intervals:
            functions = [site.function for site in phase.sites] or [top.function for top in phase.functions]
            yield f"{phase.id} ({names(functions[0])})" if functions else str(phase.id)


def write_details(console: Console, run: RunSummary, result: PhaseResult) -> None:
    """Print the functions and steps of each phase, and the behaviours too short for one."""
    console.print()
    if not run.counted:
        print_folded(console, "note: ", [UNCOUNTED])
    names = names_of(result)
    for phase in result.present:
        _functions(console, phase, names)
    if result.short:
        console.print()
        print_folded(console, "too short for a phase: ", short_lines(result, MOST_SHORT))


def _functions(console: Console, phase: Phase, names: Names) -> None:
    """Print the largest functions of a phase."""
    head = Text(f" {badge(phase.id)} ", style=style(phase.id))
    head.append(f" {count(phase.intervals, 'interval')}, {phase.app_pct:.1f} % of the run, ", style="default")
    head.append(duration(phase.seconds))
    if phase.confidence is not None:
        head.append(f", confidence {phase.confidence:.2f}")
    head.append("".join(f", {words}" for words in spent_words(phase)))
    console.print(head)
    for top in phase.functions[:TOP_FUNCTIONS]:
        numbers = f"{100 * top.share:9.1f} %  {top.self_s:9.2f} s  {calls_words(top.calls, top.estimated):>16}  "
        console.print(numbers + names(top.function, console.width - len(numbers)), soft_wrap=True)
    if not phase.sites:
        print_folded(console, "      no site: ", [no_site(phase, names)])
    for line in step_lines(phase, console.width, names):
        console.print(line, soft_wrap=True)
