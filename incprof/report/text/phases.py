"""Phases for people: a head line, the run as a ribbon, the sites in the columns of the paper's Table II, functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incprof.analysis.phases.results import Phase, PhaseResult, RunSummary, Site
from incprof.analysis.phases.verdict import odd_intervals, verdict
from incprof.analysis.ranks.results import RanksResult
from incprof.analysis.views.ribbon import badge, runs, sign, stretched
from incprof.model import Run
from incprof.printable import printable, unfiltered
from incprof.report.text.console import console_for
from incprof.report.text.folding import folded
from incprof.report.text.programs import write_programs
from incprof.report.text.ranks import write_ranks
from incprof.report.text.steps import step_lines
from incprof.report.words.calls import UNCOUNTED, calls_words
from incprof.report.words.colours import style
from incprof.report.words.counting import counting_advice
from incprof.report.words.doubts import doubt_lines
from incprof.report.words.explanation import border_lines, level_line
from incprof.report.words.figures import count, duration, overhead, plural
from incprof.report.words.names import Names
from incprof.report.words.numbers import cell_len, fitted
from incprof.report.words.phase_names import TOP_FUNCTIONS, names_of
from incprof.report.words.short import short_lines
from incprof.report.words.site_evidence import no_site
from incprof.report.words.spent import legend, sign_of, spent_words

RULES = {
    "borders": "changes",
    "elbow": "elbow",
    "user": "you",
    "level": "level",
}
MOST_BORDERS = 8
MOST_SHORT = 6
# What the table of sites has besides functions and their places; the most that a place may take.
COLUMNS, MOST_OF_PLACE = 44, 40
ENOUGH_OF_NAME = 24
# The head says which rate was reached when it is off by this part, and there are samples enough to tell.
RATE_OFF = 0.1
ENOUGH = 100
# So many intervals of a steady phase lie beyond the limit of what counting explains by chance.
CHANCE = 0.01


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
) -> None:
    """Write the answer, sentences at most `width` columns wide; plain ASCII without `colour`, but for names.

    budget_pct: what the heartbeats may cost, if somebody asked. ranks: all of them, where there are several; per_rank:
    each of them too. job: the run, of whose programs there is a table where there are several.
    """
    with StringIO() as text:
        console = console_for(text, width=max(width, 40), colour=colour, terminal=colour)
        if job is not None:
            write_programs(console, job)
        _write(console, run, result, budget_pct)
        if ranks is not None:
            console.print()
            write_ranks(console, ranks, per_rank=per_rank)
        # Tables and folded lines are filled up with blanks. Colours are in it, and nothing else that is not printable.
        unfiltered(out).write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def _write(console: Console, run: RunSummary, result: PhaseResult, budget_pct: float | None) -> None:
    """Write the answer as it is laid out."""
    console.print(_head(run), soft_wrap=not console.is_terminal)
    if not run.counted:
        _told(console, "note: ", [UNCOUNTED])
    if advice := counting_advice(run.counting):
        _told(console, "", [advice])
    _told(console, "", [_verdict(result)])
    if one := _one_phase(result):
        console.print(one)
    for line in doubt_lines(run, result):
        _told(console, "note: ", [line])
    if absent := list(_absent(result)):
        _told(console, "note: ", [f"rank {run.rank} does not go through {plural('phase', absent)} of other ranks"])
    console.print()
    _ribbon(console, run, result)
    console.print()
    names = names_of(result)
    console.print(_site_table(result, console.width, names))
    if budget_pct is not None and (beats := _beats(result, budget_pct)):
        console.print(beats)
    console.print()
    for phase in result.present:
        _functions(console, phase, names)
    console.print()
    _changes(console, result)


def _head(run: RunSummary) -> str:
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
    return f" ({run.reached_hz:.3g} a CPU second of {run.rate_hz:g} asked for)"


def _verdict(result: PhaseResult) -> str:
    """Return how many phases there are, and why."""
    parts = [f"{count(result.k, 'phase')} (method {result.method}, k by {RULES[result.rule]})"]
    merged = result.k_clusters - sum(not phase.off_cpu for phase in result.phases) - len(result.short)
    if merged > 0 and result.rule != "user":
        noun = "cluster" if result.method == "paper" else "group"
        parts.append(f"{count(merged, noun)} joined or dropped")
    if result.short:
        parts.append(f"{count(len(result.short), 'part')} too short for one")
    none = int((result.labels < 0).sum()) - sum(short.intervals for short in result.short)
    if none > 0:
        parts.append(f"{count(none, 'interval')} between phases")
    return ", ".join(parts)


def _one_phase(result: PhaseResult) -> str | None:
    """Return what the answer of one phase means; None where there are several, or one was asked for."""
    times = result.scatter
    differ = "differ no more than" if times is None or times < 1.3 else f"differ {times:.2g} times as much as"
    return {
        "steady": f"one steady phase: its intervals {differ} counting samples explains{_but(result)}",
        "no_distinct_phases": f"no distinct phases: intervals {differ} counting samples explains, but not in groups",
        "too_few_intervals": "too few intervals to tell whether there are phases",
        "nameless": "one phase, of code that has no names",
    }.get(verdict(result))


def _but(result: PhaseResult) -> str:
    """Return how many intervals of a steady phase are not like the others, as --explain counts them."""
    odd = odd_intervals(result)
    return f", {odd} of {len(result.labels)} more than that" if odd > CHANCE * len(result.labels) else ""


def _ribbon(console: Console, run: RunSummary, result: PhaseResult) -> None:
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


def _site_table(result: PhaseResult, width: int, names: Names) -> Table:
    """Return the sites, a row each; a phase without a site has a row that says why.

    Where there is little room for names beside their places, a place stands below its function.
    """
    sites = [site for phase in result.present for site in phase.sites]
    beside = width - COLUMNS - max((len(_where(site)) for site in sites), default=0)
    below = beside < min(max((cell_len(names(site.function)) for site in sites), default=0), ENOUGH_OF_NAME)
    room = max(16, width - COLUMNS if below else beside)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name, right in (("Phase", True), ("Site function", False), ("Phase %", True), ("App %", True)):
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for name in ("Inst. type", "HB") if below else ("Inst. type", "HB", "Where"):
        table.add_column(name, no_wrap=True)
    for phase in result.present:
        number = Text(f" {badge(phase.id)} ", style=style(phase.id))
        if not phase.sites:
            what = "(outside the program)" if phase.outside else "(off the CPU)" if phase.off_cpu else "(none)"
            table.add_row(number, what, "", f"{phase.app_pct:.1f}", "", "")
        for site in phase.sites:
            figures = (f"{site.phase_pct:.1f}", f"{site.app_pct:.1f}", site.kind, str(site.heartbeat))
            name = names(site.function, room)
            if below:
                table.add_row(number, f"{name}\n  {fitted(_where(site), room - 2)}", *figures)
            else:
                table.add_row(number, name, *figures, _where(site))
            number = Text("")
    return table


def _beats(result: PhaseResult, budget_pct: float) -> str | None:
    """Return what the heartbeats are predicted to cost, where some beats are skipped, or it is too much."""
    if result.beats_pct is None:
        return None
    skipped = {s.heartbeat: s for p in result.phases for s in p.sites if s.cost and s.cost.rate_factor > 1}
    if not skipped and result.beats_pct <= budget_pct:
        return None
    text = f"heartbeats: {result.beats_pct:.2g} % predicted overhead"
    if result.beats_pct > budget_pct:
        text += f", more than the {budget_pct:g} % of --overhead"
    by_factor: dict[int, list[str]] = {}
    for number, site in sorted(skipped.items()):
        by_factor.setdefault(site.cost.rate_factor if site.cost else 1, []).append(str(number))
    factors = "; ".join(f"1 beat in {factor} of HB {', '.join(by_factor[factor])}" for factor in sorted(by_factor))
    return text + (f", recorded are {factors}" if factors else "")


def _where(site: Site) -> str:
    """Return file:line of a site, or the module where there is no line information."""
    if site.file is None:
        return f"[{fitted(printable(site.function.module.rsplit('/', 1)[-1].strip('[]')), MOST_OF_PLACE - 2)}]"
    name = fitted(printable(site.file.rsplit("/", 1)[-1]), MOST_OF_PLACE - 8)
    return f"{name}:{site.line}" if site.line is not None else name


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
        _told(console, "      no site: ", [no_site(phase, names)])
    for line in step_lines(phase, console.width, names):
        console.print(line, soft_wrap=True)


def _changes(console: Console, result: PhaseResult) -> None:
    """Print what changes at the borders, and which phases are most alike; of the paper's method, its scores."""
    if result.method == "paper":
        _scores(console, result)
    _told(console, "changes: ", border_lines(result, MOST_BORDERS))
    _told(console, "too short for a phase: ", short_lines(result, MOST_SHORT))
    if len(result.levels) > 1:
        _told(
            console,
            "most alike: ",
            [f"{level_line(result.levels[0], names_of(result))}; --level {result.levels[0].k} joins them"],
        )


def _told(console: Console, head: str, lines: Sequence[str]) -> None:
    """Print sentences below one another, with a head before the first."""
    rest = " " * len(head)
    for number, line in enumerate(lines):
        for part in folded(line, console.width, rest if number else head, rest):
            console.print(part, soft_wrap=True)


def _scores(console: Console, result: PhaseResult) -> None:
    """Print inertia and silhouette of every k, wrapped at the width; the chosen k is marked."""
    cells = []
    for score in result.scores:
        mark = "*" if score.k == result.k_clusters else ""
        silhouette = "-" if score.silhouette is None else f"{score.silhouette:.2f}"
        cells.append(f"{score.k}{mark}:{score.inertia:.3g}/{silhouette}")
    console.print("k: inertia/silhouette  " + "  ".join(cells))
