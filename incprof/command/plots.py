"""`--plot FILE`: a plot of the answer, for the verbs that draw one."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from incprof.command.output import check_target, write_bytes
from incprof.errors import IncprofError, UsageError

FORMS = (".svg", ".png", ".pdf")
NAMED = ".svg, .png or .pdf"


def add_plot_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the argument of the plot. what: it draws, for the help."""
    parser.add_argument("--plot", metavar="FILE", help=f"draw {what}: {NAMED}")


def check_plot(args: argparse.Namespace) -> None:
    """Reject an invalid file name before anything is read.

    Raises:
        UsageError: its name has another ending, or the target is invalid.
        IncprofError: matplotlib is not installed.
    """
    if args.plot is None:
        return
    if Path(args.plot).suffix.lower() not in FORMS:
        raise UsageError(f"--plot {args.plot}: expected a name that ends in {NAMED}")
    check_target(args.plot, force=args.force, binary=True)
    if importlib.util.find_spec("matplotlib") is None:
        raise IncprofError("--plot needs matplotlib: pip install 'incprof[plot]'")


def write_plot(args: argparse.Namespace, draw: Callable[[BinaryIO, str], None]) -> None:
    """Write the requested plot. draw: into an open file, in a form such as "svg"."""
    form = Path(args.plot).suffix.lower().lstrip(".")
    write_bytes(args.plot, lambda out: draw(out, form))
