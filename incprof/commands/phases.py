"""Find the phases of a recorded run, and the functions and loops to instrument for each.

    incprof phases gmon-app

Several ranks have the same phases; intervals and seconds are those of one rank,
the lowest unless --rank is given. --rank R --ranks R analyses rank R alone.
`incprof help phases` explains the output.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.commands.options import (
    add_counters_argument,
    add_phase_arguments,
    add_run_arguments,
    check_phase_arguments,
    exit_status,
    study_of,
)
from incprof.commands.plots import add_plot_argument, check_plot
from incprof.commands.plots import write_plot as draw_plot
from incprof.commands.terminal import text_width, wants_colour, warn
from incprof.errors import UsageError

if TYPE_CHECKING:
    from incprof.study import Study
    from incprof.study.counters import StudyCounters

NAME = "phases"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    add_phase_arguments(parser)
    parser.add_argument("--details", action="store_true", help="functions and steps of each phase, ranks")
    parser.add_argument("--explain", action="store_true", help="why these phases and sites: evidence and runners-up")
    add_counters_argument(parser)
    parser.add_argument(
        "--threads", action="store_true", help="roles of the threads, and which differ from their peers"
    )
    add_plot_argument(parser, "self time and phases over time")
    parser.add_argument("--per-rank", action="store_true", help="a row for each rank")
    parser.add_argument("--force", action="store_true", help="with --plot: replace FILE if it exists")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--brief", action="store_true", help="to paste: head, ribbon, a line for each phase; 80 columns")
    form.add_argument("--json", action="store_true", help="one JSON object, schema incprof.phases/1")
    form.add_argument("--csv", action="store_true", help="one row per interval: interval, end_s, phase, cluster")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, print."""
    check_phase_arguments(args)
    check_plot(args)
    check_form(args)
    study = study_of(args)
    warn(study.confident.warnings)
    if args.plot is not None:
        plot(study, args)
    write(study, args, counters_of(study, args))
    return exit_status(study)


def check_form(args: argparse.Namespace) -> None:
    """Refuse additions to the answer in a form that has no place for them.

    Raises:
        UsageError: the line names the option to leave out.
    """
    form = "--csv" if args.csv else "--brief" if args.brief else None
    added = {"--counters": args.counters is not None, "--threads": args.threads}
    if args.brief:
        added |= {"--details": args.details, "--explain": args.explain, "--per-rank": args.per_rank}
    extra = next((option for option, given in added.items() if given), None)
    if form is not None and extra is not None:
        raise UsageError(f"{extra}: {form} has no place for it: leave out one of them")


def plot(study: Study, args: argparse.Namespace) -> None:
    """Draw the picture that was asked for."""
    from incprof.report.plots.phases import BINS, FUNCTIONS, write_plot
    from incprof.study.views import over_time

    bins, series, names = over_time(study, BINS, len(FUNCTIONS))
    summary, result = study.summary, study.confident
    draw_plot(args, lambda out, form: write_plot(summary, result, names, bins, series, out, form))


def counters_of(study: Study, args: argparse.Namespace) -> StudyCounters | None:
    """Return the counters that were given."""
    if args.counters is None:
        return None
    from incprof.study.counters import StudyCounters

    return StudyCounters(study, args.counters)


def write(study: Study, args: argparse.Namespace, counters: StudyCounters | None) -> None:
    """Print the answer in the form that was asked for."""
    from incprof.study.threads import threads_of

    summary, result = study.summary, study.found
    if args.csv:
        from incprof.report.files.phases_csv import write_csv

        write_csv(result, sys.stdout)
        return
    if args.brief:
        from incprof.report.text.brief import write_brief

        write_brief(summary, result, sys.stdout)
        return
    why = study.explain() if args.explain else None
    roles = threads_of(study) if args.threads else None
    if args.json:
        from incprof.report.json.phases import write_json
        from incprof.report.json.programs import programs_dict
        from incprof.report.json.threads import threads_dict

        explanation = None
        if why is not None:
            from incprof.report.json.explanation import explain_dict

            explanation = explain_dict(study.confident_model, why)
        counted = None
        if counters is not None:
            from incprof.report.json.counters import counters_dict

            counted = counters_dict(counters.under)
        told = None if roles is None else threads_dict(roles)
        programs = programs_dict(study.run)
        write_json(
            summary, result, sys.stdout, ranks=study.ranks, programs=programs, explain=explanation, counters=counted,
            threads=told,
        )  # fmt: skip
    else:
        from incprof.report.text.phases import write_text

        write_text(
            summary, result, sys.stdout, width=text_width(), colour=wants_colour(), budget_pct=args.overhead,
            ranks=study.ranks, per_rank=args.per_rank, job=study.run, details=args.details,
        )  # fmt: skip
        if counters is not None:
            from incprof.report.text.counters import write_counters

            write_counters(counters.under, sys.stdout, width=text_width(), colour=wants_colour())
        if why is not None:
            from incprof.report.text.explanation import write_explanation

            write_explanation(study.confident_model, why, sys.stdout, width=text_width(), ranks=study.ranks)
        if roles is not None:
            from incprof.report.text.threads import write_threads

            write_threads(roles, sys.stdout, width=text_width(), colour=wants_colour())
