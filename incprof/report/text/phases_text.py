"""Phases for people: a head of two lines, the run as a ribbon, the sites; with `details`, functions and ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TextIO

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from incprof.analysis.phase_result import Phase, PhaseResult, RunSummary, Site, Step
from incprof.analysis.ranks.ranks_result import RanksResult
from incprof.analysis.views.tracks import SUSPENDED, badge, runs, sign, stretched, with_suspensions
from incprof.model import FloatArray, IntArray, Run
from incprof.model.names import parse
from incprof.model.section import Column, Table
from incprof.report.render.text import WIDEST, console_for, print_folded, text_table
from incprof.report.text.rank_text import write_programs, write_ranks, write_ranks_line
from incprof.report.words.colours import style
from incprof.report.words.display_names import TOP_FUNCTIONS, Names, counting_advice, names_of, without_site
from incprof.report.words.formatting import (
    FUNCTION,
    HEARTBEAT,
    KIND,
    OF_PHASE,
    OF_RUN,
    PARTLY_COUNTED,
    PHASE,
    UNCOUNTED,
    WHERE,
    calls_words,
    count,
    duration,
    fitted,
    folded,
    overhead,
    plural,
    seconds,
)
from incprof.report.words.phase_words import caveat_lines, same_sites_lines, short_lines, verdict_line
from incprof.report.words.site_evidence import how_often, kind_shares, legend, no_site, remainder, sign_of
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
    used: FloatArray | None = None,
    details: bool = False,
    suspensions: FloatArray | None = None,
) -> None:
    """Write the answer, sentences at most `width` columns wide; plain ASCII without `colour`, except for names.

    budget_pct: limit of the heartbeats' cost in percent, if one was set. ranks: all of them, if there are several.
    per_rank: report each rank too. job: the run, whose programs are listed if there are several, with their use of CPU
    time. details: report the functions and steps of each phase, and each rank. suspensions: (s, 2) start and end of the
    times in which the program was stopped.
    """
    with StringIO() as text:
        console = console_for(text, width=max(width, 40), colour=colour, terminal=colour)
        if job is not None:
            write_programs(console, job, used)
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
    for line in caveat_lines(result):
        print_folded(console, "note: ", [line])
    if absent := list(_absent(result)):
        print_folded(
            console, "note: ", [f"rank {run.rank} does not go through {plural('phase', absent)} of other ranks"]
        )
    console.print()
    write_ribbon(console, run, result, suspensions)
    console.print()
    console.print(text_table(site_table(result, console.width, names_of(result)), console.width))
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
        f"{count(run.intervals, 'interval')} of {run.interval_s:g} s{run.how_cut}",
        duration(run.duration_s),
        count(run.samples, "sample") + _rate(run),
        f"overhead {overhead(run.overhead_pct, run.own_s if run.by_waits else 0.0)}",
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
    kinds = [] if result.spent is None else _cells(result.spent, console.width, result.end_s, suspensions)
    # Intervals that are narrower than a cell may have none.
    signs = legend(np.array([kind for kind in kinds if kind != SUSPENDED], dtype=np.int64))
    if signs:
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
    for note in detail_notes(run, result):
        print_folded(console, "note: ", [note])
    names = names_of(result)
    for phase in result.present:
        _functions(console, phase, names)
    if result.short:
        console.print()
        print_folded(console, "too short for a phase: ", short_lines(result, MOST_SHORT))


def detail_notes(run: RunSummary, result: PhaseResult) -> list[str]:
    """Return what the calls and names of the details lack, and what to do about it."""
    if not run.counted:
        notes = [UNCOUNTED]
    else:
        tops = [top for phase in result.present for top in phase.functions[:TOP_FUNCTIONS] if top.function.is_code]
        notes = [PARTLY_COUNTED] if any(not top.calls and top.estimated is None for top in tops) else []
    sites = [site for phase in result.present for site in phase.sites]
    own = [site for site in sites if site.function.is_code and "+0x" not in site.function.name]
    bare = {site.function.module for site in own} - {site.function.module for site in sites if site.file is not None}
    lacking = "has no line numbers (no -g): inlined functions count for their callers"
    return [*notes, *(f"{printable(module)} {lacking}" for module in sorted(bare))]


def _functions(console: Console, phase: Phase, names: Names) -> None:
    """Print the largest functions of a phase."""
    head = Text(f" {badge(phase.id)} ", style=style(phase.id))
    head.append(f" {count(phase.intervals, 'interval')}, {phase.app_pct:.1f} % of the run, ", style="default")
    head.append(duration(phase.seconds))
    if phase.confidence is not None:
        head.append(f", confidence {phase.confidence:.2f}")
    head.append("".join(f", {words}" for words in kind_shares(phase)))
    console.print(head)
    for top in phase.functions[:TOP_FUNCTIONS]:
        numbers = f"{100 * top.share:9.1f} %  {top.self_s:9.2f} s  {calls_words(top.calls, top.estimated):>16}  "
        console.print(numbers + names(top.function, console.width - len(numbers)), soft_wrap=True)
    if not phase.sites:
        print_folded(console, "      no site: ", [no_site(phase, names)])
    for line in step_lines(phase, console.width, names):
        console.print(line, soft_wrap=True)


# Phases for pasting into an issue: head, ribbon, a line per phase; 80 columns, no colours.


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
            console.print(_brief_line(phase, names), soft_wrap=True)
        unfiltered(out).write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def _brief_line(phase: Phase, names: Names) -> str:
    """Return a phase: its number, share, duration, and its main function with its place."""
    head = f"{sign(phase.id)}  {phase.app_pct:5.1f} %  {duration(phase.seconds):>11}  "
    if not phase.sites:
        return head + without_site(phase)
    site = phase.sites[0]
    more = f" and {len(phase.sites) - 1} more" if len(phase.sites) > 1 else ""
    behind = f" ({site.kind}), {place(site)}{more}"
    room = WIDTH - len(head) - cell_len(behind)
    return head + names(site.function, max(room, LEAST_OF_NAME)) + behind


# The sites of phases as a table, and the cost of their heartbeats.


# Columns taken by everything but functions and their places, the gap before a place, and the widest place.
COLUMNS, GAP, MOST_OF_PLACE = 46, 2, 40
LEAST_OF_FUNCTION, ENOUGH_OF_NAME = 16, 24


@dataclass(frozen=True)
class SiteRow:
    """A line of the table of sites.

    Attributes:
        phase: the phase.
        site: its site; None for a phase without one.
        first: whether it is the first line of the phase.
        below: whether it is the line of the site's place, below its function.
    """

    phase: Phase
    site: Site | None = None
    first: bool = True
    below: bool = False


def site_table(result: PhaseResult, width: int, names: Names) -> Table:
    """Return the sites, a row each; a phase without a site has a row with the reason.

    Where names have little room beside their places, a place has a row below its function.
    """
    sites = [site for phase in result.present for site in phase.sites]
    beside = width - COLUMNS - GAP - max((len(place(site)) for site in sites), default=0)
    below = beside < min(max((cell_len(names(site.function)) for site in sites), default=0), ENOUGH_OF_NAME)
    rows = [
        SiteRow(phase, site, number == 0 and not second, second)
        for phase in result.present
        for number, site in enumerate(phase.sites or (None,))
        for second in ((False, True) if below and site is not None else (False,))
    ]

    def name(row: SiteRow, room: int) -> str:
        if row.site is None:
            return without_site(row.phase)
        room = max(room, LEAST_OF_FUNCTION)
        return f"  {fitted(place(row.site), room - 2)}" if row.below else names(row.site.function, room)

    def of_site(get: Callable[[Site], object]) -> Callable[[SiteRow], object]:
        return lambda row: "" if row.site is None or row.below else get(row.site)

    def of_run(row: SiteRow) -> str:
        return "" if row.below else f"{row.phase.app_pct if row.site is None else row.site.app_pct:.1f}"

    columns = (
        Column(PHASE, lambda row: row.phase.id if row.first else None, "phase"),
        Column(FUNCTION, lambda row: name(row, WIDEST), fit=name),
        Column(OF_PHASE, of_site(lambda site: f"{site.phase_pct:.1f}"), "number"),
        Column(OF_RUN, of_run, "number"),
        Column(KIND, of_site(lambda site: site.kind)),
        Column(HEARTBEAT, of_site(lambda site: site.heartbeat), "count"),
        *(() if below else (Column(WHERE, of_site(place)),)),
    )
    return Table(columns, rows)


def place(site: Site) -> str:
    """Return file:line of a site, or the module where there is no line information."""
    if site.file is None:
        return f"[{fitted(printable(site.function.module.rsplit('/', 1)[-1].strip('[]')), MOST_OF_PLACE - 2)}]"
    name = fitted(printable(site.file.rsplit("/", 1)[-1]), MOST_OF_PLACE - 8)
    return f"{name}:{site.line}" if site.line is not None else name


def beats_line(result: PhaseResult, budget_pct: float) -> str | None:
    """Return the predicted cost of the heartbeats, if some beats are skipped or the cost is too high."""
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
    factors = "; ".join(f"1 beat in {factor} of {', '.join(by_factor[factor])}" for factor in sorted(by_factor))
    return text + (f", recorded are {factors}" if factors else "")


# The repeated steps of a phase, for people: a loop's driver and period, its steps in order, and nested steps.


# Steps of which only the share is known: this many of the largest.
TOP = 3
LARGE = 0.05
# Lines below a phase; beyond that, the steps with the largest shares.
LINES = 8
# A loop with a smaller share of the CPU waits, or shares it with other programs.
BUSY = 0.9


@dataclass(frozen=True)
class _Line:
    """A line to print.

    Attributes:
        share: share by which lines are selected.
        deep: indentation, in levels.
        text: the text.
    """

    share: float
    deep: int
    text: str


def step_lines(phase: Phase, width: int, names: Names) -> list[str]:
    """Return the lines below a phase; empty where its functions already show the same.

    width: columns. names: of the functions.
    """
    steps = phase.steps
    if len(steps) < 2 and not any(s.steps for s in steps) and {s.function for s in steps} <= {
        f.function for f in phase.functions[:1]
    }:  # fmt: skip
        return []
    if all(step.period_s is None and not step.steps for step in steps):
        return _untimed(phase, width, names)
    lines = list(_loops(steps, width, names))
    if len(lines) <= LINES:
        return [line.text for line in lines]
    # A step has at least the share of its nested steps, so that none is printed without its caller.
    kept = sorted(sorted(range(len(lines)), key=lambda i: (-lines[i].share, lines[i].deep, i))[: LINES - 1])
    left = len(lines) - len(kept)
    return [lines[i].text for i in kept] + [f"{'':15}{left} smaller ones: --json"]


def in_order(steps: Sequence[Step]) -> list[Step]:
    """Return the steps of one driver in order of execution, then those of unknown order, largest first."""
    return sorted(steps, key=lambda step: (step.order or len(steps) + 1, -step.share))


def _loops(steps: Sequence[Step], width: int, names: Names) -> Iterator[_Line]:
    """Iterate over the loops of a phase with their steps."""
    for driver in dict.fromkeys(step.driver for step in steps):
        mine = [step for step in steps if step.driver == driver]
        timed = [step for step in mine if step.period_s is not None]
        what = _repeats(timed) if timed else " calls"
        name = names(driver, max(width - 6 - len(what), 12)) if driver else "the program"
        if driver and parse(driver.name).last not in name:
            name = names(driver, width - 6)
        for line in folded(f"{name}{what}", width, f"{'':6}", f"{'':8}"):
            yield _Line(max(step.share for step in mine), -1, line)
        yield from _below(mine, 0, width, names)
        if rest := remainder(mine, names):
            for line in folded(rest, width, f"{'':9}", f"{'':11}"):
                yield _Line(max(step.share for step in mine), -1, line)


def _repeats(timed: Sequence[Step]) -> str:
    """Return the period of a loop, how much of its order is known, and its share of the CPU if that is low."""
    placed = [step for step in timed if step.order]
    about = "" if timed[0].estimated is None else "~"
    out = f" repeats every {about}{seconds(timed[0].period_s)} of wall time"
    if len(placed) < len(timed):
        out += ", order known where there is a number" if placed else ", order unknown"
    cpu = timed[0].cpu
    return out if cpu is None or cpu >= BUSY else f"{out}, {100 * cpu:.0f} % of it on the CPU"


def _below(steps: Sequence[Step], deep: int, width: int, names: Names) -> Iterator[_Line]:
    """Iterate over steps in order, each before its nested steps."""
    ordered = deep == 0 or any(step.order for step in steps)
    for step in in_order(steps):
        place = str(step.order) if step.order else "-" if ordered and step.period_s is not None else ""
        yield _Line(step.share, deep, _step_line(step, place, deep, width, names))
        yield from _below(step.steps, deep + 1, width, names)


def _step_line(step: Step, place: str, deep: int, width: int, names: Names) -> str:
    """Return one step: its place, share, duration, name, and its calls per iteration."""
    known = step.estimated is None or step.estimated.is_known
    about = "" if step.estimated is None else "~"
    duration = about + seconds(step.mean_s) if step.calls and known else ""
    numbers = f"{'':{3 * deep}}{place:>8} {100 * step.share:5.1f} %  {duration:>8}  "
    often = how_often(step)
    return (numbers + names(step.function, max(width - len(numbers) - len(often), 12)) + often).rstrip()


def _untimed(phase: Phase, width: int, names: Names) -> list[str]:
    """Return the largest steps in one line."""
    steps = [step for step in phase.steps[:TOP] if step.share >= LARGE]
    parts = [f"{names(s.function, width // 4)} {100 * s.share:.1f} %" for s in steps]
    return ["      includes " + ", ".join(parts)] if parts else []
