"""What each phase does, for people: its largest functions and its steps; then what is too short for a phase."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from incprof.analysis.phases.results import Phase, PhaseResult, RunSummary
from incprof.analysis.views.ribbon import badge
from incprof.report.text.folding import print_folded
from incprof.report.text.steps import step_lines
from incprof.report.words.calls import UNCOUNTED, calls_words
from incprof.report.words.colours import style
from incprof.report.words.figures import count, duration
from incprof.report.words.names import Names
from incprof.report.words.phase_names import TOP_FUNCTIONS, names_of
from incprof.report.words.short import short_lines
from incprof.report.words.site_evidence import no_site
from incprof.report.words.spent import spent_words

MOST_SHORT = 6


def write_details(console: Console, run: RunSummary, result: PhaseResult) -> None:
    """Print the functions and steps of each phase, and what is too short for one."""
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
