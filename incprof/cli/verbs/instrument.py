"""Put heartbeats into the source: a patch, or the files themselves.

    incprof instrument gmon-app --source . > beats.patch   # for git apply, or patch -p1, in the source directory
    incprof instrument gmon-app --source . --write         # edits the files
    incprof instrument --source . --remove                 # takes every heartbeat out again

Sites are those of `incprof sites`, or the ones named with --site. `incprof help instrument` explains the rest.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incprof.command.helping import expert, expert_flags
from incprof.command.options import (
    add_run_arguments,
    add_site_arguments,
    check_phase_arguments,
    exit_status,
    study_of,
)
from incprof.command.output import check_target, write_bytes
from incprof.command.terminal import STDERR, warn
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.safe.printable import say

# Columns of a name in a message.
ROOM = 60

if TYPE_CHECKING:
    from incprof.study.sites.store import PlacedSite

NAME = "instrument"
COMMANDS = "compile_commands.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser, optional=True)
    parser.add_argument("--source", required=True, metavar="SRC", help="directory that holds the program's source")
    add_site_arguments(parser)
    parser.add_argument("--style", choices=("scope", "calls"), default="scope", help="in C: guards, or calls (scope)")
    macros = parser.add_argument(
        "--macro-blank", action="append", default=[], metavar="NAMES", help="macros to hide from the parser: A,B"
    )
    parser.add_argument("--check", metavar="CMD", help="shell command that must succeed in a changed copy of SRC")
    commands = parser.add_argument(
        "--compile-commands",
        metavar="FILE",
        help=f"check the syntax with these commands (default: SRC/{COMMANDS} or SRC/build/{COMMANDS})",
    )
    expert(macros, commands)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--patch", metavar="FILE", help="write the unified diff there, not to stdout")
    action.add_argument("--write", action="store_true", help="edit the files")
    action.add_argument("--remove", action="store_true", help="edit the files: take all heartbeats out again")
    parser.add_argument("--force", action="store_true", help="replace the file of --patch")
    expert_flags(parser, "--k", "--level", "--allow-changed")


def run(args: argparse.Namespace) -> int:
    """Find the sites, check the changed files, then write the patch or the files."""
    root = Path(args.source)
    if not root.is_dir():
        raise NoDataError(f"--source {root}: no such directory")
    if args.remove:
        return remove(root)
    if args.directory is None:
        raise UsageError("no run given: name the directory of the run whose sites to use (only --remove needs none)")
    target = args.patch or "-"
    check_target(target, force=args.force, binary=False)
    return insert(root, target, args)


def insert(root: Path, target: str, args: argparse.Namespace) -> int:
    """Insert the heartbeats of a run's sites."""
    from incprof.study.sites.edits import Edits, check_edits, with_style
    from incprof.study.sites.store import STORE, beat_cost

    check_phase_arguments(args)
    blank = [name for names in args.macro_blank for name in names.split(",") if name]
    study = study_of(args)
    cost = beat_cost(study.run.directory)
    located = study.sites(root, cost, requested=args.site, allow_changed=args.allow_changed, blank=blank)
    warn(study.phases(confidence=False).warnings)
    sites = with_style(root, located, args.style)
    report_sites(sites, by_hand=bool(args.site))
    refuse(sites, by_hand=bool(args.site))
    edits = Edits.inserting(study, root, sites, style=args.style, blank=blank)
    check_edits(edits, STDERR, compile_commands=args.compile_commands, check=args.check)
    if args.write:
        edits.write()
    else:
        write_bytes(target, lambda out: out.write(edits.patch()))
    study.remember(sites, STORE)
    if edits.versions:
        say(f"{edits.files} {'changed' if args.write else 'in the patch'}")
        if any(site.source is not None and site.source.language != "python" for site in sites if not site.refusal):
            say("compile with $(incprof env --cflags), Fortran with --fflags, and link with $(incprof env --libs)")
        else:
            say("the Python that runs the program needs the package appekg: install incprof into it, too")
    else:
        say("nothing to change: these heartbeats are in the source")
    return exit_status(study)


def remove(root: Path) -> int:
    """Remove inserted heartbeats, of any run."""
    from incprof.study.sites.edits import Edits

    edits = Edits.removing(root)
    edits.write()
    say(f"heartbeats taken out of {edits.files}" if edits.versions else f"{root}: no heartbeats of incprof in it")
    return 0


def refuse(sites: Sequence[PlacedSite], *, by_hand: bool) -> None:
    """Stop if nothing, or not every site named by hand, can be inserted.

    Raises:
        IncprofError: a site that was named cannot be instrumented.
        NoDataError: no site can be.
    """
    from incprof.report.words.display_names import shorten

    refused = next((site for site in sites if site.refusal), None)
    if refused is not None and by_hand:
        raise IncprofError(f"--site {refused.recorded}: {refused.refusal}; nothing was written")
    if all(site.refusal for site in sites):
        reason = f": {shorten(refused.recorded, ROOM)}: {refused.refusal}" if refused else ": the run has no sites"
        raise NoDataError(f"no heartbeat can be put in{reason}")


def report_sites(sites: Sequence[PlacedSite], *, by_hand: bool) -> None:
    """Print each placed and each refused site, a line each on stderr."""
    from incprof.report.words.display_names import Names

    names = Names(site.recorded for site in sites)
    for site in sites:
        phases = "by hand" if by_hand else f"phase {', '.join(map(str, site.phases))}"
        where = f" at {site.file}:{site.line}" if site.file else ""
        if site.refusal:
            say(f"{phases}: {names(site.recorded, ROOM)}{where} refused: {site.refusal}")
        else:
            note = f" ({site.note})" if site.note else ""
            say(f"heartbeat {site.heartbeat}, {phases}: {site.name}{where}, {cost_of(site)}{note}")


def cost_of(site: PlacedSite) -> str:
    """Return the predicted cost of the beats of a site."""
    rate = site.rate
    if rate.beats_hz is None or rate.overhead_pct is None:
        return "its rate is unknown: thinned at run time if it costs too much"
    factor = f", 1 in {rate.factor} recorded" if rate.factor > 1 else ""
    return f"{rate.beats_hz:.3g} beats/s ({rate.basis}){factor}, predicted overhead {rate.overhead_pct:.2g} %"
