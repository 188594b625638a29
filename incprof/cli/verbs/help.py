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

from incprof.cli.parser import VERBS, build_parser
from incprof.errors import IncprofError, UsageError, did_you_mean
from incprof.safe.printable import printable_lines

NAME = "help"
CONTENTS = "pages"
# Topics that are part of a page: the page, and the heading of the part. Without a heading, the whole page.
PARTS = {
    "completion": ("config", ""),
    "attach": ("record", "Recording from outside"),
    "heartbeats-compare": ("heartbeats", "Two runs"),
    "heartbeats-history": ("heartbeats", "A run and its past"),
    "instrument-c": ("instrument", "C and C++"),
    "instrument-calls": ("instrument", "Calls instead of guards"),
    "instrument-fortran": ("instrument", "Fortran"),
    "instrument-python": ("instrument", "Python"),
    "instrument-check": ("instrument", "Checking before writing"),
    "appekg-fortran": ("appekg", "Fortran"),
    "appekg-python": ("appekg", "Python"),
    "appekg-prometheus": ("appekg", "Prometheus"),
    "appekg-ldms": ("appekg", "LDMS"),
    "collector": ("recording", ""),
    "without-pg": ("recording", "Programs without -pg"),
    "phases-algorithm": ("phase-detection", ""),
    "sites-algorithm": ("sites-and-steps", ""),
    "steps-algorithm": ("sites-and-steps", "Steps"),
    "ranks-algorithm": ("ranks-and-mpi", ""),
    "periods-algorithm": ("periods-and-models", "Phase-TA"),
    "dpd": ("periods-and-models", "DPD"),
    "signature-algorithm": ("periods-and-models", "Signatures"),
    "dna-algorithm": ("periods-and-models", "DNA"),
    "dna-format": ("formats", "The alphabet's file"),
    "realworld-binaries": ("realworld", "Debian's own binaries"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("about", nargs="?", metavar="VERB", help="a verb, or the name of another page")


def run(args: argparse.Namespace) -> int:
    """Print the requested page; through a pager on a terminal, like man."""
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
    pages = {path.stem: path for path in directory().glob("*/*.md")}
    if name == CONTENTS:
        return "".join(f"{word}\n" for word in sorted({*pages, *PARTS}))
    stem, heading = PARTS.get(name, (name, ""))
    if stem not in pages:
        suggestion = did_you_mean(name, [*VERBS, *pages, *PARTS])
        raise UsageError(f"help {name}: there is no such page{suggestion or '; incprof help pages lists them'}")
    text = pages[stem].read_text(encoding="utf-8")
    return section(text, heading) if heading else text


def section(text: str, heading: str) -> str:
    """Return the part of a page below a heading of the second level."""
    title = f"## {heading}\n"
    return title + text.partition(f"\n{title}")[2].partition("\n## ")[0]


def directory() -> Path:
    """Return the directory of the pages: beside the package, or in the checkout in use.

    Raises:
        IncprofError: the pages are missing.
    """
    package = Path(__file__).resolve().parents[2]
    for place in (package / "docs", package.parent / "docs"):
        if (place / "use/phases.md").is_file():
            return place
    raise IncprofError("the pages of the documentation were not found; install incprof again")
