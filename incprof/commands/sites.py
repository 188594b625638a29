"""Say where in the source each phase of a recorded run lives: file, line, and the lines around it.

    incprof sites gmon-app --source .

Each site comes with the beats per second that a heartbeat there would make, a rate factor, and what it would cost.
Without --source, files and lines are those of the program's debug information. docs/sites.md explains the output.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.commands._common import add_run_arguments, exit_status, load, warn
from incprof.commands._phases import check_phase_arguments
from incprof.commands._sites_arguments import add_site_arguments
from incprof.errors import UsageError

if TYPE_CHECKING:
    from incprof.analysis.rates import BeatCost
    from incprof.analysis.results import PhaseResult, RunSummary
    from incprof.commands._sites import PlacedSite
    from incprof.model import IntervalProfile, Run
    from incprof.report.sites_rows import ExcerptLine, SitesAnswer

NAME = "sites"
CONTEXT = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    add_site_arguments(parser)
    parser.add_argument("--source", metavar="SRC", help="the directory that holds the program's source")
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.sites/1")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, place, print."""
    check_phase_arguments(args)
    if args.source is None and (args.site or args.allow_changed):
        raise UsageError(f"{'--site' if args.site else '--allow-changed'} needs --source")
    recorded, profile = load(args)
    warn(profile.warnings)
    summary, answer = look(recorded, profile, args)
    warn(answer.warnings)
    write(summary, answer, args)
    return exit_status(profile)


def look(recorded: Run, profile: IntervalProfile, args: argparse.Namespace) -> tuple[RunSummary, SitesAnswer]:
    """Find the sites, and their places if there is a source."""
    from incprof.commands._phases import analyse
    from incprof.commands._sites import find_sites, recorded_sites
    from incprof.commands._sites_cost import beat_cost

    cost = beat_cost(recorded.directory)
    if args.source is None:
        summary, result = analyse(recorded, profile, args)
        sites = recorded_sites(profile, result, cost)
    else:
        summary, result, sites = find_sites(recorded, profile, args, cost=cost)
    return summary, described(result, sites, cost, args)


def described(result: PhaseResult, sites: list[PlacedSite], cost: BeatCost, args: argparse.Namespace) -> SitesAnswer:
    """What the reports say of the sites."""
    from incprof.report.sites_rows import RefusedRow, SiteRow, SitesAnswer

    rows = tuple(
        SiteRow(
            s.heartbeat, s.name, s.phases, s.recorded, s.kind, s.file, s.line, s.phase_pct, s.share, s.rate.beats_hz,
            s.rate.basis, s.rate.factor, s.rate.overhead_pct, s.note, excerpt(s),
        )
        for s in sites
        if s.refusal is None
    )  # fmt: skip
    refused = tuple(
        RefusedRow(s.phases, s.recorded, s.kind, s.file, s.line, s.refusal) for s in sites if s.refusal is not None
    )
    served = {phase for row in rows for phase in row.phases}
    missing = tuple(p.id for p in result.phases if p.id not in served and not p.off_cpu and not args.site)
    return SitesAnswer(
        result.method, result.k, args.source, cost.pair_ns, cost.skipped_ns, rows, refused, missing, result.warnings
    )


def excerpt(site: PlacedSite) -> tuple[ExcerptLine, ...]:
    """The line of the function's name and the place of the beat, each with the lines around it."""
    from incprof.report.sites_rows import ExcerptLine, harmless
    from incprof.source.locate import line_text, name_line

    if site.source is None or site.function is None or site.line is None:
        return ()
    function = site.source.functions[site.function]
    head = name_line(site.source, site.function)
    marked = site.line if site.loop is not None else head
    low, high = max(marked - CONTEXT, function.line), min(marked + CONTEXT, function.last_line)
    wanted = sorted({head, *range(low, high + 1)})
    lines, before = [], wanted[0]
    for number, text in zip(wanted, line_text(site.source.data, wanted), strict=True):
        lines.append(ExcerptLine(number, harmless(text), number == marked, number > before + 1))
        before = number
    return tuple(lines)


def write(summary: RunSummary, answer: SitesAnswer, args: argparse.Namespace) -> None:
    """Print the answer in the form that was asked for."""
    if args.json:
        from incprof.report.sites_json import write_json

        write_json(summary, answer, sys.stdout)
    else:
        from incprof.commands._terminal import text_width
        from incprof.report.sites_text import write_text

        write_text(summary, answer, sys.stdout, width=text_width())
