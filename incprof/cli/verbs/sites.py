"""Show where in the source each phase of a recorded run is: file, line, and the lines around it.

    incprof sites gmon-app --source .

Each site comes with the beats per second that a heartbeat there would make, a rate factor, and what it would cost.
Without --source, files and lines are those of the program's debug information.
`incprof help sites` explains the output.
"""

from __future__ import annotations

import argparse
import sys

from incprof.command.options import (
    add_run_arguments,
    add_site_arguments,
    check_phase_arguments,
    exit_status,
    study_of,
)
from incprof.command.terminal import text_width, warn
from incprof.errors import UsageError

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
    study = study_of(args)
    from incprof.study.sites.store import beat_cost, described

    cost = beat_cost(study.run.directory)
    sites = study.sites(args.source, cost, requested=args.site, allow_changed=args.allow_changed)
    answer = described(study.phases(confidence=False), sites, cost, args.source, by_hand=bool(args.site))
    warn(answer.warnings)
    if args.json:
        from incprof.report.json.phases_json import write_sites

        write_sites(study.summary, answer, sys.stdout)
    else:
        from incprof.report.text.site_text import write_text

        write_text(study.summary, answer, sys.stdout, width=text_width())
    return exit_status(study)
