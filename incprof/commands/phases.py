"""Find the phases of a recorded run, and the functions and loops to instrument for each.

    incprof phases gmon-app

Several ranks are answered for one of them, the lowest unless --rank is given. docs/phases.md explains the output.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.commands._common import add_run_arguments, exit_status, load, warn
from incprof.commands._phases import add_phase_arguments, analyse, check_phase_arguments
from incprof.commands._plot import add_plot_argument, check_plot
from incprof.commands._plot import write_plot as draw_plot
from incprof.commands._terminal import text_width, wants_colour

if TYPE_CHECKING:
    from incprof.analysis.explain import Explanation
    from incprof.analysis.phases.results import PhaseResult, RunSummary
    from incprof.model import IntervalProfile

NAME = "phases"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    add_phase_arguments(parser)
    parser.add_argument("--explain", action="store_true", help="say why these phases and sites, and what was next best")
    add_plot_argument(parser, "self time and phases over time")
    parser.add_argument("--force", action="store_true", help="with --plot: replace FILE if it exists")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object, schema incprof.phases/1")
    form.add_argument("--csv", action="store_true", help="one row per interval: interval, end_s, phase, cluster")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, print."""
    check_phase_arguments(args)
    check_plot(args)
    recorded, profile = load(args)
    warn(profile.warnings)
    summary, result = analyse(recorded, profile, args)
    from incprof.analysis.phases.confidence import with_confidence

    result = with_confidence(profile, result, random_state=args.seed)
    warn(result.warnings)
    why = None
    if args.explain and not args.csv:
        from incprof.analysis.explain import explain

        why = explain(profile, result)
    if args.plot is not None:
        plot(summary, profile, result, args)
    write(summary, result, args, why)
    return exit_status(profile)


def plot(summary: RunSummary, profile: IntervalProfile, result: PhaseResult, args: argparse.Namespace) -> None:
    """Draw the picture that was asked for."""
    from incprof.analysis.views.self_time import self_series
    from incprof.analysis.views.timebins import time_bins
    from incprof.report.plots.phases import BINS, FUNCTIONS, write_plot

    bins = time_bins(profile, result.labels, BINS)
    series = self_series(profile, result.labels, bins, len(FUNCTIONS))
    names = [profile.functions[int(i)].name for i in series.functions]
    draw_plot(args, lambda out, form: write_plot(summary, result, names, bins, series, out, form))


def write(summary: RunSummary, result: PhaseResult, args: argparse.Namespace, why: Explanation | None = None) -> None:
    """Print the answer in the form that was asked for."""
    if args.json:
        from incprof.report.json.phases import write_json

        told = None
        if why is not None:
            from incprof.report.json.explanation import explain_dict

            told = explain_dict(result, why)
        write_json(summary, result, sys.stdout, explain=told)
    elif args.csv:
        from incprof.report.files.phases_csv import write_csv

        write_csv(result, sys.stdout)
    else:
        from incprof.report.text.phases import write_text

        write_text(summary, result, sys.stdout, width=text_width(), colour=wants_colour(), budget_pct=args.overhead)
        if why is not None:
            from incprof.report.text.explanation import write_explanation

            write_explanation(result, why, sys.stdout, width=text_width())
