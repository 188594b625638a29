"""`incprof periods SERIES --plot FILE`: the picture."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from incprof.commands._output import check_target, write_bytes
from incprof.errors import IncprofError, UsageError

if TYPE_CHECKING:
    from incprof.analysis.patterns_results import Patterns
    from incprof.readers.series import Series

FORMS = (".svg", ".png")


def add_plot_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of the picture."""
    parser.add_argument("--plot", metavar="FILE", help="draw the series and its patterns: .svg or .png")


def check_plot(args: argparse.Namespace) -> None:
    """Refuse a picture that cannot be written, before anything is read.

    Raises:
        UsageError: its name has another ending, or the file cannot be meant.
        IncprofError: matplotlib is not installed.
    """
    if args.plot is None:
        return
    if Path(args.plot).suffix.lower() not in FORMS:
        raise UsageError(f"--plot {args.plot}: expected a name that ends in {' or '.join(FORMS)}")
    check_target(args.plot, force=args.force, binary=True)
    if importlib.util.find_spec("matplotlib") is None:
        raise IncprofError("--plot needs matplotlib: pip install 'incprof[plot]'")


def write_plot(series: Series, found: Patterns, args: argparse.Namespace) -> None:
    """Draw the picture, if one was asked for."""
    if args.plot is None:
        return
    from incprof.report.periods_plot import write_plot as draw

    form = Path(args.plot).suffix.lower().lstrip(".")
    write_bytes(args.plot, lambda out: draw(series.values, series.name, series.interval_s, found, out, form))
