"""Show the page on a verb, or on something else: what it does, its options, and what its output means.

    incprof help                # all verbs
    incprof help phases
    incprof help thresholds     # any page of the documentation; incprof help pages lists them

On a terminal, the pager of the variable PAGER shows it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from incprof import helping
from incprof.errors import IncprofError, UsageError
from incprof.printable import printable_lines
from incprof.verbs import VERBS, build_parser

NAME = "help"
CONTENTS = "pages"
# Verbs that share a page with another one.
SHARED = {"completion": "config"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("about", nargs="?", metavar="VERB", help="a verb, or the name of another page")


def run(args: argparse.Namespace) -> int:
    """Print what is asked for; by way of a pager on a terminal, as man does."""
    if args.about is None:
        build_parser(None).print_help()
        return 0
    text = page(args.about)
    if sys.stdout.isatty():
        import pydoc

        pydoc.pager(printable_lines(text))
    else:
        print(text, end="")
    return 0


def page(name: str) -> str:
    """Return the text of a page.

    Raises:
        UsageError: there is no such page.
        IncprofError: the pages were not installed.
    """
    pages = {path.stem: path for path in directory().glob("*.md") if path.stem != "README"}
    if name == CONTENTS:
        return "".join(f"{word}\n" for word in sorted(pages))
    found = pages.get(SHARED.get(name, name))
    if found is None:
        meant = helping.did_you_mean(name, [*VERBS, *pages])
        raise UsageError(f"help {name}: there is no such page{meant or '; incprof help pages lists them'}")
    return found.read_text(encoding="utf-8")


def directory() -> Path:
    """Return where the pages are: beside the package, or in the checkout that it is used from.

    Raises:
        IncprofError: they are not there.
    """
    package = Path(__file__).resolve().parents[1]
    for place in (package / "docs", package.parent / "docs"):
        if (place / "phases-algorithm.md").is_file():
            return place
    raise IncprofError("the pages of the documentation were not found; install incprof again")
