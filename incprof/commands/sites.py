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
    from incprof.analysis.phases.results import RunSummary
    from incprof.model import IntervalProfile, Run
    from incprof.report.sites_answer import SitesAnswer

NAME = "sites"


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
    from incprof.commands._sites_described import described

    cost = beat_cost(recorded.directory)
    if args.source is None:
        summary, result = analyse(recorded, profile, args)
        sites = recorded_sites(profile, result, cost)
    else:
        summary, result, sites = find_sites(recorded, profile, args, cost=cost)
    return summary, described(result, sites, cost, args.source, by_hand=bool(args.site))


def write(summary: RunSummary, answer: SitesAnswer, args: argparse.Namespace) -> None:
    """Print the answer in the form that was asked for."""
    if args.json:
        from incprof.report.json.sites import write_json

        write_json(summary, answer, sys.stdout)
    else:
        from incprof.commands._terminal import text_width
        from incprof.report.text.sites import write_text

        write_text(summary, answer, sys.stdout, width=text_width())
